"""The public log of an authority's signatures: published by its collector, audited by anybody."""
