"""The document of an audit: the log's whole history in plain words, and the findings."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from deniable.documents import Column, Document, Fact, Level, Table
from deniable.logs.notes import printable
from deniable.messages import Manifest, Rotation
from deniable.messages.gateway import GatewayKeys
from deniable.presenting.revealed import times_as_likely
from deniable.public_log.audit.checks import Audit
from deniable.public_log.audit.findings import STATUSES
from deniable.public_log.audit.history import History
from deniable.publishing.changes import VOUCHING, changes, every, issuers_of
from deniable.publishing.document import answers_of
from deniable.reading import instant_text, iso_time
from deniable.terms import pure_odds

_MOST_ANSWERS: Final = 8
_COLUMNS: Final = (
    Column("entry", "entry", "name"),
    Column("survey", "survey", "name"),
    Column("text", "content and changes"),
)
_KEY_COLUMNS: Final = (Column("entry", "entry", "name"), Column("text", "keys"))
_SENTENCES: Final = {
    Level.ALERT: "Something is proven to be wrong: see the findings marked !!.",
    Level.WARNING: "Nothing is proven to be wrong; for suspicions, see the findings marked ?.",
    Level.NOTE: "Nothing was found to be wrong",
}
_UNCHECKED: Final = {
    "unpinned-key": "the log's signature",
    "unpinned-authority": "which authority the log belongs to",
    "unwitnessed": "what witnesses saw",
    "offline": "what the collector offers",
    "undated": "when manifests were published",
}
"""Unchecked aspects, by the codes of the findings that report them."""

_LEGEND: Final = (
    "! weakens users' privacy; - is another change; !! is proven to be wrong; ? is a suspicion"
)
_LIMITS: Final = (
    "The root is the hash of all entries. A checkpoint is the signed root and size. A different "
    "root for this size means a different log. Epsilon limits how much a response reveals about an "
    "answer: smaller is more private. The log does not show who was asked, who "
    "answered, or whether apps follow the rules."
)


def audit_document(audit: Audit, now: float) -> Document:
    """Return the document of an audit, with ages as of a time."""
    history = audit.downloaded.history
    surveys = [row for name, named in history.versions.items() for row in _rows(name, named)]
    keys = [*_key_rows(history)]
    return Document(
        facts=[*_facts(audit, now)],
        sentence=_sentence(audit),
        tables=[Table(_COLUMNS, surveys, "surveys"), Table(_KEY_COLUMNS, keys, "keys")],
        notes=[_LIMITS],
        cautions=audit.findings,
        values={"status": STATUSES[audit.worst]},
    )


def _sentence(audit: Audit) -> str:
    """Return the result in a sentence, including unchecked and unprovable aspects."""
    sentence = _SENTENCES[audit.worst]
    codes = {caution.code for caution in audit.findings}
    unchecked = [what for code, what in _UNCHECKED.items() if code in codes]
    if audit.worst is Level.NOTE:
        sentence += ", as far as checked." if unchecked else "."
    return (
        f"{sentence} NOT checked: {', '.join(unchecked)} (see the end of this report)."
        if unchecked
        else sentence
    )


def _facts(audit: Audit, now: float) -> Iterator[Fact]:
    signed, trust = audit.downloaded.checkpoint, audit.trust
    checkpoint = signed.checkpoint
    counted = f"{checkpoint.size:,} {'entry' if checkpoint.size == 1 else 'entries'}"
    origin = printable(checkpoint.origin)
    yield Fact("log", f"{origin}, {counted}", "origin", origin)
    yield Fact("root", checkpoint.root.hex(), "root", checkpoint.root.hex())
    yield Fact(key="size", value=checkpoint.size)
    key = None if trust.log_key is None else str(trust.log_key)
    yield Fact("log's key", key or "", "log_key", key)
    signer = audit.downloaded.history.chain[-1].hex()
    handed = len(audit.downloaded.history.chain) - 1
    after = f", after {handed} hand-over{'s' * (handed > 1)}" * bool(handed)
    yield Fact("authority", f"{signer}{after}", "authority", signer)
    if trust.policy is not None:
        for number, witness in enumerate(trust.policy.witnesses):
            at = audit.cosigned.get(witness.key)
            when = "has not cosigned this checkpoint" if at is None else _ago(at, now)
            yield Fact("" if number else "witnesses", f"{printable(witness.key.name)}: {when}")
    yield Fact(
        key="cosigned",
        value={printable(key.name): iso_time(at) for key, at in audit.cosigned.items()},
    )
    if trust.remembered is not None:
        was = trust.remembered.checkpoint.size
        grown = checkpoint.size - was
        text = f"had {was:,} entries"
        if audit.extends:
            text += f"; all are still there, with {grown:,} more" if grown else "; unchanged since"
        yield Fact("last visit", text, "last_visit", {"size": was, "extended": audit.extends})
    yield Fact("marks", _LEGEND)


def _ago(cosigned_at: int, now: float) -> str:
    days = int(max(0, now - cosigned_at) // 86_400)
    ago = f"{days:,} day{'s' * (days != 1)} ago" if days else "today"
    return f"cosigned {ago}, at {instant_text(cosigned_at)}"


def _rows(name: str, versions: Mapping[int, Manifest]) -> Iterator[Mapping[str, Any]]:
    before: Manifest | None = None
    for index, manifest in versions.items():
        yield {
            "entry": f"{index:,}",
            "survey": f"{name} {manifest.sequence}",
            "text": _version_text(manifest),
        }
        for change in () if before is None else changes(before, manifest):
            caution = Level.WARNING if change.weakens else None
            text = str(change) if change.weakens else f"- {change}"
            yield {"entry": "", "survey": "", "text": text, "caution": caution}
        before = manifest


def _version_text(manifest: Manifest) -> str:
    answers = answers_of(manifest)
    if len(answers) > _MOST_ANSWERS:
        answers = (*answers[: _MOST_ANSWERS - 2], "…", answers[-1])
    enrolment, schedule = manifest.enrolment, manifest.schedule
    vouching = ", ".join([VOUCHING[enrolment.mode], *sorted(issuers_of(enrolment))])
    delta = "" if manifest.delta == "0" else f", delta {manifest.delta}"
    return (
        f"“{manifest.question}” {' / '.join(answers)}; privacy: epsilon {manifest.epsilon}{delta} "
        f"(a response is {times_as_likely(pure_odds(manifest))} with one answer as with another); "
        f"at most once per {every(schedule.epoch_seconds)}, {schedule.epochs:,} time"
        f"{'s' * (schedule.epochs > 1)} in all, {instant_text(schedule.start)} to "
        f"{instant_text(schedule.end)}; {enrolment.mode}: {vouching}"
    )


def _key_rows(history: History) -> Iterator[Mapping[str, Any]]:
    for entry in history.entries:
        if isinstance(message := entry.message, Rotation):
            old, new = message.old_key.hex(), message.new_key.hex()
            text = f"the authority's key {old} handed over to {new}"
        elif isinstance(message, GatewayKeys):
            listed = ", ".join(key.public_key.hex() for key in message.configurations)
            text = f"gateway keys of {message.origin}, sequence {message.sequence}: {listed}"
        else:
            continue
        yield {"entry": f"{entry.index:,}", "text": text}
