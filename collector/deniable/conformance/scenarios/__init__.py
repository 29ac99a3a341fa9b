"""The scenarios by topic; importing a room enlists those that are in it."""

from deniable.conformance.scenarios import answers as answers
from deniable.conformance.scenarios import blind as blind
from deniable.conformance.scenarios import decisions as decisions
from deniable.conformance.scenarios import launches as launches
from deniable.conformance.scenarios import manifests as manifests
from deniable.conformance.scenarios import noise as noise
from deniable.conformance.scenarios import states as states
from deniable.conformance.scenarios import third_parties as third_parties
