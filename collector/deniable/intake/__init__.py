"""Intake: the reports that are accepted, and for how long. Pure: bytes, a clock and surveys in."""

from deniable.intake.judge import KnownSurvey, judge_report
from deniable.intake.life import Action, Due, due, finished

__all__ = ["Action", "Due", "KnownSurvey", "due", "finished", "judge_report"]
