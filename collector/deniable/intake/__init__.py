"""Intake: the reports that are accepted, and for how long. Pure: bytes, a clock and surveys in."""

from deniable.intake.judge import judge_report
from deniable.intake.life import Action, Due, due, finished

__all__ = ["Action", "Due", "due", "finished", "judge_report"]
