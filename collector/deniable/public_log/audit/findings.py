"""Findings of an audit: one table of their codes, levels and sentences.

Alerts are proven by signed data, or by data served with it. Warnings are suspicions, which also
have innocent causes.
"""

from collections.abc import Mapping
from typing import Final

from deniable.documents import Caution, Level
from deniable.logs.notes import printable

FINDINGS: Final[Mapping[Level, Mapping[str, str]]] = {
    Level.ALERT: {
        "forged-checkpoint": "The checkpoint does not belong to the log: {reason}. Either the "
        "server cannot sign for the log, or the log's key is not the one trusted here.",
        "forged-cosignature": "A cosignature attributed to the witness {name} does not verify: "
        "it is forged or damaged.",
        "two-faces": "Two faces: the log signed two contradictory histories, one of {first} and "
        "one of {second} entries. Keep and publish the proof.",
        "wrong-root": "The entries served are not those that the signed checkpoint covers.",
        "unsigned": "Entry {index} is not signed by the authority, or is of a kind that it never "
        "signs: {reason}.",
        "strange": "No entry is signed by this authority; is --authority correct?",
        "authority-fork": "The authority's hand-overs do not form a single chain: {reason}. A "
        "key's holder can sign such a hand-over, and so can a thief of the key.",
        "other-authority": "The collector claims that the key {signer} signs now, but the "
        "authority has not handed over to this key.",
        "equivocation": "{name}: two different entries have sequence {sequence}, {first} and "
        "{second}; devices treat this as deception.",
        "former-key": "Entry {index} is new, but signed by the key {signer}, which handed over "
        "in entry {by}: only devices unaware of the hand-over accept it.",
        "unlogged": "The collector offers {offered} that is not in the log: readers of the log "
        "cannot see its content.",
        "wrong-proof": "The proof of {offered} is invalid: {reason}.",
    },
    Level.WARNING: {
        "another-history": "A suspicion: the {first} entries seen elsewhere are not the first "
        "{first} of these {second}. With the log's key, from --policy FILE, this would prove two "
        "faces.",
        "other-origin": "The log calls itself {origin}, but has no survey for a collector of "
        "that name: it may be another collector's log.",
        "smaller": "A suspicion: the log has {size} entries, but had {before} at the last visit. "
        "An old copy, or a log restored from a backup, looks like a log that hides entries. Ask "
        "for the missing entries, then visit again.",
        "incomplete": "A suspicion: the log's entries cannot be read ({reason}): they are hidden "
        "here, or lost. Only its checkpoint was checked.",
        "stale": "A suspicion: the log has {size} entries, but {whose} covers {newest}: the "
        "checkpoint is old, or a newer one is hidden from you.",
        "few-witnesses": "{what}: too few witnesses have seen it yet ({reason}). Apps that pin "
        "this policy refuse it until the operator runs `deniable log cosign`. It is possible "
        "that only you can see it.",
        "gap": "{name}: sequence {after} follows {before} (entry {index}): an entry in between "
        "was not logged, or the entries are out of order.",
        "crowd": "{name}: the same declaration accepts entries {entries}, which {when}: a "
        "device's manifest may identify the device. {acknowledge}",
        "gateway-crowd": "Gateway keys of {origin}: the lists of entries {entries} are all in "
        "use at once: a device's key may identify the device. {acknowledge}",
        "issuer-keys": "Entry {index} lists a blind issuer's keys as no honest publisher would: "
        "`issuer_keys` {reason}. {acknowledge}",
    },
    Level.NOTE: {
        "undated": "Only remembered visits show when manifests appeared, and no visit shows this "
        "for {count} of them: each may have been published within an epoch of the previous one. "
        "Without visits, such manifests are noticed only if more than {running} run now. To "
        "notice later ones too, visit with --remember FILE in each epoch.",
        "acknowledged": "The finding `{which}` at entry {index} was already examined, according "
        "to the file of --acknowledged.",
        "silent-witness": "The witness {name} shows no checkpoint of this log: {reason}.",
        "unproven": "The collector offers {offered} without a proof, although it is in the log: "
        "apps that pin witnesses refuse it.",
        "unpinned-key": "No key of the log is known: whether the log signed its checkpoint was "
        "not checked. The operator's `deniable log policy` prints the key; --policy FILE pins it.",
        "unpinned-authority": "Only the collector itself states which authority this is. Compare "
        "the authority's key with an app's bundle. To pin the key, use --authority, or use "
        "--remember from the next visit on.",
        "unwitnessed": "No witnesses are known: without --policy, this report cannot show "
        "whether others see the same log.",
        "offline": "This is a copy in a directory, and was not compared with what a collector "
        "offers.",
    },
}
"""By level and code: the sentences of findings."""


STATUSES: Final = {Level.NOTE: 0, Level.ALERT: 1, Level.WARNING: 3}
"""The command's exit statuses, by its gravest finding."""

_MARKS: Final = {Level.ALERT: "!! ", Level.WARNING: "? ", Level.NOTE: ""}


class Finding(Caution):
    """A caution whose mark distinguishes a suspicion from a weakness of a survey."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the sentence, marked by its level, for plain text."""
        return f"{_MARKS[self.level]}{self.text}"


def finding(code: str, **parts: object) -> Finding:
    """Return a finding of the table, with its sentence filled in; hidden characters are marked."""
    level = next(level for level, texts in FINDINGS.items() if code in texts)
    texts = {
        key: printable(f"{part:,}" if type(part) is int else str(part))
        for key, part in parts.items()
    }
    return Finding(code, level, FINDINGS[level][code].format_map(texts))
