"""What keeping responses does to privacy, in words, for whoever publishes or audits a survey."""

from deniable.budget import constant_cost, format_nano, pure_cost
from deniable.messages import Manifest
from deniable.publishing.survey_file import duration_text


def repeat_terms(manifest: Manifest) -> list[tuple[str, str]]:
    """Return labels and lines about responses that are kept; none for a fresh survey.

    All epsilons are rounded up.
    """
    if manifest.repeat.epochs is None:
        return []
    epochs, one = manifest.repeat.epochs, manifest.epsilon
    one += "" if manifest.delta == "0" else f", delta {manifest.delta}"
    length = duration_text(epochs * manifest.schedule.epoch_seconds)
    rounds = manifest.mechanism.rounds
    if rounds is None:
        return [
            ("repeat", f"memoised: one response an answer, for {epochs:,} epochs ({length})"),
            ("constant", f"answers reveal epsilon {one} in that time, however many reports"),
            ("changing", "answers show that they changed: no epsilon covers that"),
            ("linking", "equal responses link a device's epochs, though its keys do not"),
        ]
    two = format_nano(constant_cost(rounds, 2))
    each = format_nano(pure_cost(rounds.fresh))
    return [
        ("repeat", f"two rounds: the first kept for {epochs:,} epochs ({length}), the second"),
        ("", f"fresh for each report; epsilon {one} is that of one report, of both rounds"),
        (
            "constant",
            f"answers reveal epsilon {two} by two reports, {manifest.kept_epsilon} by any number",
        ),
        ("changing", f"answers show that they changed up to epsilon {each} for each report"),
        ("linking", "of a device's epochs is hampered by the second round alone"),
    ]
