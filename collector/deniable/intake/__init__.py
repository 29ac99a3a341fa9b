"""Intake: what is taken, and for how long. Pure: bytes, a clock and the surveys in, reports out."""

from deniable.intake.judge import KnownSurvey, judge_report
from deniable.intake.life import Action, Due, due, finished

__all__ = ["Action", "Due", "KnownSurvey", "due", "finished", "judge_report"]
