-- What a witness has seen. Losing it, or putting an older copy back, means to forget: then it
-- could cosign a second history.

CREATE TABLE witness (
    vkey       TEXT PRIMARY KEY    -- the one row: name and public key, those of the key file
);

CREATE TABLE logs (
    vkey       TEXT PRIMARY KEY,   -- a key of a log that is watched; its name is the origin
    origin     TEXT NOT NULL
);

CREATE TABLE newest (
    origin     TEXT PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,  -- SHA-256 of the origin, by which monitors ask
    checkpoint TEXT NOT NULL          -- the one cosigned last, with the log's signature and ours
);
