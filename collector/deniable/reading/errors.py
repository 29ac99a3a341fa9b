"""Why figures could not be read; each says what to do.

- ``ReadingError``: any of them.
- ``NoSuchSurvey``: no survey has this name, or no id of its begins so.
- ``AmbiguousSurvey``: several ids begin so.
- ``TooFewReports``: nothing is shown yet of what was asked for.
- ``NotReached``: the collector did not answer, or not as a collector does; later may help.
- ``NotThere``: likewise, and there is nothing at that address.
- ``NotAllowed``: the token does not do.
- ``Refused``: the collector answers, and refuses; ``code`` is the problem's.
- ``Untrusted``: what came is not what the pinned authority signed, or a seal vouches for.
"""


class ReadingError(Exception):
    """Figures could not be read."""


class NoSuchSurvey(ReadingError, LookupError):
    """No survey has this name, or no id of its begins so."""


class AmbiguousSurvey(ReadingError, LookupError):
    """Several surveys of the name have ids that begin so."""


class NotReached(ReadingError):
    """The collector did not answer in time, or not as a collector does."""


class NotThere(NotReached):
    """Nothing is at that address, and who answered is no collector, or has no such file."""


class NotAllowed(ReadingError):
    """The collector wants a token, or one with another role."""


class Refused(ReadingError):
    """The collector refuses what was asked, with the code of a problem, which may be None."""

    def __init__(self, message: str, code: str | None) -> None:
        super().__init__(message)
        self.code = code


class Untrusted(ReadingError):
    """An answer is not what the authority signed, or not what a seal vouches for."""


class TooFewReports(ReadingError):
    """No figures are shown yet of what was asked for."""
