-- The public log: what the authority signed, in the order of publishing, and its newest checkpoints.
CREATE TABLE deniable.log_entries (
    position      bigint   PRIMARY KEY,  -- from 0 on, without gaps
    entry         bytea    NOT NULL      -- a manifest's envelope, a rotation's or gateway keys'
);

CREATE TABLE deniable.log_checkpoints (
    role          text     PRIMARY KEY CHECK (role IN ('newest', 'witnessed')),
    checkpoint    text     NOT NULL      -- a signed note; `witnessed`: by a quorum of witnesses
);
