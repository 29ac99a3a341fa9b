"""The public log of what an authority signed: published by its collector, audited by anybody."""
