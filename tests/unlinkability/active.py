"""Parties that do more than write down: they leave unanswered what they choose."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from deniable.counterparts.bodies import split_upload
from deniable.messages import SignedReport
from deniable.oblivious_http import PrivateKey
from deniable.server.sealed_requests import decode_request, open_request

UNANSWERED: Final = b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"
"""No answer that a device recognises: as from a network that is down."""

_HEAD: Final = b"\r\n\r\n"


@dataclass(frozen=True)
class Active:
    """What is chosen, by what the party sees; nothing of honest ones."""

    reports: Callable[[SignedReport], bool] = lambda _report: False
    requests: Callable[[str, int], bool] = lambda _account, _tries: False  # of an account, before

    def collector(self, keys: Mapping[int, PrivateKey]) -> Callable[[bytes], bool]:
        """Return what chooses among the requests that the collector gets."""

        def chosen(request: bytes) -> bool:
            message, _ = open_request(keys, request.partition(_HEAD)[2])
            opened = decode_request(message)
            if opened.method != "POST":
                return False
            return self.reports(SignedReport.from_envelope(next(iter(split_upload(opened.body)))))

        return chosen

    def issuer(self) -> Callable[[bytes], bool]:
        """Return what chooses among the requests that the issuer gets."""
        tries: Counter[bytes] = Counter()

        def chosen(request: bytes) -> bool:
            account = request.partition(b"Authorization: ")[2].split(b"\r", 1)[0]
            asked = account + request.split(maxsplit=2)[1]
            tries[asked] += 1
            return self.requests(account.decode(), tries[asked] - 1)

        return chosen


HONEST: Final = Active()

EVERY_SECOND: Final = Active(reports=lambda signed: signed.public_key[0] % 2 == 1)
"""A collector that leaves half of the reports unanswered, for as long as they come."""

SLOW: Final = Active(requests=lambda account, tries: account[-1] in "13579" and tries < 2)
"""An issuer that half of the accounts have to ask three times."""
