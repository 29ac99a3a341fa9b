-- The state of one device. No column ever holds an answer; responses exist only inside signed bytes.

CREATE TABLE device (
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    secret       BLOB    NOT NULL,  -- 32 bytes; every report key derives from it
    mark         TEXT    NOT NULL,  -- repeated in the file beside this one: tells a copy from the original
    generation   INTEGER NOT NULL,  -- decisions and consents ever stored; an old backup has fewer
    ledger_time  INTEGER NOT NULL,  -- the latest instant seen or decided for; never runs backwards (D3)
    fresh_from   INTEGER NOT NULL,  -- epochs that began before it may have been decided by a lost state
    consent      TEXT    NOT NULL CHECK (consent IN ('unset', 'off', 'on')),
    consent_at   INTEGER NOT NULL   -- Unix seconds at which it became so
);

CREATE TABLE manifests (
    authority    BLOB    NOT NULL,  -- whose signature it bears: an app may come to trust another
    survey_id    BLOB    NOT NULL,
    name         TEXT    NOT NULL,
    sequence     INTEGER NOT NULL,
    envelope     BLOB    NOT NULL,  -- the signed bytes, as they came
    role         TEXT    NOT NULL CHECK (role IN (
                     'accepted',      -- may be followed
                     'refused',       -- the newest one seen, kept to notice a rollback
                     'equivocating')), -- a second one of the same sequence: proof against its signer
    reserved     INTEGER NOT NULL,    -- what accepting it reserved, in 1e-9 epsilon; never given back
    PRIMARY KEY (authority, survey_id)
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
    PRIMARY KEY (name, epoch)
) WITHOUT ROWID;
