"""The settings file that ``deniable init`` writes: what is decided, and what else there is."""

import json
from collections.abc import Mapping

from deniable.server import SETTINGS, Setting

__all__ = ["settings_file"]

_HEAD = """\
# Settings of a deniable collector; `deniable serve` reads them when it starts.
# docs/operations.md says more, also how environment variables override them.
"""
_MORE = "# What else there is, with what holds if it is left out:"


def settings_file(decided: Mapping[str, object]) -> str:
    """Return the file's text: the decided settings, and the others behind a ``#``."""
    first = [setting for setting in SETTINGS if setting.name in decided]
    others = [setting for setting in SETTINGS if setting.name not in decided]
    return "\n".join(
        [
            _HEAD,
            *(f"# {each.meaning}\n{_line(each, decided[each.name])}\n" for each in first),
            _MORE,
            *(f"# {_line(each, each.default)}  # {each.meaning}" for each in others),
            "",
        ]
    )


def _line(setting: Setting, value: object) -> str:
    # What JSON writes of texts, numbers and lists of them, TOML reads.
    return f"{setting.name} = {json.dumps(value, ensure_ascii=False)}"
