-- A collector's store. Its tables hold no addresses, no times finer than an epoch, and no order of
-- arrival: receipts are kept WITHOUT ROWID, sorted by key, since a rowid would number them as they
-- came. What the file's pages and the log tell besides stands in docs/operations/storage.md.

CREATE TABLE surveys (
    survey        INTEGER PRIMARY KEY,      -- short for survey_id, in this store only
    survey_id     BLOB    NOT NULL UNIQUE,  -- SHA-256 of the manifest's payload
    name          TEXT    NOT NULL,
    sequence      INTEGER NOT NULL,
    minimum       INTEGER NOT NULL,         -- minimum_reports: figures advance in steps of it
    envelope      BLOB    NOT NULL,         -- the signed manifest, as published
    published_at  INTEGER,                  -- Unix seconds; NULL where a public log gave it back
    UNIQUE (name, sequence)
);

-- How the authority's key was handed over, oldest first: published, so that devices can follow.
CREATE TABLE rotations (
    rotation      INTEGER PRIMARY KEY,
    old_key       BLOB    NOT NULL UNIQUE,  -- a key hands over once
    new_key       BLOB    NOT NULL UNIQUE,
    sequence      INTEGER NOT NULL,
    envelope      BLOB    NOT NULL          -- signed by both keys
);

-- The public log: what the authority signed, in the order of publishing, and its newest checkpoints.
CREATE TABLE log_entries (
    position      INTEGER PRIMARY KEY,      -- from 0 on, without gaps
    entry         BLOB    NOT NULL          -- a manifest's envelope, a rotation's or gateway keys'
);

CREATE TABLE log_checkpoints (
    role          TEXT    NOT NULL PRIMARY KEY CHECK (role IN ('newest', 'witnessed')),
    checkpoint    TEXT    NOT NULL          -- a signed note; `witnessed`: by a quorum of witnesses
) WITHOUT ROWID;

-- Who vouches that a device is one device. Number 0 is nobody: the reports of open surveys.
CREATE TABLE issuers (
    issuer        INTEGER PRIMARY KEY,      -- short for public_key, in this store only
    public_key    BLOB    NOT NULL UNIQUE,
    distrusted_at INTEGER                   -- Unix seconds; NULL while it is trusted
);
INSERT INTO issuers VALUES (0, x'', NULL);

-- One row a device, survey and epoch: what makes a repeat a duplicate and a second report a conflict.
-- No foreign keys: they would be looked up for every report. `store check` looks at all at once.
CREATE TABLE receipts (
    survey        INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    key           BLOB    NOT NULL,         -- the first 16 bytes of the report's public key
    response      INTEGER NOT NULL,
    issuer        INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, key)
) WITHOUT ROWID;

-- The histogram of the solution matrix's columns, kept in the same transaction as the receipts.
CREATE TABLE counts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    issuer        INTEGER NOT NULL REFERENCES issuers,
    response      INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response)
) WITHOUT ROWID;

-- The counts as they may be shown, where `minimum` is above 1: a copy taken by whoever reads them
-- when `minimum` more reports have come.
CREATE TABLE published_counts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    issuer        INTEGER NOT NULL REFERENCES issuers,
    response      INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response)
) WITHOUT ROWID;

-- A sealed epoch takes no report, whatever any clock says. Every insert reads this table.
CREATE TABLE seals (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    sealed_at     INTEGER NOT NULL,         -- Unix seconds, by the clock of whoever sealed it
    reports       INTEGER NOT NULL,         -- how many were counted
    digest        BLOB    NOT NULL,         -- SHA-256 of the counts
    pruning_at    INTEGER,                  -- since when receipts are being erased
    pruned_at     INTEGER,                  -- since when none is left
    PRIMARY KEY (survey, epoch)
) WITHOUT ROWID;

-- An ended survey takes no report of any epoch. Every insert reads this table.
CREATE TABLE ends (
    survey        INTEGER PRIMARY KEY REFERENCES surveys,
    ended_at      INTEGER NOT NULL          -- Unix seconds
) WITHOUT ROWID;

-- Who may read, also by a link to one survey's figures: a token with an end.
CREATE TABLE tokens (
    digest        BLOB    NOT NULL PRIMARY KEY,  -- SHA-256; the token itself is shown once
    role          TEXT    NOT NULL CHECK (role IN ('reader', 'analyst', 'operator')),
    label         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,         -- Unix seconds
    survey        TEXT,                     -- the name of the only one that it is for; NULL: of all
    ends_at       INTEGER,                  -- Unix seconds from which on it opens nothing; NULL: never
    CHECK ((role = 'reader') = (survey IS NOT NULL) AND (role = 'reader') = (ends_at IS NOT NULL))
) WITHOUT ROWID;

-- What an operator says happened, which stands beside the figures of a name.
CREATE TABLE notes (
    name          TEXT    NOT NULL,         -- of the surveys
    at            INTEGER NOT NULL,         -- Unix seconds
    text          TEXT    NOT NULL,
    PRIMARY KEY (name, at, text)
) WITHOUT ROWID;

-- What holds of the store as a whole, in one row.
CREATE TABLE state (
    state         INTEGER PRIMARY KEY CHECK (state = 0),
    touched       INTEGER NOT NULL,         -- 0 or 1: flipped where a durable write is needed, and no more
    backed_up_at  INTEGER                   -- Unix seconds of the last backup, or NULL
);
INSERT INTO state VALUES (0, 0, NULL);
