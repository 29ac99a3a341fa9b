"""``python -m deniable.cli``."""

from deniable.command import main

main()
