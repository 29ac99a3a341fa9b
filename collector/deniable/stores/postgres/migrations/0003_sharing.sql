-- Links to one survey's figures, which are tokens with an end, and which surveys anyone may read.
ALTER TABLE deniable.tokens
    ADD COLUMN survey   text,    -- the name of the only one that it is for; NULL: of all
    ADD COLUMN ends_at  bigint,  -- Unix seconds from which on it opens nothing; NULL: never
    DROP CONSTRAINT tokens_role_check,
    ADD CHECK (role IN ('reader', 'analyst', 'operator')),
    ADD CHECK ((role = 'reader') = (survey IS NOT NULL) AND (role = 'reader') = (ends_at IS NOT NULL));

-- What was decided while collectors ran; of a name without a row, the setting `public` tells.
CREATE TABLE deniable.openings (
    name          text     PRIMARY KEY,
    public        integer  NOT NULL CHECK (public IN (0, 1))
);
