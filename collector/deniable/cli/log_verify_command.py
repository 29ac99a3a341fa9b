"""``deniable log verify``: an audit of a public log, for anybody."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from deniable.cli.options import a_file, json_option
from deniable.cli.root import FindingCommand
from deniable.cli.screen import show_prose
from deniable.logs import LogPolicy, SignedCheckpoint, TransparencyLogError, VerifierKey
from deniable.messages import Refusal, check_public_key
from deniable.messages.bundle import Bundle, read_bundle
from deniable.reading import pinned


class _Verifying(FindingCommand):
    usage_status = 2


@click.command(cls=_Verifying)
@click.argument("place", metavar="URL")
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Policy that an app pins: a file with the log and its witnesses.",
)
@click.option(
    "--authority",
    metavar="KEY",
    help="Authority key for checking signatures: 64 hex digits, or a file from `survey export`.",
)
@click.option(
    "--remember",
    type=a_file,
    help="File with the previous visit, which is compared with this visit and then updated.",
)
@click.option(
    "--acknowledged",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File that lists, one per line, the leaves whose findings you have examined.",
)
@json_option
def verify(
    place: str,
    policy: Path | None,
    authority: str | None,
    remember: Path | None,
    acknowledged: Path | None,
    as_json: bool,
) -> None:
    """Show every question of the collector at URL, and check that none was hidden or removed.

    Instead of a URL, you can give a directory that `deniable log export` wrote.

    \b
    0  nothing was found
    1  something is proven wrong
    2  an invalid option
    3  a suspicion, or unknown: no log, no collector
    """  # noqa: D301 - click's mark
    from deniable.public_log.audit.checks import Offered, Replies, Trust, audit
    from deniable.public_log.audit.document import audit_document
    from deniable.public_log.audit.findings import STATUSES, finding
    from deniable.public_log.audit.visiting import (
        LogSite,
        Visit,
        ask_witnesses,
        bundled,
        download,
        read_checkpoint,
        read_leaves,
        write_proof,
    )
    from deniable.public_log.publish.copies import files_at

    try:
        visit = None if remember is None else Visit.load(remember)
        read_policy = None if policy is None else LogPolicy.parse(policy.read_bytes().decode())
        bundle = None if authority is None else _bundle(authority)
        trusted = None if authority is None else bundle.authority if bundle else pinned(authority)
        leaves = frozenset[bytes]() if acknowledged is None else read_leaves(acknowledged)
        site = None if Path(place).is_dir() else LogSite(place)
        if trusted is not None:
            check_public_key(trusted)
    except (ValueError, Refusal) as error:
        raise click.UsageError(str(error)) from error
    if trusted is None and visit is not None:
        trusted = visit.authority
    files = files_at(place) if site is None else site.files
    checkpoint, notes = read_checkpoint(files), []
    if trusted is None:
        if site is None:
            raise click.UsageError(
                "a directory needs --authority, because its files do not name the authority"
            )
        trusted, notes = site.signer(), [finding("unpinned-authority")]
    replies: Replies = {}
    if read_policy is not None:  # before the log, so that the log is not older than their answers
        replies = asyncio.run(ask_witnesses(read_policy.witnesses, checkpoint.checkpoint.origin))
    downloaded = download(files, checkpoint, trusted)
    offered = Offered(None, [])
    if site is None:
        notes.append(finding("offline"))
    else:
        names = [manifest.name for manifest in bundle.opened] if bundle else []
        offered = site.offered(trusted, [*downloaded.history.versions, *names])
        if (checkpoint := read_checkpoint(files)) != downloaded.checkpoint:
            downloaded = download(files, checkpoint, trusted)
    if bundle is not None:
        offered = replace(offered, signed=[*offered.signed, *bundled(bundle)])
    trust = Trust(
        _listed(read_policy, checkpoint) or (None if visit is None else visit.log_key),
        trusted,
        read_policy,
        None if visit is None else visit.checkpoint,
        () if visit is None else visit.visits,
        leaves,
    )
    now = time.time()
    result = audit(downloaded, offered, trust, now, replies)
    result.findings += notes
    show_prose(audit_document(result, now), as_json=as_json)
    if file := write_proof(result, Path() if remember is None else remember.parent):
        click.echo(f"The proof that the log has two histories is in {file}: keep it.", err=True)
    if remember is not None and result.to_be_remembered:
        Visit(trust.log_key, trusted, checkpoint, trust.visits).again(now).save(remember)
        if visit is None:
            click.echo(
                f"This visit was recorded in {remember}, for comparison with the next visit.",
                err=True,
            )
    elif remember is not None:
        click.echo(f"This visit was not recorded in {remember}: see the findings.", err=True)
    raise click.exceptions.Exit(STATUSES[result.worst])


def _bundle(authority: str) -> Bundle | None:
    file = Path(authority)
    return read_bundle(file.read_bytes()) if file.is_file() else None


def _listed(policy: LogPolicy | None, checkpoint: SignedCheckpoint) -> VerifierKey | None:
    """Return the key among the policy's logs that signed a checkpoint; otherwise the first key."""
    keys = [] if policy is None else [log.key for log in policy.logs]
    for key in keys:
        with suppress(TransparencyLogError):
            checkpoint.verify(key)
            return key
    return keys[0] if keys else None
