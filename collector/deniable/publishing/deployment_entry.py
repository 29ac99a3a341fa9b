"""A survey as an entry of the public registry of differential-privacy deployments.

The registry was proposed by Dwork, Kohli and Mulligan (2019), designed by Ghazi, Nanayakkara and
Vadhan (arXiv:2509.13509), and launched by OpenDP in 2025; NIST proposed to host it. Fields, their
order and their values are those of its schema, schemas/deployments-schema.yaml of
github.com/opendp/deployments-registry-data as of July 2026; the tier is the third, the fullest one.
"""

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from deniable.budget import format_nano, odds_text
from deniable.messages import FRESH, Manifest
from deniable.messages.coalitions import Coalitions
from deniable.publishing.following import reserved
from deniable.reading import duration_text

Entry = dict[str, Any]

TODO: Final = "TODO"
"""What stands in a value that only the operator knows."""

_SECTORS: Final = "Technology, Healthcare, Education, Government, Energy or Finance"
_WIDTH: Final = 88


def deployment_entry(manifest: Manifest, *, relayed: bool = False) -> Entry:
    """Return the entry: what the manifest tells is filled, the rest says what is to be filled.

    Whether the app's reports go through a relay, only its operator knows.
    """
    schedule, repeated = manifest.schedule, manifest.schedule.epochs > 1
    epoch = duration_text(schedule.epoch_seconds)
    parameters = {"epsilon": float(manifest.epsilon)}
    if manifest.delta != "0":
        parameters["delta"] = float(manifest.delta)
    return {
        "url_slug": f"{manifest.name}-{TODO}-curator-and-year",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": manifest.name,
                "data_curators": [f"{TODO}: who publishes the figures"],
                "intended_use": f"{TODO}: what the figures are for",
                "data_product_type": "Summary statistics",
                "data_product_region": f"{TODO}: where the devices are, and whose law applies",
                "description": _question(manifest),
                "publication_date": f"{TODO}: day of the first publication, YYYY-MM-DD",
                "data_product_sector": f"{TODO}: {_SECTORS}",
            },
            "dp_variant": {
                "variant_name": "Pure DP" if manifest.delta == "0" else "Approximate DP",
                "data_domain": "One answer a device and epoch, from a list that the app declares.",
                "unprotected_quantities": (
                    "That a device reports to this survey, and in which epoch; the number of "
                    "reports of each epoch."
                ),
            },
            "privacy_loss": {
                "privacy_unit": "One answer of a device in an epoch",
                "privacy_unit_details": (
                    "Adjacent are any two answers that one device could give in one epoch, each "
                    f"of {epoch}, for which it reports at most once. All else may be known."
                ),
                "privacy_parameters": parameters,
                "privacy_parameters_details": " ".join(_loss(manifest)),
            },
            "deployment_model": {
                "model_name": "Local",
                "model_name_details": "Answers are randomised on the devices, before anything is "
                "stored or sent.",
                "actors": " ".join(_actors(manifest, relayed=relayed)),
                "release_type": "Many releases" if repeated else "One release",
                "release_type_details": (
                    f"{schedule.epochs:,} epochs of {epoch}, each with figures of its own. What a "
                    "device spends is never given back."
                ),
                "data_source_type": "Dynamic" if repeated else "Static",
                "data_source_type_details": "Each epoch has answers of its own.",
                "access_type": "Non-interactive",
                "access_type_details": (
                    "Queries are answered from the counts of randomised responses, at no further "
                    "loss of privacy."
                ),
            },
            "accounting": {
                "post_processing": (
                    "Frequencies are estimated without bias, by a left inverse of the mechanism's "
                    "matrix, with confidence intervals; estimates below 0 are not cut off. "
                    f"{TODO}: what else was done before publication"
                ),
                "composition": (
                    "Sequential: every device adds up the pure epsilon of its reports, of all "
                    "surveys of the app together, and stops at the ceiling that the app sets. "
                    f"All reports to this survey: {_in_all(manifest)}."
                ),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": (
                    f"{TODO}: how the answer is made from what the device knows, and how epsilon "
                    "and the list of answers were chosen"
                ),
                "mechanisms": (
                    f"{_mechanism(manifest)} Sampled by the library deniable, in integers, from "
                    "the operating system's random generator, without floating point; truth and "
                    "lie are both computed, though Python guarantees no constant time. Both sides "
                    f"derive the integers from the signed manifest {manifest.survey_id.hex()}."
                ),
                "justification": f"{TODO}: why this mechanism, epsilon and schedule",
            },
            "administrative": {
                "sources": f"{TODO}: links to the figures, and to what describes them",
                "notes": f"{TODO}: what else a reader should know, or nothing",
                "registry_authors": [f"{TODO}: who filled out this entry"],
            },
        },
    }


def _question(manifest: Manifest) -> str:
    answers = manifest.all_answers
    listed = answers if len(answers) <= 10 else (*answers[:3], "…", answers[-1])
    return (
        f"Shares of the answers to “{manifest.question}” ({len(answers):,} answers: "
        f"{', '.join(listed)}), estimated from randomised responses of devices."
    )


def _loss(manifest: Manifest) -> Iterator[str]:
    privacy = manifest.mechanism.privacy
    yield "They are those of one report."
    if manifest.delta == "0" and privacy.odds is not None:
        odds = odds_text(privacy.odds)
        yield f"It changes the odds between any two answers by a factor of {odds} at most."
    elif manifest.delta != "0":
        yield f"Whatever delta, its epsilon is at most {privacy.epsilon}."
    if manifest.repeat != FRESH:
        yield (
            f"Responses are kept for {manifest.repeat.epochs:,} epochs: if the answer stays the "
            f"same, all reports of that time together reveal at most epsilon "
            f"{manifest.kept_epsilon}; if it changes they reveal more, and that it changed."
        )
    yield f"All reports of a device to this survey: {_in_all(manifest)}."


def _in_all(manifest: Manifest) -> str:
    """Return the charge of a device that takes part from the beginning."""
    charged = format_nano(reserved([manifest], manifest.schedule.start))
    if manifest.repeat == FRESH:
        return f"at most epsilon {charged}"
    return f"at most epsilon {charged}, if the answer changes between such times only"


def _actors(manifest: Manifest, *, relayed: bool) -> Iterator[str]:
    yield "The device and the app on it hold the answer, and are trusted with it."
    yield (
        "The collector's operator and whoever reads its store see randomised responses, "
        "and the network sees that a device reports: none of them is trusted with answers."
    )
    yield "The holder of the authority's key asks what the app declared, within its ceilings."
    yield (
        "Issuers vouch that each device is one, and do not see its responses."
        if manifest.enrolment.issuer_ids
        else "Nobody vouches that reports come from different devices."
    )
    learnt = Coalitions.of(manifest.enrolment.mode, relayed=relayed)
    yield f"{learnt.title}, as users are told: {learnt.text(learnt.rows)}"


def _mechanism(manifest: Manifest) -> str:
    k = len(manifest.categories)
    terms = manifest.kind.terms(manifest.specification.parameters, k)
    terms = terms or manifest.kind.name.replace("-", " ")
    return f"{terms[0].upper()}{terms[1:]}, over {k:,} categories."


def open_fields(entry: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of what only the operator can fill."""
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from open_fields(value, f"{path}{key}.")
        elif TODO in str(value):
            yield f"{path}{key}"


def entry_yaml(entry: Mapping[str, Any]) -> str:
    """Return an entry in YAML, as the registry takes it."""
    head = (
        "# A draft for https://github.com/opendp/deployments-registry-data: replace what says\n"
        "# TODO, put it into deployments/, and run scripts/check.py there.\n"
    )
    return head + "".join(f"{line}\n" for line in _lines(entry, 0))


def _lines(entry: Mapping[str, Any], depth: int) -> Iterator[str]:
    margin = "  " * depth
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield f"{margin}{key}:"
            yield from _lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {_scalar(item)}" for item in value)
        elif isinstance(value, str) and len(value) > _WIDTH - len(margin) - len(key):
            yield f"{margin}{key}: |"
            for line in textwrap.wrap(value, _WIDTH - len(margin), break_on_hyphens=False):
                yield f"{margin}  {line}"
        else:
            yield f"{margin}{key}: {_scalar(value)}"


def _scalar(value: object) -> str:
    # A JSON scalar is a YAML one.
    return json.dumps(value, ensure_ascii=False)
