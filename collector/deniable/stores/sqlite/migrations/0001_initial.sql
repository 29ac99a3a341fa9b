-- A collector's store. Its tables hold no addresses, no times finer than an epoch, and no order of
-- arrival: receipts are kept WITHOUT ROWID, sorted by key, since a rowid would number them as they
-- came. What the file's pages and the log tell besides stands in docs/operations.md.

CREATE TABLE surveys (
    survey        INTEGER PRIMARY KEY,      -- short for survey_id, in this store only
    survey_id     BLOB    NOT NULL UNIQUE,  -- SHA-256 of the manifest's payload
    name          TEXT    NOT NULL,
    sequence      INTEGER NOT NULL,
    minimum       INTEGER NOT NULL,         -- minimum_reports: figures advance in steps of it
    envelope      BLOB    NOT NULL,         -- the signed manifest, as published
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

-- One row a device, survey and epoch: what makes a repeat a duplicate and a second report a conflict.
CREATE TABLE receipts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    public_key    BLOB    NOT NULL,
    response      INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, public_key)
) WITHOUT ROWID;

-- The histogram of the solution matrix's columns, kept in the same transaction as the receipts.
CREATE TABLE counts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    response      INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, response)
) WITHOUT ROWID;

-- How many reports an epoch has, and how many of them its figures show.
CREATE TABLE epochs (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    shown         INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch)
) WITHOUT ROWID;

-- The counts as they may be shown: a copy taken whenever `minimum` more reports have come.
CREATE TABLE published_counts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    response      INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, response)
) WITHOUT ROWID;

-- A sealed epoch takes no report, whatever any clock says. Every insert reads this table.
CREATE TABLE seals (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch)
) WITHOUT ROWID;

CREATE TABLE tokens (
    digest        BLOB    NOT NULL PRIMARY KEY,  -- SHA-256; the token itself is shown once
    role          TEXT    NOT NULL CHECK (role IN ('analyst', 'operator')),
    label         TEXT    NOT NULL
) WITHOUT ROWID;
