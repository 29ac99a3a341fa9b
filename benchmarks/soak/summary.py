"""The table that docs/reliability.md shows, and the promises that it is judged by."""

from dataclasses import dataclass

from benchmarks.soak.checking import Outcome
from benchmarks.soak.plan import Plan
from benchmarks.soak.tally import Tally


@dataclass(frozen=True, slots=True)
class Summary:
    """A soak that is over.

    Attributes:
        plan: what was asked for.
        store: what kind of store it had.
        seconds: how long the load lasted.
        sustainable: reports a second, before.
        offered: reports a second, valid and invalid, under load.
        tally: what happened.
        outcome: what the store holds.
        unfinished: reports whose devices still waited when they were given up.
    """

    plan: Plan
    store: str
    seconds: float
    sustainable: float
    offered: float
    tally: Tally
    outcome: Outcome
    unfinished: int

    def broken(self) -> list[str]:
        """Return the promises that were broken, each in words."""
        outcome, tally = self.outcome, self.tally
        most = self.plan.most_memory * 1024
        found = {
            "acknowledged reports were lost": outcome.lost,
            "reports were counted twice": outcome.doubled,
            "reports were counted that nobody sent": outcome.never_sent,
            "devices never learned what became of their reports": self.unfinished,
            "faults were found by store check": len(outcome.faults),
            "reports were neither acknowledged nor refused": outcome.sent - outcome.acknowledged,
            f"kinds of processes took more than {self.plan.most_memory} MiB": sum(
                peak > most for name, peak in tally.peaks.items() if name != "load generator"
            ),
            **tally.broken,
        }
        return [f"{number:,} {what}" for what, number in found.items() if number]

    def table(self) -> str:
        """Return the summary in Markdown."""
        outcome, tally = self.outcome, self.tally
        statuses = {status or "no answer": n for status, n in sorted(tally.statuses.items())}
        rows = [
            ("load", f"{self.seconds / 60:.3g} minutes"),
            ("store, serving processes", f"{self.store}, {self.plan.workers}"),
            ("sustainable rate, valid reports only", f"{self.sustainable:,.0f} reports/s"),
            (
                f"offered load, {self.plan.invalid:.0%} of it invalid",
                f"{self.offered:,.0f} reports/s ({self.offered / self.sustainable:.2f} ×)",
            ),
            ("reports sent by honest devices", f"{outcome.sent:,}"),
            ("acknowledged", f"{outcome.acknowledged:,}"),
            ("counted", f"{outcome.counted:,}"),
            ("**lost**: acknowledged, not counted", f"**{outcome.lost:,}**"),
            ("**doubled**: counted twice", f"**{outcome.doubled:,}**"),
            ("**invented**: counted, never sent", f"**{outcome.never_sent:,}**"),
            ("faults found by `deniable store check`", f"{len(outcome.faults):,}"),
            ("uploads sent again", f"{tally.retries:,}"),
            ("kills and restarts", _listed(tally.kills)),
            ("requests by status", _listed(statuses)),
            ("invalid requests", _listed(tally.invalid)),
            ("refused reports by code, in invalid requests", _listed(tally.refused)),
            (
                "peak memory of a process",
                ", ".join(
                    f"{name} {peak / 1024:,.0f} MiB" for name, peak in sorted(tally.peaks.items())
                ),
            ),
        ]
        return "\n".join(
            ["| | |", "|---|---|", *(f"| {label} | {value} |" for label, value in rows)]
        )


def _listed(numbers: "dict[str | int, int] | dict[str, int]") -> str:
    return ", ".join(f"{name}: {number:,}" for name, number in numbers.items()) or "none"
