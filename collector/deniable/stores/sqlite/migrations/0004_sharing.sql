-- Links to one survey's figures, which are tokens with an end, and which surveys anyone may read.
ALTER TABLE tokens RENAME TO tokens_3;
CREATE TABLE tokens (
    digest        BLOB    NOT NULL PRIMARY KEY,  -- SHA-256; the token itself is shown once
    role          TEXT    NOT NULL CHECK (role IN ('reader', 'analyst', 'operator')),
    label         TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,              -- Unix seconds; 0 if version 1 made it
    survey        TEXT,                          -- the name of the only one that it is for; NULL: of all
    ends_at       INTEGER,                       -- Unix seconds from which on it opens nothing; NULL: never
    CHECK ((role = 'reader') = (survey IS NOT NULL) AND (role = 'reader') = (ends_at IS NOT NULL))
) WITHOUT ROWID;
INSERT INTO tokens SELECT digest, role, label, created_at, NULL, NULL FROM tokens_3;
DROP TABLE tokens_3;

-- What was decided while collectors ran; of a name without a row, the setting `public` tells.
CREATE TABLE openings (
    name          TEXT    NOT NULL PRIMARY KEY,
    public        INTEGER NOT NULL CHECK (public IN (0, 1))
) WITHOUT ROWID;
