"""Bars of a histogram, as all documents have them."""

from deniable.documents.bars import NOWHERE as NOWHERE
from deniable.documents.bars import bar as bar
