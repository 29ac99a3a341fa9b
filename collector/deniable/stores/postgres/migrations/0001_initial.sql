-- A collector's store in PostgreSQL, that any number of collectors share. No table holds an address,
-- a time finer than an epoch, or a number that grows with every report: nothing that we store orders
-- the receipts or links those of a device. (What PostgreSQL itself notes beside each row is told in
-- docs/operations.md.)
--
-- Every unique constraint contains the column by which its table can be distributed over several
-- machines: `key` of receipts, `slot` of counts. All other tables are small and can be copied to
-- each. For the same reason numbers are given by us, and there is no sequence.

CREATE SCHEMA deniable;

-- One row a migration that was applied; the highest is the version of the schema.
CREATE TABLE deniable.schema_version (
    version       integer  PRIMARY KEY
);

CREATE TABLE deniable.surveys (
    survey        integer  PRIMARY KEY,       -- short for survey_id, in this store only
    survey_id     bytea    NOT NULL UNIQUE,   -- SHA-256 of the manifest's payload
    name          text     COLLATE "C" NOT NULL,
    sequence      bigint   NOT NULL,
    minimum       bigint   NOT NULL,          -- minimum_reports: figures advance in steps of it
    envelope      bytea    NOT NULL,          -- the signed manifest, as published
    UNIQUE (name, sequence)
);

-- How the authority's key was handed over, oldest first: published, so that devices can follow.
CREATE TABLE deniable.rotations (
    rotation      integer  PRIMARY KEY,
    old_key       bytea    NOT NULL UNIQUE,   -- a key hands over once
    new_key       bytea    NOT NULL UNIQUE,
    sequence      bigint   NOT NULL,
    envelope      bytea    NOT NULL           -- signed by both keys
);

-- Who vouches that a device is one device. Number 0 is nobody: the reports of open surveys.
CREATE TABLE deniable.issuers (
    issuer        integer  PRIMARY KEY,       -- short for public_key, in this store only
    public_key    bytea    NOT NULL UNIQUE,
    distrusted_at bigint                      -- Unix seconds; NULL while it is trusted
);
INSERT INTO deniable.issuers (issuer, public_key) VALUES (0, '');

-- One row a device, survey and epoch: what makes a repeat a duplicate and a second report a conflict.
-- `key` is the first 16 bytes of the report's public key; as a uuid it takes no length, and its index
-- a sixth less than as a bytea. No foreign keys: they would be looked up for every report; the check
-- looks at all at once.
CREATE TABLE deniable.receipts (
    survey        integer  NOT NULL,
    epoch         integer  NOT NULL,
    key           uuid     NOT NULL,
    response      integer  NOT NULL,
    issuer        integer  NOT NULL,
    PRIMARY KEY (survey, epoch, key)
) PARTITION BY HASH (key);

DO $$
BEGIN
    FOR remainder IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE deniable.receipts_%s PARTITION OF deniable.receipts'
            ' FOR VALUES WITH (MODULUS 16, REMAINDER %s)', remainder, remainder);
    END LOOP;
END $$;

-- The histogram of the solution matrix's columns, kept in the same transaction as the receipts. It is
-- the sum over `slot`: each open store adds to a random one of 1 to 255, so that collectors do not
-- wait for each other's commits. A seal gathers all in slot 0. The fill factor leaves room to change
-- a row within its page, without a new entry in the index.
CREATE TABLE deniable.counts (
    slot          smallint NOT NULL,
    survey        integer  NOT NULL REFERENCES deniable.surveys,
    epoch         integer  NOT NULL,
    issuer        integer  NOT NULL REFERENCES deniable.issuers,
    response      integer  NOT NULL,
    reports       bigint   NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response, slot)
) WITH (fillfactor = 50);

-- The counts as they may be shown, where `minimum` is above 1: a copy taken by whoever reads them
-- when `minimum` more reports have come.
CREATE TABLE deniable.published_counts (
    survey        integer  NOT NULL REFERENCES deniable.surveys,
    epoch         integer  NOT NULL,
    issuer        integer  NOT NULL REFERENCES deniable.issuers,
    response      integer  NOT NULL,
    reports       bigint   NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response)
);

-- A sealed epoch takes no report, whatever any clock says. Every insert reads this table.
CREATE TABLE deniable.seals (
    survey        integer  NOT NULL REFERENCES deniable.surveys,
    epoch         integer  NOT NULL,
    sealed_at     bigint   NOT NULL,          -- Unix seconds, by the clock of whoever sealed it
    reports       bigint   NOT NULL,          -- how many were counted
    digest        bytea    NOT NULL,          -- SHA-256 of the counts
    pruning_at    bigint,                     -- since when receipts are being erased
    pruned_at     bigint,                     -- since when none is left
    PRIMARY KEY (survey, epoch)
);

-- An ended survey takes no report of any epoch. Every insert reads this table.
CREATE TABLE deniable.ends (
    survey        integer  PRIMARY KEY REFERENCES deniable.surveys,
    ended_at      bigint   NOT NULL           -- Unix seconds
);

CREATE TABLE deniable.tokens (
    digest        bytea    PRIMARY KEY,       -- SHA-256; the token itself is shown once
    role          text     NOT NULL CHECK (role IN ('analyst', 'operator')),
    label         text     NOT NULL,
    created_at    bigint   NOT NULL           -- Unix seconds
);

-- Stores one commit group; called as a statement of its own, it is one transaction and one round trip.
--
-- It relies on READ COMMITTED, in which each statement of a volatile function sees all that was
-- committed before that statement began:
--
-- * The locks come first, and who seals, ends or distrusts holds them exclusively until its commit.
--   So the statement that reads seals, ends and issuers sees whatever was decided before the locks
--   were ours, and until our commit nothing more is decided (S4, S7). In particular no receipt slips
--   in between a seal's digest and its commit.
-- * ON CONFLICT DO NOTHING waits for a transaction that is storing the same receipt. If that commits,
--   the receipt is known, and the statement after the insert sees it; if not, ours is stored (S2).
--   It cannot be erased meanwhile: that takes a seal, which our locks keep out.
-- * All writers lock in one order: issuers, surveys and epochs by number, receipts by identity, cells
--   of counts. So they cannot wait for each other in a circle.
--
-- Reports come in lots of the same survey, epoch and issuer.
CREATE FUNCTION deniable.add_receipts(
    the_slot      smallint,
    lot_ids       bytea[],        -- by lot: the survey's id,
    lot_epochs    integer[],      -- the epoch,
    lot_keys      bytea[],        -- and the issuer's public key; empty where nobody vouched
    lots          integer[],      -- by report: its lot, from 1 on,
    keys          uuid[],         -- the key,
    responses     integer[],      -- and the response
    OUT refusals  integer[],      -- by lot: 0 taken, 1 ended, 2 sealed, 3 distrusted; NULL as a whole if a survey is unknown
    OUT repeats   integer[],      -- which taken reports, from 1 on, are not new; NULL if all are,
    OUT stored    integer[]       -- and which response stands of each
) LANGUAGE plpgsql AS $$
DECLARE
    lot_surveys   integer[];
    lot_issuers   integer[];
    taken         bigint;
    new_surveys   integer[];
    new_epochs    integer[];
    new_keys      uuid[];
BEGIN
    SELECT array_agg(s.survey ORDER BY l.lot) INTO lot_surveys
      FROM unnest(lot_ids) WITH ORDINALITY l (survey_id, lot)
      LEFT JOIN deniable.surveys s USING (survey_id);
    IF array_position(lot_surveys, NULL) IS NOT NULL THEN
        RETURN;
    END IF;

    IF EXISTS (SELECT FROM unnest(lot_keys) l (public_key) WHERE public_key <> '') THEN
        IF EXISTS (
            SELECT FROM unnest(lot_keys) l (public_key)
             WHERE NOT EXISTS (SELECT FROM deniable.issuers i WHERE i.public_key = l.public_key)
        ) THEN
            PERFORM pg_advisory_xact_lock(-1, 2);
            INSERT INTO deniable.issuers (issuer, public_key)
            SELECT (SELECT max(issuer) FROM deniable.issuers) + row_number() OVER (), public_key
              FROM (SELECT DISTINCT public_key FROM unnest(lot_keys) l (public_key)) named
             WHERE NOT EXISTS (
                SELECT FROM deniable.issuers i WHERE i.public_key = named.public_key
             );
        ELSE
            PERFORM pg_advisory_xact_lock_shared(-1, 2);
        END IF;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(survey, part)
       FROM (
            SELECT survey, epoch AS part FROM unnest(lot_surveys, lot_epochs) l (survey, epoch)
             UNION SELECT survey, -1 FROM unnest(lot_surveys) l (survey)
             ORDER BY survey, part
       ) locks;

    SELECT array_agg(
                CASE WHEN e.survey IS NOT NULL THEN 1
                     WHEN s.survey IS NOT NULL THEN 2
                     WHEN i.distrusted_at IS NOT NULL THEN 3
                     ELSE 0 END ORDER BY l.lot),
           array_agg(i.issuer ORDER BY l.lot)
      INTO refusals, lot_issuers
      FROM unnest(lot_surveys, lot_epochs, lot_keys)
           WITH ORDINALITY l (survey, epoch, public_key, lot)
      JOIN deniable.issuers i USING (public_key)
      LEFT JOIN deniable.ends e USING (survey)
      LEFT JOIN deniable.seals s USING (survey, epoch);

    WITH inserted AS (
        INSERT INTO deniable.receipts (survey, epoch, key, response, issuer)
        SELECT lot_surveys[lot], lot_epochs[lot], key, response, lot_issuers[lot]
          FROM unnest(lots, keys, responses) WITH ORDINALITY r (lot, key, response, report)
         WHERE refusals[lot] = 0
         ORDER BY lot_surveys[lot], lot_epochs[lot], key, report
        ON CONFLICT DO NOTHING
        RETURNING survey, epoch, key, response, issuer
    ), counted AS (
        INSERT INTO deniable.counts AS c (slot, survey, epoch, issuer, response, reports)
        SELECT the_slot, survey, epoch, issuer, response, count(*)
          FROM inserted
         GROUP BY survey, epoch, issuer, response
         ORDER BY survey, epoch, issuer, response
        ON CONFLICT (survey, epoch, issuer, response, slot)
        DO UPDATE SET reports = c.reports + excluded.reports
    )
    SELECT array_agg(survey), array_agg(epoch), array_agg(key)
      INTO new_surveys, new_epochs, new_keys
      FROM inserted;

    SELECT count(*) INTO taken FROM unnest(lots) r (lot) WHERE refusals[lot] = 0;
    IF taken = coalesce(cardinality(new_keys), 0) THEN
        RETURN;
    END IF;

    -- New is the first report of each identity that was inserted; all others repeat what stands.
    SELECT array_agg(r.report), array_agg(s.response) INTO repeats, stored
      FROM (
            SELECT lot_surveys[lot] AS survey, lot_epochs[lot] AS epoch, key, report,
                   row_number() OVER (
                        PARTITION BY lot_surveys[lot], lot_epochs[lot], key ORDER BY report
                   ) AS nth
              FROM unnest(lots, keys) WITH ORDINALITY r (lot, key, report)
             WHERE refusals[lot] = 0
      ) r
      JOIN deniable.receipts s USING (survey, epoch, key)
     WHERE NOT (r.nth = 1 AND (survey, epoch, key) IN (
                SELECT * FROM unnest(new_surveys, new_epochs, new_keys)));
    IF taken <> coalesce(cardinality(new_keys), 0) + coalesce(cardinality(repeats), 0) THEN
        RAISE EXCEPTION 'a receipt that stands is gone';
    END IF;
END $$;
