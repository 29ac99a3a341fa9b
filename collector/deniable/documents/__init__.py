"""Results as documents: what every surface shows of a result, whatever it is about."""

from deniable.documents.caution import CAUTION as CAUTION
from deniable.documents.caution import Caution as Caution
from deniable.documents.caution import Level as Level
from deniable.documents.caution import Rule as Rule
from deniable.documents.caution import cautions_of as cautions_of
