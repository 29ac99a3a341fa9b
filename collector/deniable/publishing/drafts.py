"""Drafts: what publishing a survey file would sign, for whoever plans or simulates it."""

import time
from pathlib import Path
from typing import Final

from deniable.messages import Manifest
from deniable.publishing.numbering import next_manifest
from deniable.publishing.publish import check_invertible
from deniable.publishing.survey_file import SurveyFile

_NOWHERE: Final = "https://nowhere.invalid"


def draft(file: Path, **instead: str) -> Manifest:
    """Return the first manifest of a survey file, for no collector, with fields changed if given.

    Raises:
        InvalidManifest: naming the field at fault.
    """
    written = SurveyFile.load(file, **instead)
    manifest = next_manifest(written, [], _NOWHERE, bytes(16), time.time())
    check_invertible(manifest)
    return manifest
