"""Signing a survey and putting it into a collector's store."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deniable.directory import Config, authority_chain, begin_publishing, read_authority_key
from deniable.enrolment import KeyFileError
from deniable.estimates import NotInvertible, reports_for_half_width, reports_for_mean
from deniable.messages import (
    Enrolment,
    InvalidManifest,
    Manifest,
    SigningKey,
    sign_manifest,
    simulated_name,
)
from deniable.public_log import PublicLog, keep_record
from deniable.publishing.blind_keys import check_unshared
from deniable.publishing.numbering import next_manifest, says_the_same
from deniable.publishing.survey_file import SurveyFile
from deniable.stores import Store


def successor(
    config: Config, written: SurveyFile, surveys: Sequence[Manifest], after_epoch: int = -1
) -> Manifest:
    """Return the manifest that publishing would sign after these surveys, the newest first.

    Surveys of the name that are lost had epochs up to ``after_epoch``.

    Raises:
        InvalidManifest: naming the field at fault, or that nothing has changed.
    """
    before = [old for old in surveys if old.name == written.name]
    if before and says_the_same(written, before[0], config.origin):
        raise InvalidManifest(
            written.name, "nothing has changed; the survey published before stands"
        )
    manifest = next_manifest(
        written, before, config.origin, os.urandom(16), time.time(), after_epoch
    )
    check_invertible(manifest)
    check_unshared(manifest, surveys)
    return manifest


def check_invertible(manifest: Manifest) -> None:
    """Raise InvalidManifest if no estimate could tell a survey's answers apart."""
    try:
        if manifest.values is None:
            reports_for_half_width(manifest.mechanism, 0.05)
        else:
            reports_for_mean(manifest.mechanism, manifest.values, 1.0)
    except NotInvertible as error:
        raise InvalidManifest(
            "epsilon", "is too small to tell so many categories apart; raise it or use fewer"
        ) from error


async def publish(
    store: Store,
    config: Config,
    written: SurveyFile,
    surveys: Sequence[Manifest],
    key_file: Path,
    after_epoch: int = -1,
) -> Manifest:
    """Sign a survey and put it into the store; return its manifest, as :func:`successor` does.

    Raises:
        KeyFileError: for a key that is unreadable or not this collector's authority.
        InvalidManifest: naming the field at fault.
        StoreError: if the store cannot take it.
        PublicLogError: if the public log is not as it was left.
    """
    key = await _authority_key(store, config, key_file)
    # Whatever comes of this: a publishing that was broken off may be repeated without a change.
    keep_record(key_file, PublicLog(await store.log()))
    manifest = successor(config, written, surveys, after_epoch)
    await _publish(store, config, manifest, key, key_file)
    return manifest


async def publish_rehearsal(
    store: Store,
    config: Config,
    written: SurveyFile,
    surveys: Sequence[Manifest],
    key_file: Path,
    epochs: int = 1,
) -> Manifest:
    """Publish a survey for simulated devices: from today on, and without an issuer; likewise.

    Each time it is another one, which has no reports. Numbers of epochs begin anew, since no device
    knows those of an older one. So many ``epochs`` take reports at once, the last of them the
    current one: the others are over, and their grace is as long as they are together.
    """
    key = await _authority_key(store, config, key_file)
    name = simulated_name(written.name)
    rehearsal = replace(written, name=name, start=None, enrolment=Enrolment())
    first = next_manifest(rehearsal, [], config.origin, os.urandom(16), time.time())
    sequences = [old.sequence for old in surveys if old.name == name]
    if epochs > written.epochs:
        raise InvalidManifest("epochs", f"are {written.epochs}: no {epochs} can be rehearsed")
    schedule, past = first.schedule, (epochs - 1) * first.schedule.epoch_seconds
    schedule = replace(
        schedule,
        start=schedule.start - past,
        grace_seconds=max(schedule.grace_seconds, past),
    )
    manifest = replace(first, sequence=max(sequences, default=-1) + 1, schedule=schedule)
    check_invertible(manifest)
    await _publish(store, config, manifest, key, key_file)
    return manifest


async def _publish(
    store: Store, config: Config, manifest: Manifest, key: SigningKey, key_file: Path
) -> None:
    """Sign a manifest, and publish and log it in one transaction."""
    publisher = await begin_publishing(store, config, key_file)
    envelope = sign_manifest(manifest, key)
    await store.publish(manifest, envelope, publisher.extension([envelope]))
    await publisher.committed()


async def _authority_key(store: Store, config: Config, key_file: Path) -> SigningKey:
    key = read_authority_key(key_file)
    chain = await authority_chain(store, config.authority)
    if key.public_key in chain[:-1]:
        raise KeyFileError(f"{key_file} was rotated; the key that signs now is {chain[-1].hex()}")
    if key.public_key != chain[-1]:
        raise KeyFileError(f"{key_file} is not the key of this collector's authority")
    return key
