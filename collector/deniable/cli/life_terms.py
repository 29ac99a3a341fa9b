"""Epochs of a histogram, as all documents name them."""

from deniable.reading.epochs import epochs_named as epochs_named
