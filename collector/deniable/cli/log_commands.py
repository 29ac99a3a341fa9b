"""``deniable log``: the public log of everything that the authority ever signed."""

from contextlib import suppress
from pathlib import Path

import click

from deniable.cli.options import authority_key_option, confirm, directory_option, yes_option
from deniable.directory import Config, authority_chain, find_key_file, store_text, with_store
from deniable.directory.log_publishing import all_signed, log_policy, offer_logged, witnesses_of
from deniable.doctor.diagnosis import Status
from deniable.doctor.survey_checks import judge_log
from deniable.logs import log_origin
from deniable.public_log.publish.copies import files_at, recover, write_files
from deniable.public_log.publish.public_log import LogKeyMissing, PublicLog, entries_text
from deniable.public_log.publish.publisher import (
    find_log_key,
    keep_record,
    log_key_file,
    read_record,
    replace_key,
    verifier_key,
)
from deniable.public_log.publish.witnesses import Answer, cosign
from deniable.stores import Store


@click.command()
@directory_option
@authority_key_option
@click.pass_context
def show(ctx: click.Context, directory: Path, authority_key: Path | None) -> None:
    """Show the log's size, and which witnesses cosigned its newest checkpoint.

    The exit status is 1 if the store lacks signed entries, or has a different history.
    """
    config = Config.load(directory)

    async def work(store: Store) -> tuple[PublicLog, list[bytes], Path]:
        held = await _read(store)
        key_file = await authority_key_file(store, config, directory, authority_key)
        return held, await all_signed(store, config), key_file

    held, signed, key_file = with_store(config, work)
    newest = held.newest
    origin = log_origin(config.origin) if newest is None else newest.checkpoint.origin
    key_text, record = f"not next to {key_file}", None
    if newest is not None or log_key_file(key_file).exists():  # otherwise the key would be created
        with suppress(LogKeyMissing):
            file, key = find_log_key(key_file, newest)
            key_text, record = str(verifier_key(origin, key)), read_record(file, origin)
    click.echo(f"log        {origin}")
    click.echo(f"key        {key_text}")
    click.echo(f"entries    {held.size}")
    if newest is not None:
        click.echo(f"root       {newest.checkpoint.root.hex()}")
    own_origin = log_origin(config.origin)
    state = judge_log(held.stored, record, signed, witnesses_of(config), own_origin)
    if state is not None:
        click.echo(f"state      {state.text}")
        if state.remedy:
            click.echo(f"next       {state.remedy}")
        if state.status is Status.FAIL:
            ctx.exit(1)


@click.command()
@directory_option
@authority_key_option
def policy(directory: Path, authority_key: Path | None) -> None:
    """Print the policy that an app pins: the log's key, the witnesses and how many must cosign.

    The policy has the format C2SP tlog-policy, for Client(log_policy=…). Its witnesses are those in
    the setting `witnesses`; more than half of them must cosign.
    """
    config = Config.load(directory)
    if not config.witnesses:
        raise click.ClickException('name witnesses in collector.toml: witnesses = ["KEY URL", …]')

    async def work(store: Store) -> str:
        held = await _read(store)
        if held.newest is None:
            raise click.ClickException("there is no log yet: deniable survey publish creates it")
        named, origin = held.newest.checkpoint.origin, log_origin(config.origin)
        if named != origin:
            raise click.ClickException(
                f"the log is named {named}, but the collector's origin requires {origin}: "
                f"deniable survey publish continues under the new name; no app accepts a policy "
                "with the old name"
            )
        key_file = await authority_key_file(store, config, directory, authority_key)
        _, key = find_log_key(key_file, held.newest)
        return log_policy(config, verifier_key(named, key))

    click.echo(with_store(config, work), nl=False)


@click.command("cosign")
@directory_option
@authority_key_option
@click.pass_context
def cosign_log(ctx: click.Context, directory: Path, authority_key: Path | None) -> None:
    """Ask the witnesses to cosign the newest checkpoint; exit with 1 if too few do.

    The command needs no private key; if the log's key is here, the record next to the key is
    updated. A running server serves the new cosignatures immediately.
    """
    config = Config.load(directory)

    async def work(store: Store) -> tuple[list[Answer], PublicLog]:
        key_file = await authority_key_file(store, config, directory, authority_key)
        if not keep_record(key_file, await _read(store)):
            raise click.ClickException(
                "the record next to the log's key has entries that the store lacks: run deniable "
                "doctor"
            )
        answers = await cosign(store, witnesses_of(config))
        return answers, await _read(store)

    answers, held = with_store(config, work)
    for answer in answers:
        name = answer.witness.key.name
        said = "cosigned" if answer.refusal is None else str(answer.refusal)
        click.echo(f"{name}: {said.removeprefix(f'{name} ')}")
        if answer.refusal is not None and answer.refusal.status in {403, 404}:
            click.echo("  ask the operator to watch the log under the key from deniable log show")
        elif answer.claims_more:
            click.echo(
                "  cosigned a history that this log does not extend: run deniable log recover FROM "
                "if the store was restored; otherwise see “a fork” in docs/public-log.md"
            )
    click.echo(f"cosigned   {cosigned_text(config, held)}")
    if not witnesses_of(config).are_enough(held.newest):
        ctx.exit(1)


@click.command()
@click.argument("copy", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@directory_option
def export(copy: Path, directory: Path) -> None:
    """Write the log's static files into DIR, for a mirror or a web server.

    A later run writes only new files.
    """
    held = with_store(Config.load(directory), _read)
    written = write_files(held, copy)
    click.echo(
        f"wrote      {written} file{'s' * (written != 1)} of {entries_text(held.size)} into {copy}"
    )


@click.command("recover")
@click.argument("source", metavar="FROM")
@directory_option
@authority_key_option
def recover_log(source: str, directory: Path, authority_key: Path | None) -> None:
    """Restore entries that are missing from the store's log, from a URL or a directory FROM.

    Use the command for a store that was restored from a backup. The log's key must have signed the
    entries, which must extend the log of the store, the record next to the key and the witnesses.
    Restored surveys and rotations are offered again.
    """
    config = Config.load(directory)

    async def work(store: Store) -> tuple[int, int]:
        key_file = await authority_key_file(store, config, directory, authority_key)
        origin, witnesses = log_origin(config.origin), witnesses_of(config)
        entries = await recover(store, origin, key_file, files_at(source), witnesses)
        return entries, await offer_logged(store, config, await _read(store))

    entries, offered = with_store(config, work)
    again = "1 survey or rotation" if offered == 1 else f"{offered} surveys and rotations"
    click.echo(f"recovered  {entries_text(entries)}, {again} offered again")
    click.echo(f"store      {store_text(config)}")


@click.command("new-key")
@directory_option
@authority_key_option
@yes_option
def new_key(directory: Path, authority_key: Path | None, yes: bool) -> None:
    """Replace the log's private key after a loss or theft; the entries stay.

    If the key was stolen, move its file elsewhere first.

    Until an update brings the new policy, apps that pin the former key refuse surveys published
    from now on. Witnesses need the new key, too.
    """
    config = Config.load(directory)

    async def work(store: Store) -> str:
        key_file = await authority_key_file(store, config, directory, authority_key)
        confirm(yes, "Cut off apps that pin the log's former key, until they are updated?")
        return str((await replace_key(store, key_file, witnesses_of(config))).verifier_key)

    click.echo(f"log key    {with_store(config, work)}")
    click.echo("next       deniable log policy, for your app's next version and each witness")


def cosigned_text(config: Config, held: PublicLog) -> str:
    """Return in words how many witnesses cosigned the newest checkpoint, and what to do."""
    witnesses = witnesses_of(config)
    if not witnesses.witnesses:
        return "by no witness: collector.toml names no witnesses"
    cosigners = witnesses.cosigners(held.newest)
    text = f"by {len(cosigners)} of {len(witnesses.witnesses)} witnesses"
    if witnesses.are_enough(held.newest):
        return text
    return (
        f"{text}, but {witnesses.quorum} are required: apps that pin the log refuse new surveys; "
        "deniable log cosign asks again"
    )


async def _read(store: Store) -> PublicLog:
    return PublicLog(await store.log())


async def authority_key_file(
    store: Store, config: Config, directory: Path, authority_key: Path | None
) -> Path:
    """Return the file of the authority's key that signs now, unless an option names it."""
    chain = await authority_chain(store, config.authority)
    return authority_key or find_key_file(directory, chain[-1])
