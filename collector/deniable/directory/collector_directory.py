"""A collector's directory: its settings, its store and its publications."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable.directory.authority_keys import authority_chain, check_outside
from deniable.directory.settings import CONFIG_FILE, SETTINGS, Config, InvalidConfig, Setting
from deniable.key_files import create_key_file
from deniable.messages import Manifest, Refusal, check_origin, open_manifest_of_chain
from deniable.stores import Role, Store, Token, open_store
from deniable.stores.rules import Result

if TYPE_CHECKING:
    from deniable.intake import Due


def new_token() -> str:
    """Return a fresh token; it is shown once and stored nowhere."""
    return "deniable_" + secrets.token_hex(32)


def token_digest(token: str) -> bytes:
    """Return the digest of a token, which the store keeps.

    Looking the digest up by equality leaks at most the time of comparing hashes of 256 random bits,
    which reveals nothing about a valid token.
    """
    # A header may contain any bytes; aiohttp passes non-UTF-8 bytes on as surrogates.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


# Links to the figures of one survey: readers' tokens, each with an end. A link has its token in the
# fragment, which browsers do not send: no log and no Referer contains it. The linked page posts it,
# and gets a cookie for it.

MOST_DAYS: Final = 366
_DAY_SECONDS: Final = 86_400


async def new_link(store: Store, name: str, days: int, label: str, now: float) -> str:
    """Return a fresh link, from the collector's root; it is shown once and stored nowhere."""
    secret, made_at = new_token(), int(now)
    ends_at = made_at + days * _DAY_SECONDS
    await store.add_token(Token(token_digest(secret), Role.READER, label, made_at, name, ends_at))
    return f"share#{secret}"


async def links(store: Store, name: str) -> list[Token]:
    """Return the links to the figures of a survey, not revoked; oldest first."""
    return [token for token in await store.tokens() if token.survey == name]


EXAMPLE_FILE: Final = "example-survey.toml"
"""The name of the example survey file that ``init`` writes."""

_HEAD: Final = """\
# Settings of a deniable collector; `deniable serve` reads them when it starts.
# docs/reference/settings.md explains them and the environment variables that override them.
"""
_MORE: Final = "# Other settings, with their defaults:"


def create_collector(
    directory: Path,
    origin: str,
    port: int,
    key_file: Path,
    example: str,
    public: Sequence[str] = (),
) -> bytes:
    """Create a collector's directory, its authority's key and its log's; return the public key.

    Args:
        directory: the new directory, which may exist if empty.
        origin: the URL by which devices reach it.
        port: the port on which it listens.
        key_file: the new private key's file, outside the directory.
        example: an initial survey file's text.
        public: names of surveys whose histograms anyone may read.

    Raises:
        InvalidManifest: for an origin that no manifest may contain.
        KeyFileError: if the key file exists, or is inside the directory.
        OSError: if the directory contains a collector, or cannot be written.
    """
    from deniable.public_log.publish.publisher import log_key_file  # only a new log needs it

    check_origin(origin)
    config_file = directory / CONFIG_FILE
    if config_file.exists():
        raise FileExistsError(f"{config_file} already exists; a collector is never overwritten")
    check_outside(key_file, directory)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = create_key_file(key_file)
    log_key = log_key_file(key_file)
    check_outside(log_key, directory)
    if not log_key.exists():
        create_key_file(log_key)
    decided = {"origin": origin, "authority": key.public_key.hex(), "port": port}
    decided |= {"public": public} if public else {}
    config_file.write_text(settings_file(decided), "utf-8")
    config_file.chmod(0o600)  # it may later contain a password
    (directory / EXAMPLE_FILE).write_text(example, "utf-8")
    with_store(Config.load(directory), lambda store: store.ping(), create=True)
    return key.public_key


def settings_file(decided: Mapping[str, object]) -> str:
    """Return a settings file's text: the decided settings, and all others after a ``#``."""
    lines, others = [_HEAD], [_MORE]
    for setting in SETTINGS:
        if setting.name in decided:
            lines.append(f"# {setting.meaning}\n{_line(setting, decided[setting.name])}\n")
        else:
            others.append(f"# {_line(setting, setting.default)}  # {setting.meaning}")
    return "\n".join([*lines, *others, ""])


def _line(setting: Setting, value: object) -> str:
    # For texts, numbers and lists of them, TOML can read JSON.
    return f"{setting.name} = {json.dumps(value, ensure_ascii=False)}"


def with_store(
    config: Config,
    work: Callable[[Store], Awaitable[Result]],
    *,
    create: bool = False,
    patience: float | None = None,
) -> Result:
    """Open the collector's store, do the work, and close it; the server may be running.

    It waits for others with patience, as :func:`deniable.stores.open_store` does.

    Raises:
        InvalidConfig: if there is none, unless ``create`` is set.
        UnknownSchema: if another version of deniable wrote it; with ``create``, an older one's
            SQLite file is migrated.
        StoreError: if it cannot be opened.
    """
    if not create:
        check_store(config)

    async def run() -> Result:
        store = await open_store(config.store, create=create, patience=patience)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(run())


def check_store(config: Config) -> None:
    """Raise InvalidConfig if there is no store: a misspelt path must not create an empty one."""
    if isinstance(config.store, Path) and not config.store.exists():
        raise InvalidConfig(f"{config.store} does not exist; is `store` in collector.toml correct?")


def store_text(config: Config) -> str:
    """Return the store's file, or the name of the database's setting instead of its URL."""
    if isinstance(config.store, Path):
        return str(config.store)
    return f"PostgreSQL, set by {config.places.get('store', 'store')}"


async def signed_surveys(store: Store, config: Config) -> tuple[list[Manifest], int]:
    """Return the authority's surveys, by name, newest first; and the number of others."""
    envelopes = await store.surveys()
    # After the surveys, so that every key that signed them is known.
    chain = await authority_chain(store, config.authority)
    manifests: list[Manifest] = []
    for envelope in envelopes:
        with suppress(Refusal):
            manifests.append(open_manifest_of_chain(envelope, chain)[0])
    return manifests, len(envelopes) - len(manifests)


AGREEMENT_SECONDS: Final = 60.0
"""Seconds by which a collector's clock and its store's may differ."""
_OVERDUE_SECONDS: Final = 3_600.0


def running(surveys: Iterable[Manifest], ended: Collection[bytes], now: float) -> list[Manifest]:
    """Return the surveys that devices may answer: neither over nor ended."""
    return [
        survey for survey in surveys if survey.survey_id not in ended and now < survey.schedule.end
    ]


def current(surveys: Iterable[Manifest]) -> list[Manifest]:
    """Return the first survey of each name: the newest, if sorted by name, newest first."""
    newest: dict[str, Manifest] = {}
    for manifest in surveys:
        newest.setdefault(manifest.name, manifest)
    return list(newest.values())


def state_of(
    manifest: Manifest, surveys: Sequence[Manifest], ended: Collection[bytes], now: float
) -> str:
    """Return in a few words whether a survey can still be answered.

    A survey supersedes those of the same name, question and categories. Apps that declare others
    continue with their own.
    """
    newest = max(
        survey.sequence for survey in surveys if _declaration(survey) == _declaration(manifest)
    )
    if newest > manifest.sequence:
        return f"superseded by {newest}"
    if manifest.survey_id in ended:
        return "ended"
    if now >= manifest.schedule.end:
        return "over"
    return "open" if now >= manifest.schedule.start else "not begun"


def _declaration(manifest: Manifest) -> tuple[object, ...]:
    return manifest.name, manifest.question, manifest.all_answers, manifest.dimensions


async def all_overdue(
    store: Store, surveys: Iterable[Manifest], now: float
) -> "list[tuple[Manifest, Due]]":
    """Return the epochs of these surveys whose seal is at least an hour late."""
    from deniable.intake import Action, due  # for the collector's upkeep

    ended, past = await store.ended(), now - _OVERDUE_SECONDS
    return [
        (survey, action)
        for survey in surveys
        if (ended_at := ended.get(survey.survey_id)) is None or ended_at <= past
        for action in due(
            survey,
            await store.seals(survey.survey_id),
            ended_at,
            await store.newest_counted(survey.survey_id),
            past,
        )
        if action.action in {Action.SEAL, Action.ASK}
    ]
