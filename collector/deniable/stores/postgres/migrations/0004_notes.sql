-- What an operator says happened, which stands beside the figures of a name.
CREATE TABLE deniable.notes (
    name          text     NOT NULL,  -- of the surveys
    at            bigint   NOT NULL,  -- Unix seconds
    text          text     NOT NULL,
    PRIMARY KEY (name, at, text)
);
