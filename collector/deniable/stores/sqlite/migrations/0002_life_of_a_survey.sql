-- Counts by the issuer that vouched, seals with a digest, ends of surveys, times of tokens. Whether
-- figures take a step is judged when they are read, so that the table of epochs goes.

-- Who vouches that a device is one device. Number 0 is nobody: the reports of open surveys, and
-- those that were stored by version 1, which did not keep who vouched.
CREATE TABLE issuers (
    issuer        INTEGER PRIMARY KEY,      -- short for public_key, in this store only
    public_key    BLOB    NOT NULL UNIQUE,
    distrusted_at INTEGER                   -- Unix seconds; NULL while it is trusted
);
INSERT INTO issuers VALUES (0, x'', NULL);

-- One row a device, survey and epoch: what makes a repeat a duplicate and a second report a conflict.
-- No foreign keys: they would be looked up for every report. `store check` looks at all at once.
ALTER TABLE receipts RENAME TO receipts_1;
CREATE TABLE receipts (
    survey        INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    key           BLOB    NOT NULL,         -- the first 16 bytes of the report's public key
    response      INTEGER NOT NULL,
    issuer        INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, key)
) WITHOUT ROWID;
INSERT INTO receipts
    SELECT survey, epoch, substr(public_key, 1, 16), response, 0 FROM receipts_1
    ORDER BY survey, epoch, public_key;
DROP TABLE receipts_1;

-- The histogram of the solution matrix's columns, kept in the same transaction as the receipts.
ALTER TABLE counts RENAME TO counts_1;
CREATE TABLE counts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    issuer        INTEGER NOT NULL REFERENCES issuers,
    response      INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response)
) WITHOUT ROWID;
INSERT INTO counts SELECT survey, epoch, 0, response, reports FROM counts_1;
DROP TABLE counts_1;

-- The counts as they may be shown, where `minimum` is above 1: a copy taken by whoever reads them
-- when `minimum` more reports have come.
ALTER TABLE published_counts RENAME TO published_counts_1;
CREATE TABLE published_counts (
    survey        INTEGER NOT NULL REFERENCES surveys,
    epoch         INTEGER NOT NULL,
    issuer        INTEGER NOT NULL REFERENCES issuers,
    response      INTEGER NOT NULL,
    reports       INTEGER NOT NULL,
    PRIMARY KEY (survey, epoch, issuer, response)
) WITHOUT ROWID;
INSERT INTO published_counts SELECT survey, epoch, 0, response, reports FROM published_counts_1;
DROP TABLE published_counts_1;
DROP TABLE epochs;

-- A sealed epoch takes no report, whatever any clock says. Every insert reads this table. A seal of
-- version 1 counts as set when it is migrated; its reports and digest are filled in then.
ALTER TABLE seals RENAME TO seals_1;
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
INSERT INTO seals
    SELECT survey, epoch, CAST(strftime('%s', 'now') AS INTEGER), 0, x'', NULL, NULL FROM seals_1;
DROP TABLE seals_1;

-- An ended survey takes no report of any epoch. Every insert reads this table.
CREATE TABLE ends (
    survey        INTEGER PRIMARY KEY REFERENCES surveys,
    ended_at      INTEGER NOT NULL          -- Unix seconds
) WITHOUT ROWID;

ALTER TABLE tokens RENAME TO tokens_1;
CREATE TABLE tokens (
    digest        BLOB    NOT NULL PRIMARY KEY,  -- SHA-256; the token itself is shown once
    role          TEXT    NOT NULL CHECK (role IN ('analyst', 'operator')),
    label         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL               -- Unix seconds; 0 if version 1 made it
) WITHOUT ROWID;
INSERT INTO tokens SELECT digest, role, label, 0 FROM tokens_1;
DROP TABLE tokens_1;
