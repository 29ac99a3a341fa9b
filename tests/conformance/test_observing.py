"""The way in which the tester looks for bytes on disk."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable

import pytest

from deniable.conformance.stage import written_forms

NEEDLE = bytes(range(200, 232))


@pytest.mark.parametrize("before", range(4))
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize(
    "write",
    [
        bytes,
        lambda data: data.hex().encode(),
        b64encode,
        urlsafe_b64encode,
        lambda data: json.dumps([*data]).encode(),
    ],
)
def test_bytes_are_seen_in_whatever_form_they_stand(
    write: Callable[[bytes], bytes], before: int, after: int
) -> None:
    content = write(bytes(before) + NEEDLE + bytes(after))
    assert any(form in content for form in written_forms(NEEDLE))
    other = write(bytes(before) + NEEDLE[::-1] + bytes(after))
    assert not any(form in other for form in written_forms(NEEDLE))
