"""A collector's public log: its publisher, and everything that belongs in it."""

from contextlib import suppress
from pathlib import Path

from deniable.counterparts.cosigning import policy_file_text
from deniable.directory.authority_keys import authority_chain
from deniable.directory.collector_directory import signed_surveys
from deniable.directory.gateway_file import read_gateway_file
from deniable.directory.settings import Config
from deniable.key_files import KeyFileError
from deniable.logs import LogPolicy, VerifierKey, log_origin
from deniable.logs.policies import Log
from deniable.messages import (
    Manifest,
    Refusal,
    Rotation,
    follow_rotations,
    open_manifest_of_chain,
    open_rotation,
)
from deniable.messages.gateway import open_gateway_keys
from deniable.public_log.publish.public_log import PublicLog
from deniable.public_log.publish.publisher import Publisher, find_log_key
from deniable.public_log.publish.witnesses import Witnesses
from deniable.stores import Store, SurveyConflict


def witnesses_of(config: Config) -> Witnesses:
    """Return the witnesses in the settings."""
    return Witnesses(config.witnesses)


async def begin_publishing(store: Store, config: Config, authority_key: Path) -> Publisher:
    """Return the publisher of the collector's log, whose key is beside the authority's.

    The next publication also appends what the store has and the log lacks.

    If the log had another name, its entries stay, and it continues under the collector's.

    Raises:
        KeyFileError: if the log's key cannot be read or created.
        PublicLogError: if somebody has seen more of the log, or a different history.
    """
    log, witnesses = PublicLog(await store.log()), witnesses_of(config)
    key = find_log_key(authority_key, log.newest)
    if log.newest is not None and log.newest.checkpoint.origin != log_origin(config.origin):
        former = Publisher(store, log, log.newest.checkpoint.origin, key, witnesses)
        await former.check_seen()
        former.remember(log)
    known = await all_signed(store, config)
    publisher = Publisher(store, log, log_origin(config.origin), key, witnesses, known)
    await publisher.check_seen()
    publisher.remember(log)
    return publisher


async def all_signed(store: Store, config: Config) -> list[bytes]:
    """Return all envelopes that the authority signed and that are offered, the oldest first."""
    envelopes = await store.surveys()
    # After the surveys, so that every key that signed them is known.
    chain = await authority_chain(store, config.authority)
    signed = [*await store.rotations()]
    for envelope in reversed(envelopes):
        with suppress(Refusal):
            open_manifest_of_chain(envelope, chain)
            signed.append(envelope)
    with suppress(FileNotFoundError, KeyFileError, Refusal):
        gateway = read_gateway_file(config.gateway_keys).signed
        open_gateway_keys(gateway, chain)
        signed.append(gateway)
    return signed


def log_policy(config: Config, log_key: VerifierKey) -> str:
    """Return the policy that an app pins (C2SP tlog-policy): log, witnesses and quorum."""
    log = Log(log_key, f"{config.origin}/log")
    return policy_file_text(LogPolicy((log,), config.witnesses, witnesses_of(config).quorum))


async def offer_logged(store: Store, config: Config, log: PublicLog) -> int:
    """Offer again the logged rotations and surveys that the store lacks; return their number."""
    rotations: dict[bytes, Rotation] = {}
    for envelope in log.envelopes:
        with suppress(Refusal):
            rotations[envelope] = open_rotation(envelope)
    chain = follow_rotations(config.authority, rotations.values())
    # In the order of publication, each as last signed.
    newest: dict[bytes, tuple[Manifest, bytes]] = {}
    for envelope in log.envelopes:
        with suppress(Refusal):
            manifest, _ = open_manifest_of_chain(envelope, chain)
            newest[manifest.survey_id] = manifest, envelope

    def as_logged(envelope: bytes) -> bytes:
        with suppress(Refusal):
            manifest, _ = open_manifest_of_chain(envelope, chain)
            return newest.get(manifest.survey_id, (manifest, envelope))[1]
        return envelope

    offered, held = 0, await store.rotations()
    for envelope, rotation in rotations.items():
        if envelope not in held:
            await store.rotate(rotation, envelope, as_logged)
            offered += 1
    surveys, _ = await signed_surveys(store, config)
    ids = {survey.survey_id for survey in surveys}
    for manifest, envelope in newest.values():
        if manifest.survey_id not in ids:
            with suppress(SurveyConflict):  # another of its name was published since
                await store.publish(manifest, envelope)
                offered += 1
    return offered
