-- What an issuer has issued, as far as it must know: no account, no key, no order, no time.

CREATE TABLE issuances (
    slot   BLOB    PRIMARY KEY,  -- keyed digest of account, survey name and epoch
    holder BLOB    NOT NULL,     -- keyed digest of survey id and public key: first write wins
    over   INTEGER NOT NULL      -- Unix seconds from which nothing is issued for the epoch any more
) WITHOUT ROWID;

CREATE INDEX ended ON issuances (over);

-- Ends whose slots are erased: they cannot be claimed again, even if a clock is put back.
CREATE TABLE forgotten (
    over   INTEGER PRIMARY KEY
);
