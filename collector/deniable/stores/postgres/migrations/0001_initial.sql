-- A collector's store in PostgreSQL, that any number of collectors share. It stays as quick as it was
-- however much it has taken, whoever reads it meanwhile: nothing that is written for a report changes
-- a row that another one wrote. No table holds an address, a time finer than an epoch, or a number
-- that grows with every report: nothing that we store orders the receipts or links those of a device.
-- (What PostgreSQL itself notes beside each row is told in docs/postgres.md.)
--
-- Numbers are given by us, and there is no sequence.

CREATE SCHEMA deniable;
COMMENT ON SCHEMA deniable IS 'A store of deniable 0.1.0 or newer';

-- One row a migration that was applied, this one included; the highest is the version of the schema.
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
    published_at  bigint,                     -- Unix seconds; NULL where a public log gave it back
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

-- The public log: what the authority signed, in the order of publishing, and its newest checkpoints.
CREATE TABLE deniable.log_entries (
    position      bigint   PRIMARY KEY,  -- from 0 on, without gaps
    entry         bytea    NOT NULL      -- a manifest's envelope, a rotation's or gateway keys'
);

CREATE TABLE deniable.log_checkpoints (
    role          text     PRIMARY KEY CHECK (role IN ('newest', 'witnessed')),
    checkpoint    text     NOT NULL      -- a signed note; `witnessed`: by a quorum of witnesses
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
--
-- Receipts have a table for each survey and epoch, which the first group makes that needs it. So an
-- epoch is pruned by dropping a table. All inherit from one that is empty itself. (A declarative
-- partition is dropped only while nobody at all uses its parent, and reports would wait for that.)
CREATE TABLE deniable.receipts (
    survey        integer  NOT NULL,
    epoch         integer  NOT NULL,
    key           uuid     NOT NULL,
    response      integer  NOT NULL,
    issuer        integer  NOT NULL,
    CHECK (false) NO INHERIT
);

-- The lock is the one that CREATE TABLE takes, too, and held by nobody who only stores or reads.
-- Unlike that of an advisory lock, its wait ends with a look at what others made meanwhile.
CREATE FUNCTION deniable.make_receipts(the_survey integer, the_epoch integer)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    made          text := format('deniable.receipts_%s_%s', the_survey, the_epoch);
BEGIN
    IF to_regclass(made) IS NULL THEN
        LOCK TABLE ONLY deniable.receipts IN SHARE UPDATE EXCLUSIVE MODE;
        IF to_regclass(made) IS NULL THEN
            EXECUTE format(
                'CREATE TABLE %s (PRIMARY KEY (key), CHECK (survey = %s AND epoch = %s))'
                ' INHERITS (deniable.receipts)', made, the_survey, the_epoch);
        END IF;
    END IF;
END $$;

-- The histogram of the solution matrix's columns is what `counts` and `deltas` say together. Each
-- group appends to `deltas`, in the transaction that stores its receipts: a row for a survey, an
-- epoch and an issuer, with the sum of its reports by response. Folding adds them up in `counts`, and
-- removes them; a seal leaves none.
CREATE TABLE deniable.counts (
    survey        integer  NOT NULL REFERENCES deniable.surveys,
    epoch         integer  NOT NULL,
    issuer        integer  NOT NULL REFERENCES deniable.issuers,
    response      integer  NOT NULL,
    reports       bigint   NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response)
) WITH (fillfactor = 50);  -- room to change a row within its page, without a new entry in the index

CREATE TABLE deniable.deltas (
    survey        integer  NOT NULL,
    epoch         integer  NOT NULL,
    issuer        integer  NOT NULL,
    responses     integer[] NOT NULL,  -- ascending,
    reports       integer[] NOT NULL   -- and how many of each
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, vacuum_truncate = false);

CREATE VIEW deniable.counted AS
SELECT survey, epoch, issuer, response, reports FROM deniable.counts
 UNION ALL
SELECT survey, epoch, issuer, unnest(responses), unnest(reports) FROM deniable.deltas;

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

-- Who may read, also by a link to one survey's figures: a token with an end.
CREATE TABLE deniable.tokens (
    digest        bytea    PRIMARY KEY,       -- SHA-256; the token itself is shown once
    role          text     NOT NULL CHECK (role IN ('reader', 'analyst', 'operator')),
    label         text     NOT NULL,
    created_at    bigint   NOT NULL,          -- Unix seconds
    survey        text,                       -- the name of the only one that it is for; NULL: of all
    ends_at       bigint,                     -- Unix seconds from which on it opens nothing; NULL: never
    CHECK ((role = 'reader') = (survey IS NOT NULL) AND (role = 'reader') = (ends_at IS NOT NULL))
);

-- What an operator says happened, which stands beside the figures of a name.
CREATE TABLE deniable.notes (
    name          text     NOT NULL,  -- of the surveys
    at            bigint   NOT NULL,  -- Unix seconds
    text          text     NOT NULL,
    PRIMARY KEY (name, at, text)
);

CREATE TABLE deniable.state (
    one           boolean  PRIMARY KEY DEFAULT true CHECK (one),
    touched       boolean  NOT NULL DEFAULT false,  -- changes when somebody tries if it can be written
    backed_up_at  bigint                            -- Unix seconds of the last backup that was noted
);
INSERT INTO deniable.state DEFAULT VALUES;

-- Begins every transaction that writes. Its lock is shared: whoever brings the store to
-- another version takes it alone, and so waits for whatever is being written. What the server
-- would lose, and what a collector of another version would write, is refused here, so that nothing
-- is refused to reports alone. The message makes the commit one that is written to the log, and
-- waits for disk and standby, whatever else the transaction does: what an answer rests on may have
-- been stored by a commit that does not wait for them any more, since the server was restarted
-- meanwhile (S1).
CREATE FUNCTION deniable.begin_write(the_version integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(-1, 3);
    IF the_version <> (SELECT max(version) FROM deniable.schema_version) THEN
        RAISE EXCEPTION 'the store is of another version' USING ERRCODE = 'DNVER';
    END IF;
    -- Unlike synchronous_commit it can be switched off below a connection.
    IF current_setting('fsync') = 'off' THEN
        RAISE EXCEPTION 'fsync is off' USING ERRCODE = 'DNFGT';
    END IF;
    PERFORM pg_logical_emit_message(true, 'deniable', '');
END $$;

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
-- * All writers lock in one order: issuers, surveys and epochs by number, then the table of all
--   receipts to make those that are missing, then receipts as they are given. So they cannot wait for
--   each other in a circle.
--
-- Reports come sorted by survey id, epoch and key, those of one survey and epoch as a part.
CREATE FUNCTION deniable.add_receipts(
    the_version    integer,      -- of the schema, as the collector knows it
    part_ids       bytea[],      -- by part: the survey's id,
    part_epochs    integer[],    -- the epoch,
    part_ends      integer[],    -- and its last report
    issuer_keys    bytea[],      -- public keys of issuers; empty where nobody vouched
    vouchers       integer[],    -- by report: the place of its issuer among them,
    keys           uuid[],       -- the key,
    responses      integer[],    -- and the response
    OUT refusals   integer[],    -- by part: 0 taken, 1 ended, 2 sealed; NULL as a whole if a survey is unknown
    OUT distrusted boolean[],    -- by issuer
    OUT repeats    integer[],    -- which taken reports are not new,
    OUT stored     integer[]     -- and which response stands of each
) LANGUAGE plpgsql AS $$
DECLARE
    surveys        integer[];
    issuers        integer[];
    first          integer;
    last           integer := 0;
    taken          integer;
    new_keys       uuid[];
    old            record;
BEGIN
    PERFORM deniable.begin_write(the_version);
    SELECT array_agg(s.survey ORDER BY p.part) INTO surveys
      FROM unnest(part_ids) WITH ORDINALITY p (survey_id, part)
      LEFT JOIN deniable.surveys s USING (survey_id);
    IF array_position(surveys, NULL) IS NOT NULL THEN
        RETURN;
    END IF;

    IF issuer_keys <> ARRAY[''::bytea] THEN
        IF EXISTS (
            SELECT FROM unnest(issuer_keys) k (public_key)
             WHERE NOT EXISTS (SELECT FROM deniable.issuers i WHERE i.public_key = k.public_key)
        ) THEN
            PERFORM pg_advisory_xact_lock(-1, 2);
            INSERT INTO deniable.issuers (issuer, public_key)
            SELECT (SELECT max(issuer) FROM deniable.issuers) + row_number() OVER (), public_key
              FROM unnest(issuer_keys) k (public_key)
             WHERE NOT EXISTS (SELECT FROM deniable.issuers i WHERE i.public_key = k.public_key);
        ELSE
            PERFORM pg_advisory_xact_lock_shared(-1, 2);
        END IF;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(survey, part)
       FROM (
            SELECT survey, epoch AS part FROM unnest(surveys, part_epochs) p (survey, epoch)
             UNION SELECT survey, -1 FROM unnest(surveys) p (survey)
             ORDER BY survey, part
       ) locks;

    SELECT array_agg(CASE WHEN e.survey IS NOT NULL THEN 1 WHEN s.survey IS NOT NULL THEN 2 ELSE 0 END
                     ORDER BY p.part)
      INTO refusals
      FROM unnest(surveys, part_epochs) WITH ORDINALITY p (survey, epoch, part)
      LEFT JOIN deniable.ends e USING (survey)
      LEFT JOIN deniable.seals s USING (survey, epoch);
    SELECT array_agg(i.issuer ORDER BY k.place), array_agg(i.distrusted_at IS NOT NULL ORDER BY k.place)
      INTO issuers, distrusted
      FROM unnest(issuer_keys) WITH ORDINALITY k (public_key, place)
      JOIN deniable.issuers i USING (public_key);

    FOR part IN 1..cardinality(part_ids) LOOP
        IF refusals[part] = 0 THEN
            PERFORM deniable.make_receipts(surveys[part], part_epochs[part]);
        END IF;
    END LOOP;

    FOR part IN 1..cardinality(part_ids) LOOP
        first := last + 1;
        last := part_ends[part];
        CONTINUE WHEN refusals[part] <> 0;
        EXECUTE format($insert$
            WITH inserted AS (
                INSERT INTO deniable.receipts_%1$s_%2$s (survey, epoch, key, response, issuer)
                SELECT %1$s, %2$s, key, response, ($1)[voucher]
                  FROM unnest($3, $4, $5) r (voucher, key, response)
                 WHERE NOT ($2)[voucher]
                ON CONFLICT DO NOTHING
                RETURNING key, response, issuer
            ), counted AS (
                INSERT INTO deniable.deltas (survey, epoch, issuer, responses, reports)
                SELECT %1$s, %2$s, issuer, array_agg(response), array_agg(reports)
                  FROM (
                    SELECT issuer, response, count(*)::integer AS reports FROM inserted
                     GROUP BY issuer, response ORDER BY issuer, response
                  ) cells
                 GROUP BY issuer
            )
            SELECT array_agg(key) FROM inserted
        $insert$, surveys[part], part_epochs[part])
        INTO new_keys
        USING issuers, distrusted, vouchers[first:last], keys[first:last], responses[first:last];

        SELECT count(*) INTO taken FROM unnest(vouchers[first:last]) r (voucher)
         WHERE NOT distrusted[voucher];
        CONTINUE WHEN taken = coalesce(cardinality(new_keys), 0);
        -- New is the first report of each key that was inserted; all others repeat what stands.
        EXECUTE format($repeats$
            SELECT array_agg(report) AS reports, array_agg(s.response) AS responses
              FROM (
                SELECT key, $1 + report::integer AS report,
                       row_number() OVER (PARTITION BY key ORDER BY report) AS nth
                  FROM unnest($4, $5) WITH ORDINALITY r (voucher, key, report)
                 WHERE NOT ($3)[voucher]
              ) r
              JOIN deniable.receipts_%s_%s s USING (key)
              LEFT JOIN unnest($2) n (key) USING (key)
             WHERE r.nth > 1 OR n.key IS NULL
        $repeats$, surveys[part], part_epochs[part])
        INTO old
        USING first - 1, new_keys, distrusted, vouchers[first:last], keys[first:last];
        IF taken <> coalesce(cardinality(new_keys), 0) + coalesce(cardinality(old.reports), 0) THEN
            RAISE EXCEPTION 'a receipt that stands is gone';
        END IF;
        repeats := repeats || old.reports;
        stored := stored || old.responses;
    END LOOP;
END $$;
