"""Reading: a collector's published data, from its store or its URL, with one contract.

This package needs no numpy; :mod:`deniable.estimates` computes estimates from the data.
"""

from typing import TYPE_CHECKING

from deniable.mechanisms import on_demand
from deniable.reading.epochs import CANNOT_BE_ASKED as CANNOT_BE_ASKED
from deniable.reading.epochs import EpochStanding as EpochStanding
from deniable.reading.epochs import EpochState as EpochState
from deniable.reading.epochs import Pace as Pace
from deniable.reading.epochs import Step as Step
from deniable.reading.epochs import date_text as date_text
from deniable.reading.epochs import duration_text as duration_text
from deniable.reading.epochs import epoch_range as epoch_range
from deniable.reading.epochs import epoch_standing as epoch_standing
from deniable.reading.epochs import instant_text as instant_text
from deniable.reading.epochs import iso_time as iso_time
from deniable.reading.source import ACROSS as ACROSS
from deniable.reading.source import LINE_EPOCHS as LINE_EPOCHS
from deniable.reading.source import MOST_ROWS as MOST_ROWS
from deniable.reading.source import OLDER as OLDER
from deniable.reading.source import PREVIOUS as PREVIOUS
from deniable.reading.source import VIEWS as VIEWS
from deniable.reading.source import AmbiguousSurvey as AmbiguousSurvey
from deniable.reading.source import EpochCounts as EpochCounts
from deniable.reading.source import ListedEpoch as ListedEpoch
from deniable.reading.source import NoSuchSurvey as NoSuchSurvey
from deniable.reading.source import NotAllowed as NotAllowed
from deniable.reading.source import NotReached as NotReached
from deniable.reading.source import NotThere as NotThere
from deniable.reading.source import ReadingError as ReadingError
from deniable.reading.source import Refused as Refused
from deniable.reading.source import Source as Source
from deniable.reading.source import TooFewReports as TooFewReports
from deniable.reading.source import Untrusted as Untrusted
from deniable.reading.source import added_up as added_up
from deniable.reading.source import alone as alone
from deniable.reading.source import appear_text as appear_text
from deniable.reading.source import asked_alike as asked_alike
from deniable.reading.source import by_reports as by_reports
from deniable.reading.source import epochs_before as epochs_before
from deniable.reading.source import epochs_beside as epochs_beside
from deniable.reading.source import find_against as find_against
from deniable.reading.source import find_note as find_note
from deniable.reading.source import find_version as find_version
from deniable.reading.source import named_epochs as named_epochs
from deniable.reading.source import newest_over as newest_over
from deniable.reading.source import nothing_before as nothing_before
from deniable.reading.source import sides_across as sides_across
from deniable.reading.source import without_figures as without_figures

if TYPE_CHECKING:
    from deniable.reading.http_source import HttpSource as HttpSource
    from deniable.reading.http_source import pinned as pinned
else:  # reading a store needs no HTTP client
    __getattr__ = on_demand(__name__, {"HttpSource": "http_source", "pinned": "http_source"})
