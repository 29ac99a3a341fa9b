"""Signing a survey and putting it into a collector's store."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from deniable.counterparts.signing import sign_manifest
from deniable.directory import Config, authority_chain, read_current_key
from deniable.directory.log_publishing import begin_publishing
from deniable.messages import InvalidManifest, Manifest
from deniable.planning.words import MOST_EPSILON, too_strong_text
from deniable.public_log.publish.public_log import PublicLog
from deniable.public_log.publish.publisher import keep_record
from deniable.publishing.blind_keys import ListedKeys, check_grid
from deniable.publishing.numbering import check_invertible, next_manifest, says_the_same
from deniable.publishing.survey_file import SurveyFile
from deniable.stores import Store


def successor(
    config: Config,
    written: SurveyFile,
    surveys: Sequence[Manifest],
    *,
    hardly_private: bool = False,
) -> Manifest:
    """Return the manifest that publishing would sign after these surveys, the newest first.

    An epsilon above ``MOST_EPSILON`` is refused unless ``hardly_private`` is set.

    Raises:
        InvalidManifest: naming the invalid field, or stating that nothing has changed.
    """
    before = [old for old in surveys if old.name == written.name]
    if before and says_the_same(written, before[0], config.origin):
        raise InvalidManifest(written.name, "nothing has changed; the published survey remains")
    manifest = next_manifest(written, before, config.origin, os.urandom(16), time.time(), surveys)
    if not hardly_private and (epsilon := too_strong_text(manifest)):
        raise InvalidManifest(
            "epsilon",
            f"{epsilon} is above {MOST_EPSILON}: one report can make a guess between two answers "
            "practically certain. Lower epsilon, or publish with --hardly-private",
        )
    check_invertible(manifest)
    ListedKeys(surveys).check(manifest)
    check_grid(manifest, surveys)
    return manifest


async def publish(
    store: Store,
    config: Config,
    written: SurveyFile,
    surveys: Sequence[Manifest],
    key_file: Path,
    *,
    hardly_private: bool = False,
) -> Manifest:
    """Sign a survey and put it into the store; return its manifest, as :func:`successor` does.

    Raises:
        KeyFileError: if the key is unreadable or is not this collector's authority.
        InvalidManifest: naming the invalid field.
        StoreError: if the store cannot accept it.
        PublicLogError: if the public log has changed unexpectedly.
    """
    key = read_current_key(key_file, (await authority_chain(store, config.authority))[-1])
    # In any case: an interrupted publishing may be repeated without a change.
    keep_record(key_file, PublicLog(await store.log()))
    manifest = successor(config, written, surveys, hardly_private=hardly_private)
    publisher = await begin_publishing(store, config, key_file)
    envelope = sign_manifest(manifest, key)
    # Published and logged in one transaction.
    await store.publish(manifest, envelope, publisher.extension([envelope]), int(time.time()))
    await publisher.committed()
    return manifest
