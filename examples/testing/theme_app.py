"""An app with one setting, and one question about it."""

from os import PathLike

from deniable.client import Client, Survey

THEME = Survey(
    name="theme",
    question="Which theme do you use?",
    categories=("dark", "light", "as the system has it"),
    max_epsilon="1",
)
COLLECTOR = "https://telemetry.example.org"
AUTHORITY = "2c546f64f07df4fe1863ca51669193f90cd593a49ab9ec5d493dcf3b07321228"


class App:
    """The app; where it reports to can be told, so that its tests can tell it.

    Args:
        state: path of the client's state file.
        collector: the collector's origin.
        authority: its public key.
    """

    def __init__(
        self, state: str | PathLike[str], collector: str = COLLECTOR, authority: str = AUTHORITY
    ) -> None:
        self.theme = "as the system has it"
        self.telemetry = Client(collector, authority=authority, surveys=[THEME], state=state)

    def has_to_ask(self) -> bool:
        """Tell whether to ask the user: at the first start, or once an update asks for more."""
        return bool(self.telemetry.uncovered)

    def answer_consent_question(self, *, agreed: bool) -> bool:
        """Store what the user answered when asked; tell whether that could be stored."""
        return self.telemetry.set_consent("on" if agreed else "off", origin="start")

    def choose_theme(self, theme: str) -> None:
        """Change the setting, and report it."""
        self.theme = theme
        self.telemetry.report("theme", theme)

    def close(self) -> None:
        """End the app."""
        self.telemetry.close()
