"""Results as documents: what every surface shows of a result, whatever it is about."""

from deniable.documents.caution import CAUTION as CAUTION
from deniable.documents.caution import Caution as Caution
from deniable.documents.caution import Level as Level
from deniable.documents.caution import Rule as Rule
from deniable.documents.caution import caution_codes as caution_codes
from deniable.documents.caution import caution_maps as caution_maps
from deniable.documents.caution import cautions_of as cautions_of
from deniable.documents.document import NOWHERE as NOWHERE
from deniable.documents.document import Column as Column
from deniable.documents.document import ColumnKind as ColumnKind
from deniable.documents.document import Document as Document
from deniable.documents.document import Fact as Fact
from deniable.documents.document import Table as Table
from deniable.documents.document import decimals as decimals
from deniable.documents.document import level_text as level_text
from deniable.documents.document import number_text as number_text
