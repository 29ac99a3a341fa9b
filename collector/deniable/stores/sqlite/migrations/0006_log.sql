-- The public log: what the authority signed, in the order of publishing, and its newest checkpoints.
CREATE TABLE log_entries (
    position      INTEGER PRIMARY KEY,           -- from 0 on, without gaps
    entry         BLOB    NOT NULL               -- a manifest's envelope, a rotation's or gateway keys'
);

CREATE TABLE log_checkpoints (
    role          TEXT    NOT NULL PRIMARY KEY CHECK (role IN ('newest', 'witnessed')),
    checkpoint    TEXT    NOT NULL               -- a signed note; `witnessed`: by a quorum of witnesses
) WITHOUT ROWID;
