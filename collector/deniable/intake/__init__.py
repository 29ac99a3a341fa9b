"""Intake: which reports are admissible. Pure: bytes, a clock and the surveys in, reports out."""

from deniable.intake.judge import KnownSurvey, judge_report

__all__ = ["KnownSurvey", "judge_report"]
