-- What an operator says happened, which stands beside the figures of a name.
CREATE TABLE notes (
    name          TEXT    NOT NULL,              -- of the surveys
    at            INTEGER NOT NULL,              -- Unix seconds
    text          TEXT    NOT NULL,
    PRIMARY KEY (name, at, text)
) WITHOUT ROWID;
