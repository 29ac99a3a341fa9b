-- What holds of the store as a whole, in one row.
CREATE TABLE state (
    state         INTEGER PRIMARY KEY CHECK (state = 0),
    touched       INTEGER NOT NULL,         -- 0 or 1: flipped where a durable write is needed, and no more
    moved_to      TEXT,                     -- where the store was moved to; NULL while it takes reports
    backed_up_at  INTEGER                   -- Unix seconds of the last backup, or NULL
);
INSERT INTO state VALUES (0, 0, NULL, NULL);
