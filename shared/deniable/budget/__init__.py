"""Budget: what reports cost in privacy, in exact integer units."""

from deniable.budget.cost import NANO, Ceiling, epsilon_to_nano, format_nano, pure_cost

__all__ = ["NANO", "Ceiling", "epsilon_to_nano", "format_nano", "pure_cost"]
