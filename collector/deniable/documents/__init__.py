"""Results as documents: the content that every surface shows, for any result."""

from deniable.documents.document import Caution as Caution
from deniable.documents.document import Column as Column
from deniable.documents.document import ColumnKind as ColumnKind
from deniable.documents.document import Document as Document
from deniable.documents.document import Fact as Fact
from deniable.documents.document import Level as Level
from deniable.documents.document import Rule as Rule
from deniable.documents.document import Table as Table
from deniable.documents.document import bound_text as bound_text
from deniable.documents.document import caution_codes as caution_codes
from deniable.documents.document import caution_maps as caution_maps
from deniable.documents.document import cautions_of as cautions_of
from deniable.documents.document import decimals as decimals
from deniable.documents.document import level_text as level_text
from deniable.documents.document import number_text as number_text
from deniable.documents.document import read_number as read_number
from deniable.documents.document import upper_text as upper_text
from deniable.documents.document import with_cautions as with_cautions
from deniable.documents.document import with_minus as with_minus
