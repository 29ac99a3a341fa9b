"""``deniable doctor``: what is wrong with a collector, and what to do about it."""
