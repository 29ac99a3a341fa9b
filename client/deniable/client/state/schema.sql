-- The state of one device. No column ever holds an answer; responses exist only inside signed bytes.

CREATE TABLE device (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    secret       BLOB    NOT NULL,  -- 32 bytes; every report key derives from it
    mark         TEXT    NOT NULL,  -- repeated in the file beside this one: tells a copy from the original
    generation   INTEGER NOT NULL,  -- decisions and consents ever stored; an old backup has fewer
    ledger_time  INTEGER NOT NULL,  -- the latest instant seen or decided for; never runs backwards (D3)
    looked_at    INTEGER NOT NULL,  -- the latest instant seen
    lived        INTEGER NOT NULL,  -- seconds of use: a gap between two looks counts for a week at most
    fresh_from   INTEGER NOT NULL,  -- epochs that began before it may have been decided by a lost state
    erased       INTEGER NOT NULL,  -- generation of the latest off, local or purge: it holds for older copies too
    remains      INTEGER NOT NULL,  -- erasures of which unused parts of the file, or its log, may keep copies
    carried      INTEGER NOT NULL,  -- what lost states had reserved of the lifetime budget, in 1e-9 epsilon
    consent      TEXT    NOT NULL CHECK (consent IN ('unset', 'off', 'local', 'on')),
    consent_at   INTEGER NOT NULL,  -- Unix seconds at which it became so
    consent_from TEXT    NOT NULL   -- who said so: what the app passed as origin
);

CREATE TABLE manifests (
    authority    BLOB    NOT NULL,  -- the first key of the signer's chain: an app may come to trust another
    survey_id    BLOB    NOT NULL,
    name         TEXT    NOT NULL,
    sequence     INTEGER NOT NULL,
    envelope     BLOB    NOT NULL,  -- the signed bytes, as they came
    signer       BLOB    NOT NULL,  -- the public key that signed them
    role         TEXT    NOT NULL CHECK (role IN (
                     'accepted',      -- may be followed
                     'refused',       -- the newest one seen, kept to notice a rollback
                     'equivocating')), -- a second one of the same sequence: proof against its signer
    reserved     INTEGER NOT NULL,    -- what accepting it reserved, in 1e-9 epsilon; never given back
    seen         INTEGER NOT NULL,    -- Unix seconds at which it first came
    reason       TEXT    NOT NULL,    -- which rule it broke; empty if accepted
    PRIMARY KEY (authority, survey_id)
) WITHOUT ROWID;

-- How the authority handed over from key to key, as far as this device has seen it.
CREATE TABLE authorities (
    old_key      BLOB    NOT NULL,
    new_key      BLOB    NOT NULL,
    sequence     INTEGER NOT NULL,
    envelope     BLOB    NOT NULL,  -- signed by both keys, as it came
    role         TEXT    NOT NULL CHECK (role IN (
                     'followed',    -- the new key is trusted, for good
                     'forking')),   -- a second one of the same key: proof against its signer
    seen         INTEGER NOT NULL,  -- Unix seconds, by this device's clock
    PRIMARY KEY (old_key, new_key, sequence)
) WITHOUT ROWID;

CREATE TABLE decisions (
    name         TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    origin       TEXT    NOT NULL,  -- the collector that the report is for, and the only one to get it
    survey_id    BLOB    NOT NULL,
    cost         INTEGER NOT NULL,  -- 1e-9 epsilon; never given back
    starts       INTEGER NOT NULL,  -- the epoch's first second, Unix
    ends         INTEGER NOT NULL,  -- the epoch's end, Unix seconds
    closes       INTEGER NOT NULL,  -- end plus grace: nothing is taken from then on
    status       TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'dropped')),
    verdict      TEXT    NOT NULL,  -- the collector's last word, or why the bytes were dropped here
    envelope     BLOB,              -- the one signed report, erased once it is of no more use
    attempts     INTEGER NOT NULL,  -- sends so far
    unanswered   INTEGER NOT NULL,  -- sends whose fate is unknown: the report may have been counted
    due          REAL    NOT NULL,  -- when to send next, Unix seconds
    held         REAL    NOT NULL,  -- not before, because the collector asked so
    decided      INTEGER NOT NULL,  -- Unix seconds, by this device's clock
    settled      INTEGER,           -- when it was delivered or dropped
    lived        INTEGER NOT NULL,  -- device.lived when it was decided: what ceilings and caps go by
    PRIMARY KEY (name, epoch)
) WITHOUT ROWID;

CREATE INDEX waiting ON decisions (due) WHERE status = 'pending';

-- Memoised surveys: a key of its own for each range of epochs, erased when the range ends. Whoever
-- holds a live key and the range's responses learns the answers.
CREATE TABLE memos (
    name         TEXT    NOT NULL,
    survey_id    BLOB    NOT NULL,
    first        INTEGER NOT NULL,  -- the range's first epoch
    ends         INTEGER NOT NULL,  -- the range's end, Unix seconds
    key          BLOB,              -- 32 random bytes; NULL once erased, and the range is over for this device
    reports      INTEGER NOT NULL,  -- decided under this key
    PRIMARY KEY (name, survey_id, first)
) WITHOUT ROWID;

-- Surveys for whose devices an issuer vouches: one row for each key of this device that was wanted
-- to be vouched for. The key itself derives from the secret.
CREATE TABLE credentials (
    name         TEXT    NOT NULL,
    survey_id    BLOB    NOT NULL,
    epoch        INTEGER NOT NULL,
    closes       INTEGER NOT NULL,  -- when the collector takes the epoch's reports no more, Unix seconds
    credential   BLOB,              -- 64 bytes of an issuer; NULL before they came, and once erased
    issuer       BLOB,              -- the public key of who gave the latest
    asks         INTEGER NOT NULL,  -- calls of the app's callback so far
    due          REAL    NOT NULL,  -- when to ask next, Unix seconds
    renewal      INTEGER NOT NULL,  -- 0: none was refused; 1: the collector refused it, another is wanted; 2: was given or declined
    wanted       INTEGER NOT NULL,  -- Unix seconds at which it was first wanted
    PRIMARY KEY (name, survey_id, epoch)
) WITHOUT ROWID;

-- Consent "local": what would have been reported, for the user to see. It bears no signature.
CREATE TABLE previews (
    name         TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    ends         INTEGER NOT NULL,  -- the epoch's end, Unix seconds
    payload      BLOB    NOT NULL,
    decided      INTEGER NOT NULL,
    PRIMARY KEY (name, epoch)
) WITHOUT ROWID;

-- SQLite overwrites what it erases, but leaves copies where a full page was split before.
CREATE TRIGGER erased_report AFTER UPDATE OF envelope ON decisions
WHEN OLD.envelope IS NOT NULL AND NEW.envelope IS NULL
BEGIN UPDATE device SET remains = remains + 1; END;

CREATE TRIGGER erased_key AFTER UPDATE OF key ON memos
WHEN OLD.key IS NOT NULL AND NEW.key IS NULL
BEGIN UPDATE device SET remains = remains + 1; END;

CREATE TRIGGER erased_credential AFTER UPDATE OF credential ON credentials
WHEN OLD.credential IS NOT NULL AND NEW.credential IS NOT OLD.credential
BEGIN UPDATE device SET remains = remains + 1; END;

CREATE TRIGGER erased_preview AFTER DELETE ON previews
BEGIN UPDATE device SET remains = remains + 1; END;

-- What happened to the device besides its reports, for the user to see: the latest few hundred.
CREATE TABLE events (
    number       INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,  -- Unix seconds, by this device's clock
    kind         TEXT    NOT NULL,
    detail       TEXT    NOT NULL
);
