"""The device's durable state: one SQLite file, its mark, and how both survive forks and losses."""
