"""``deniable token``: who may read histograms."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click

from deniable.cli.options import directory_option, json_option
from deniable.cli.screen import show_rows
from deniable.directory import Config, new_token, store_text, token_digest, with_store
from deniable.documents import Column, Document, Table
from deniable.messages import instant_text
from deniable.stores import Role, Store, Token

_ID_DIGITS: Final = 12
_COLUMNS: Final = (
    Column("id", "id", "name"),
    Column("role", "role", "name"),
    Column("created_at", "made", "name", cell=lambda row: instant_text(row["created_at"])),
    Column("survey", "link to", "name", cell=lambda row: row["survey"] or "-"),
    Column(
        "ends_at",
        "ends",
        "name",
        cell=lambda row: "-" if row["ends_at"] is None else instant_text(row["ends_at"]),
    ),
    Column("label", "label"),
)


@click.group()
def token() -> None:
    """Tokens that let analysts and operators read figures; each link also has a token."""


@token.command()
@directory_option
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role if role is not Role.READER]),
    default=Role.ANALYST.value,
    show_default=True,
    help="Rights of the token.",
)
@click.option("--label", default="", help="Name of the token's holder, for your own records.")
def new(directory: Path, role: str, label: str) -> None:
    """Create a token and print it once; the store keeps only its hash."""
    if not label.isprintable():
        raise click.BadParameter("must not contain control characters", param_hint="--label")
    secret = new_token()
    config = Config.load(directory)
    made = Token(token_digest(secret), Role(role), label, int(time.time()))
    with_store(config, lambda store: store.add_token(made))
    click.echo(secret)
    # To stderr, so that a script that reads the token does not get it.
    click.echo(f"store     {store_text(config)}", err=True)


@token.command("list")
@directory_option
@json_option
def list_tokens(directory: Path, *, as_json: bool) -> None:
    """List the tokens and their ids, oldest first."""
    tokens = with_store(Config.load(directory), lambda store: store.tokens())
    rows = [
        {
            "id": _identifier(held),
            "role": held.role.value,
            "created_at": held.created_at,
            "survey": held.survey,
            "ends_at": held.ends_at,
            "label": held.label,
        }
        for held in tokens
    ]
    heading = "" if rows else "there is no token; see: deniable token new --help"
    show_rows(Document(tables=[Table(_COLUMNS, rows)], heading=heading), as_json=as_json)


@token.command(short_help="Revoke a token.")
@click.argument("identifier", metavar="ID")
@directory_option
def revoke(identifier: str, directory: Path) -> None:
    """Revoke the token or link whose id begins with ID, immediately and for good."""

    async def work(store: Store) -> Token:
        token = _find(await store.tokens(), identifier)
        await store.revoke_token(token.digest)
        return token

    config = Config.load(directory)
    revoked = with_store(config, work)
    click.echo(f"revoked   {_identifier(revoked)} ({revoked.role.value})")
    click.echo(f"store     {store_text(config)}")


def _find(tokens: Iterable[Token], identifier: str) -> Token:
    """Return the token whose id begins with this; ClickException unless exactly one does."""
    matches = [
        token for token in tokens if identifier and token.digest.hex().startswith(identifier)
    ]
    if not matches:
        raise click.ClickException("there is no such token; see: deniable token list")
    if len(matches) > 1:
        raise click.ClickException(
            f"{len(matches)} ids begin with these digits; give more digits "
            "(see deniable token list)"
        )
    return matches[0]


def _identifier(token: Token) -> str:
    """Return a token's id: the first digits of its SHA-256."""
    return token.digest.hex()[:_ID_DIGITS]
