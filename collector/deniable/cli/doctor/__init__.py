"""``deniable doctor``: what is wrong with a collector, and what to do about it."""

from deniable.cli.doctor.command import doctor

__all__ = ["doctor"]
