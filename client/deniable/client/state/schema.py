"""The tables of a device's state, in a module because frozen apps would omit a data file."""

from typing import Final

_SCHEMA: Final = """
-- The state of one device. No column ever holds an answer; responses exist only inside signed
-- bytes.

CREATE TABLE device (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    secret       BLOB    NOT NULL,  -- 32 bytes; every report key derives from it
    -- repeated in the file beside this one: tells a copy from the original
    mark         TEXT    NOT NULL,
    generation   INTEGER NOT NULL,  -- decisions and consents ever stored; an old backup has fewer
    -- the latest instant seen or decided for; never runs backwards (D3)
    ledger_time  INTEGER NOT NULL,
    looked_at    INTEGER NOT NULL,  -- the latest instant seen
    -- seconds of use: a gap between two looks counts for a week at most
    lived        INTEGER NOT NULL,
    -- epochs that began before it may have been decided by a lost state
    fresh_from   INTEGER NOT NULL,
    -- erasures of which unused parts of the file, or its log, may keep copies
    remains      INTEGER NOT NULL,
    -- 1: a copy, or after a restore or a loss; nothing is decided before a collector told the date
    unsure       INTEGER NOT NULL CHECK (unsure IN (0, 1)),
    -- the machine's boot at the latest look and its seconds by then; '' without such a clock
    boot         TEXT    NOT NULL,
    boot_seconds REAL    NOT NULL,
    consent      TEXT    NOT NULL CHECK (consent IN ('unset', 'off', 'on')),
    consent_at   INTEGER NOT NULL,  -- Unix seconds at which it became so
    consent_from TEXT    NOT NULL   -- who said so: what the app passed as origin
);

-- What states of this device that are gone had spent, by time of use.
CREATE TABLE carried (
    lived        INTEGER PRIMARY KEY,  -- as in decisions
    cost         INTEGER NOT NULL      -- 1e-9 epsilon
);

CREATE TABLE manifests (
    -- the first key of the signer's chain: an app may come to trust another
    authority    BLOB    NOT NULL,
    survey_id    BLOB    NOT NULL,
    name         TEXT    NOT NULL,
    sequence     INTEGER NOT NULL,
    envelope     BLOB    NOT NULL,  -- the signed bytes, as they came
    signer       BLOB    NOT NULL,  -- the public key that signed them
    role         TEXT    NOT NULL CHECK (role IN (
                     'accepted',      -- may be followed
                     'replaced',      -- was followed, and something still needs it
                     'refused',       -- the newest one seen, kept to notice a rollback
                     -- a second one of the same sequence: proof against its signer
                     'equivocating')),
    -- its schedule: Unix seconds of the first epoch's start, and how many epochs of what length
    starts       INTEGER NOT NULL,
    epoch_seconds INTEGER NOT NULL,
    epochs       INTEGER NOT NULL,
    range_epochs INTEGER NOT NULL,    -- how many epochs share a kept response; 1 if none does
    range_cost   INTEGER NOT NULL,    -- of such a range at most, in 1e-9 epsilon
    reserved     INTEGER NOT NULL,    -- what all its epochs cost when it was accepted
    seen         INTEGER NOT NULL,    -- Unix seconds at which it first came
    reason       TEXT    NOT NULL,    -- which rule it broke; empty if accepted
    -- the log's, that an app's pinned witnesses saw the signed bytes; empty without such a pin
    proof        BLOB    NOT NULL DEFAULT x'',
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
    proof        BLOB    NOT NULL DEFAULT x'',  -- as in manifests
    PRIMARY KEY (old_key, new_key, sequence)
) WITHOUT ROWID;

-- The newest gateway keys that were fetched.
CREATE TABLE gateway_keys (
    origin       TEXT    PRIMARY KEY,  -- the collector that opens what is sealed for them
    envelope     BLOB    NOT NULL,     -- the signed bytes, as they came
    proof        BLOB    NOT NULL DEFAULT x''  -- as in manifests
) WITHOUT ROWID;

CREATE TABLE decisions (
    name         TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    -- the collector that the report is for, and the only one to get it
    origin       TEXT    NOT NULL,
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
    held         REAL    NOT NULL,  -- not before: the collector asked so, or a day must pass
    -- of a blind survey's report, which leaves in the second half of its own epoch or never
    opens        REAL    NOT NULL DEFAULT 0,      -- not before, whoever flushes
    until        REAL    NOT NULL DEFAULT 9e999,  -- from then on never
    decided      INTEGER NOT NULL,  -- Unix seconds, by this device's clock; once settled, its day
    settled      INTEGER,           -- the day on which it was delivered or dropped
    -- device.lived when it was decided: what ceilings and caps go by
    lived        INTEGER NOT NULL,
    -- 1: decided under a relay, and never sent without one (D13)
    relayed      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, epoch)
) WITHOUT ROWID;

CREATE INDEX spent ON decisions (lived, cost);
-- What is settled keeps its day, not its second (D9). The ceilings go by "lived", which stays.
CREATE TRIGGER settled_decision AFTER UPDATE OF status ON decisions WHEN NEW.status != 'pending'
BEGIN
    UPDATE decisions SET decided = decided / 86400 * 86400, settled = settled / 86400 * 86400,
        due = CAST(due AS INTEGER) / 86400 * 86400, held = CAST(held AS INTEGER) / 86400 * 86400
    WHERE name = NEW.name AND epoch = NEW.epoch;
END;

CREATE INDEX waiting ON decisions (due) WHERE status = 'pending';

-- What was spent, added up as it is decided: no report reads all decisions before it.
CREATE TABLE spending_by_day (
    -- as in decisions; days that grow old are merged with later ones, as for the mark
    lived        INTEGER PRIMARY KEY,
    cost         INTEGER NOT NULL      -- 1e-9 epsilon
) WITHOUT ROWID;

CREATE TABLE spending_by_name (
    name         TEXT    PRIMARY KEY,
    cost         INTEGER NOT NULL      -- 1e-9 epsilon
) WITHOUT ROWID;

CREATE TRIGGER spent_decision AFTER INSERT ON decisions
BEGIN
    INSERT INTO spending_by_day VALUES (NEW.lived, NEW.cost)
        ON CONFLICT (lived) DO UPDATE SET cost = cost + excluded.cost;
    INSERT INTO spending_by_name VALUES (NEW.name, NEW.cost)
        ON CONFLICT (name) DO UPDATE SET cost = cost + excluded.cost;
END;

-- Memoised surveys: a key of its own for each range of epochs, erased when the range ends. Whoever
-- holds a live key and the range's responses learns the answers.
CREATE TABLE memos (
    name         TEXT    NOT NULL,
    survey_id    BLOB    NOT NULL,
    first        INTEGER NOT NULL,  -- the range's first epoch
    ends         INTEGER NOT NULL,  -- the range's end, Unix seconds
    -- 32 random bytes; NULL once erased, and the range is over for this device
    key          BLOB,
    reports      INTEGER NOT NULL,  -- decided under this key
    PRIMARY KEY (name, survey_id, first)
) WITHOUT ROWID;

CREATE INDEX live_memos ON memos (ends) WHERE key IS NOT NULL;

-- Surveys for whose devices an issuer vouches: one row for each key of this device that was wanted
-- to be vouched for. The key itself derives from the secret.
CREATE TABLE credentials (
    name         TEXT    NOT NULL,
    survey_id    BLOB    NOT NULL,
    epoch        INTEGER NOT NULL,
    -- when the collector takes the epoch's reports no more, Unix seconds
    closes       INTEGER NOT NULL,
    -- an issuer's certificate of 64 bytes or token of 256; NULL before it came, and once erased
    credential   BLOB,
    issuer       BLOB,              -- the public key of who gave the latest
    asks         INTEGER NOT NULL,  -- calls of the app's callback so far
    due          REAL    NOT NULL,  -- when to ask next, Unix seconds
    -- 0: none was refused; 1: the collector refused it, another is wanted; 2: was given or
    -- declined
    renewal      INTEGER NOT NULL,
    wanted       INTEGER NOT NULL,  -- Unix seconds at which it was first wanted
    blind        INTEGER NOT NULL DEFAULT 0,  -- 1: a token is wanted
    -- the epoch's end, Unix seconds: before it, none is asked under another manifest of the name
    ends         INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, survey_id, epoch)
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

-- When manifests may be asked for, kept across starts (D10). Each declaration of a survey has times
-- of its own: two versions of an app may share a state.
CREATE TABLE refreshes (
    origin       TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    declared     TEXT    NOT NULL,  -- a digest of what the app declared
    due          REAL    NOT NULL,  -- not asked again before, Unix seconds
    failures     INTEGER NOT NULL,  -- in a row; -1 before the first request
    day          INTEGER NOT NULL,  -- the Unix day that the requests are counted of
    requests     INTEGER NOT NULL,  -- of that day
    PRIMARY KEY (origin, name, declared)
) WITHOUT ROWID;

-- What is left of the running time for which waits what was overdue at a start (D7).
CREATE TABLE launches (
    origin       TEXT    PRIMARY KEY,
    left_ms      INTEGER NOT NULL
) WITHOUT ROWID;

-- What consent "on" was given for (D12): of several declarations, beside each other.
CREATE TABLE consents (
    survey       TEXT    NOT NULL,  -- its name
    -- a digest of what must not differ; 'refused': the user said no to this name
    declared     TEXT    NOT NULL,
    bounds       TEXT    NOT NULL,  -- numbers, none of which may rise
    PRIMARY KEY (survey, declared, bounds)
) WITHOUT ROWID;

CREATE TRIGGER ended_consents AFTER UPDATE OF consent ON device WHEN NEW.consent != 'on'
BEGIN DELETE FROM consents WHERE declared != 'refused'; END;

-- What happened to the device besides its reports, for the user to see: the latest few hundred.
CREATE TABLE events (
    number       INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,  -- Unix seconds, by this device's clock
    kind         TEXT    NOT NULL,
    detail       TEXT    NOT NULL
);
"""

MIGRATIONS: Final = (_SCHEMA,)
"""Scripts, each of which brings a state to the next version of the schema."""
