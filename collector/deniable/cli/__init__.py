"""The commands of ``deniable``: parsed, called and printed here."""
