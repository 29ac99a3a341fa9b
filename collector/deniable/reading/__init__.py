"""Reading: what a collector shows of its surveys, from its store or its URL, by one contract.

It needs no numpy: estimates are made of it (:mod:`deniable.estimates`).
"""

from typing import TYPE_CHECKING

from deniable.mechanisms.on_demand import on_demand
from deniable.reading.asking import EPOCHS as EPOCHS
from deniable.reading.asking import ID_PREFIX as ID_PREFIX
from deniable.reading.asking import LINE_EPOCHS as LINE_EPOCHS
from deniable.reading.asking import MOST_ROWS as MOST_ROWS
from deniable.reading.asking import OLDER as OLDER
from deniable.reading.asking import PREVIOUS as PREVIOUS
from deniable.reading.asking import VIEWS as VIEWS
from deniable.reading.asking import appear_text as appear_text
from deniable.reading.asking import asked_alike as asked_alike
from deniable.reading.asking import epoch_before as epoch_before
from deniable.reading.asking import epoch_range as epoch_range
from deniable.reading.asking import find_against as find_against
from deniable.reading.asking import find_version as find_version
from deniable.reading.asking import named_epochs as named_epochs
from deniable.reading.asking import newest_closed_of as newest_closed_of
from deniable.reading.epochs import EpochStanding as EpochStanding
from deniable.reading.epochs import EpochState as EpochState
from deniable.reading.epochs import duration_text as duration_text
from deniable.reading.epochs import epoch_standing as epoch_standing
from deniable.reading.epochs import instant_text as instant_text
from deniable.reading.epochs import iso_time as iso_time
from deniable.reading.errors import AmbiguousSurvey as AmbiguousSurvey
from deniable.reading.errors import NoSuchSurvey as NoSuchSurvey
from deniable.reading.errors import NotAllowed as NotAllowed
from deniable.reading.errors import NotReached as NotReached
from deniable.reading.errors import NotThere as NotThere
from deniable.reading.errors import ReadingError as ReadingError
from deniable.reading.errors import Refused as Refused
from deniable.reading.errors import TooFewReports as TooFewReports
from deniable.reading.errors import Untrusted as Untrusted
from deniable.reading.notes import NOTES_SCHEMA as NOTES_SCHEMA
from deniable.reading.notes import note_maps as note_maps
from deniable.reading.notes import notes_document as notes_document
from deniable.reading.source import EpochCounts as EpochCounts
from deniable.reading.source import ListedEpoch as ListedEpoch
from deniable.reading.source import Source as Source
from deniable.reading.source import added_up as added_up

if TYPE_CHECKING:
    from deniable.reading.http_source import HttpSource as HttpSource
    from deniable.reading.http_source import pinned as pinned
else:  # who reads a store needs no HTTP client
    __getattr__ = on_demand(__name__, {"HttpSource": "http_source", "pinned": "http_source"})
