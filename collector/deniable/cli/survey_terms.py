"""What responses of a design tell, in words, beside a histogram."""

from deniable.mechanisms import SurveyMechanism
from deniable.mechanisms.design import DesignMechanism


def supporting_text(mechanism: SurveyMechanism) -> str | None:
    """Return how many answers a design's response supports, and how often each; else None."""
    if not isinstance(mechanism, DesignMechanism):
        return None
    return (
        f"Each response supports {mechanism.design.extent} answers: one that nobody has is "
        f"supported by {float(mechanism.miss):.1%} of responses, one that everybody has by "
        f"{float(mechanism.hit):.1%}."
    )
