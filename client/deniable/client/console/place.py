"""The place of a device command: its collector, and its state file."""

import argparse
import hashlib
import os
import tomllib
from pathlib import Path


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a collector, and this device's state file."""
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path(os.environ.get("DENIABLE_DIR", ".")),
        help="a collector's directory on this machine, to read its origin and authority from "
        "(default: $DENIABLE_DIR, else the current one)",
    )
    parser.add_argument("--collector", help="the collector's origin, instead of --dir")
    parser.add_argument("--authority", help="its authority's public key in hex, instead of --dir")
    parser.add_argument(
        "--state",
        type=Path,
        help="this device's state file (default: one per collector in the user's state folder)",
    )


def collector_of(options: argparse.Namespace) -> tuple[str, str]:
    """Return the collector's origin and its authority's public key in hex.

    Raises:
        ValueError: if neither the options nor the directory name them.
    """
    if options.collector and options.authority:
        return str(options.collector), str(options.authority)
    file = options.dir / "collector.toml"
    try:
        settings = tomllib.loads(file.read_text("utf-8"))
        origin, authority = str(settings["origin"]), str(settings["authority"])
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(
            f"no collector in {options.dir}; give --dir, or --collector and --authority"
        ) from error
    return options.collector or origin, options.authority or authority


def state_file(options: argparse.Namespace, collector: str, authority: str) -> Path:
    """Return the state file, by default one of its own for each collector and authority.

    Consent is given to one.
    """
    if options.state:
        return Path(options.state)
    try:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:
        raise ValueError("this user has no home directory; give --state FILE") from None
    of = hashlib.sha256(f"{collector} {authority}".encode()).hexdigest()[:12]
    return Path(base) / "deniable" / f"device-{of}.sqlite"
