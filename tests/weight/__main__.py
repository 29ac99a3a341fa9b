"""``make weight``: what everything weighs now, beside docs/architecture.md's budgets."""

from tests.weight.weight import Budget, budgets, counted, traced


def main() -> None:
    """Print the table."""
    rows = budgets()
    print(f"{'':60}{'now':>8}{'reached':>9}{'must':>8}{'goal':>8}")
    for name, figure in (counted() | traced()).items():
        row = rows.get(name, Budget(0, "", ""))
        excess = "  too much" if figure > row.reached else ""
        print(f"{name:60}{figure:8,}{row.reached:9,}{row.must:>8}{row.goal:>8}{excess}")


if __name__ == "__main__":
    main()
