"""The fixture ``deniable_capture``; pytest finds it if ``deniable[testing]`` is installed.

pytest imports this module whenever it starts, so it imports nothing from the client until a test
uses the fixture. Switch it off with ``-p no:deniable``.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from deniable.fakes import Capture

__all__ = ["deniable_capture"]


@pytest.fixture
def deniable_capture() -> "Iterator[Capture]":
    """Capture the app's reports in memory; fail if deniable tried to connect.

    Yields a ``deniable.fakes.Capture``.
    """
    from deniable.fakes import Capture

    with Capture() as capture:
        yield capture
    try:
        capture.assert_unconnected()
    except AssertionError as error:
        pytest.fail(str(error), pytrace=False)
