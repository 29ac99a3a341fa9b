"""The scenarios by topic; importing a module registers its scenarios."""

from deniable.conformance.scenarios import decisions as decisions
from deniable.conformance.scenarios import manifests as manifests
from deniable.conformance.scenarios import noise as noise
from deniable.conformance.scenarios import requests as requests
