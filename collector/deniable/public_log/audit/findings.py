"""Findings of an audit: one table of their codes, levels and sentences.

Alerts are proven by signed data, or by data served with it. Warnings are suspicions: they have
innocent causes, too.
"""

from collections.abc import Mapping
from typing import Final

from deniable.documents import Caution, Level

FINDINGS: Final[Mapping[str, tuple[Level, str]]] = {
    "forged-checkpoint": (
        Level.ALERT,
        "The checkpoint is not the log's: {reason}. Its server cannot sign for the log, or "
        "the log's key is not the one trusted here.",
    ),
    "forged-cosignature": (
        Level.ALERT,
        "A cosignature in the name of the witness {name} does not verify: it is forged or damaged.",
    ),
    "two-faces": (
        Level.ALERT,
        "Two faces: the log signed two histories that cannot both be its own, one of {first} and "
        "one of {second} entries. Both checkpoints are below; keep them, and show them.",
    ),
    "wrong-root": (
        Level.ALERT,
        "The entries that are served are not those that the checkpoint was signed over.",
    ),
    "tampered": (
        Level.ALERT,
        "{path} disagrees with the log's other files: {reason}.",
    ),
    "unsigned": (
        Level.ALERT,
        "Entry {index} is not signed by the authority, or is nothing that it signs: {reason}.",
    ),
    "strange": (
        Level.ALERT,
        "No entry is signed by this authority; is --authority the right one?",
    ),
    "authority-fork": (
        Level.ALERT,
        "The authority's hand-overs do not form one chain: {reason}. A thief of a key can sign "
        "such "
        "a hand-over, and so can its holder.",
    ),
    "other-authority": (
        Level.ALERT,
        "The collector says that the key {signer} signs now, but the authority has not handed over "
        "to it.",
    ),
    "equivocation": (
        Level.ALERT,
        "{name}: sequence {sequence} stands for two things, entries {first} and {second}; devices "
        "treat this as deceit.",
    ),
    "former-key": (
        Level.ALERT,
        "Entry {index} is new, but signed by the key {signer}, which had handed over in entry "
        "{by}: only devices that do not know of that accept it.",
    ),
    "unlogged": (
        Level.ALERT,
        "There is {offered} that is not in the log: what it asks is hidden here.",
    ),
    "wrong-proof": (
        Level.ALERT,
        "The proof beside {offered} is invalid: {reason}.",
    ),
    "another-history": (
        Level.WARNING,
        "A suspicion: the {first} entries seen elsewhere are not the first of these {second}. "
        "Under "
        "the log's key (--log-key, --policy) this would be proof of two faces.",
    ),
    "smaller": (
        Level.WARNING,
        "A suspicion: the log's size is {size}, and was {before} at the last visit. An old copy, "
        "or a log restored from a backup, looks the same as one that hides entries; ask for the "
        "missing ones, and look again.",
    ),
    "incomplete": (
        Level.WARNING,
        "A suspicion: {path} cannot be read ({reason}): what it holds is hidden here, or lost. "
        "That "
        "alone proves nothing.",
    ),
    "stale": (
        Level.WARNING,
        "A suspicion: the log's size is {size}, but {whose} is of {newest}: its checkpoint is "
        "old, or a newer one is kept from you.",
    ),
    "few-witnesses": (
        Level.WARNING,
        "{what}: too few witnesses have seen it yet ({reason}). Apps that pin this policy refuse "
        "it until the operator runs `deniable log cosign`. It may be shown to you alone.",
    ),
    "early-cosignature": (
        Level.NOTE,
        "The witness {name} cosigned at {when}, which is in the future: a clock is wrong.",
    ),
    "gap": (
        Level.WARNING,
        "{name}: sequence {after} follows {before} (entry {index}): one between them was never "
        "logged, or they are out of order.",
    ),
    "crowd": (
        Level.WARNING,
        "{name}: one declaration accepts entries {entries}, which overlap and were published "
        "{when}: a device's manifest may show which device it is. {acknowledge}",
    ),
    "gateway-crowd": (
        Level.WARNING,
        "Gateway keys of {origin}: the lists of entries {entries} are all in use at once: a "
        "device's key may show which device it is. {acknowledge}",
    ),
    "issuer-keys": (
        Level.WARNING,
        "Entry {index} lists keys of a blind issuer as no honest publisher would: `issuer_keys` "
        "{reason}. {acknowledge}",
    ),
    "undated": (
        Level.NOTE,
        "Only remembered visits show when manifests came, and no visit dates {count} of them: they "
        "may have been published within an epoch of the one before. Without a visit, only more "
        "than {running} running at once are noticed, now or in the last {epochs} epochs of each. "
        "With --remember FILE in each epoch, later ones are noticed too.",
    ),
    "uncompared": (
        Level.NOTE,
        "{keys} keys of blind issuers were not searched for common factors: only the first "
        "{compared} were.",
    ),
    "acknowledged": (
        Level.NOTE,
        "The finding `{which}` at entry {index} was examined, as --acknowledged says.",
    ),
    "other-origin": (
        Level.WARNING,
        "The log calls itself {origin}, and has no survey for a collector of that name: it may be "
        "another's.",
    ),
    "false-witness": (
        Level.NOTE,
        "The witness {name} shows a checkpoint that is not the log's ({reason}): this concerns the "
        "witness, not the log.",
    ),
    "silent-witness": (
        Level.NOTE,
        "The witness {name} could not be asked: {reason}.",
    ),
    "unproven": (
        Level.NOTE,
        "There is no proof beside {offered}, which is in the log: apps that pin witnesses refuse "
        "it.",
    ),
    "unpinned-key": (
        Level.NOTE,
        "No key of the log is known: whether the log signed its checkpoint was not checked. The "
        "operator's `deniable log policy` prints it; --policy FILE or --log-key KEY pins it.",
    ),
    "unpinned-authority": (
        Level.NOTE,
        "The authority is the one that the collector itself names. Compare its key with an app's "
        "bundle; --authority pins it; so does --remember, from the next visit on.",
    ),
    "unwitnessed": (
        Level.NOTE,
        "No witness is named: without --policy nothing shows whether others see the same log.",
    ),
    "offline": (
        Level.NOTE,
        "This is a copy in a directory: what a collector offers beside it was not checked.",
    ),
}
"""By code: the level of a finding, and its sentence."""


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
    level, text = FINDINGS[code]
    return Finding(code, level, text.format_map({key: plain(part) for key, part in parts.items()}))


def plain(part: object) -> str:
    """Return untrusted text in printable form: in one line, without hidden characters."""
    text = f"{part:,}" if type(part) is int else str(part)
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
