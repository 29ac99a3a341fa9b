"""A command-line tool that asks for consent and lets its user review and change it.

Start a collector, publish its example survey and export it (see the README), then run this beside
the exported file, with the ``authority`` from collector.toml:

    python examples/consent_cli.py AUTHORITY rate good
    python examples/consent_cli.py AUTHORITY privacy explain
    python examples/consent_cli.py AUTHORITY privacy journal
    python examples/consent_cli.py AUTHORITY privacy consent off
"""

import sys
from pathlib import Path

from deniable.client import Client, Consent, StateUnavailable, Survey, device_commands

VERSION = "1.0"  # of this tool
BUNDLE = Path("rating-of-marriage.json")  # a real tool keeps it beside its code


def ask(client: Client) -> None:
    """Ask whoever has not decided yet, and again once an update asks for more than was agreed to.

    A decision is remembered, also "no": at first by the client, as ``off``. To an update's question
    "no" leaves what was agreed to before, and no decision is stored, so this tool itself remembers
    not to ask again before its next version. (With several surveys it could ask about each, and
    store ``set_consent("on", surveys=[...])``.)
    """
    agreed_before = client.consent_record.decided is Consent.ON
    declined = state_file().with_name(f"declined-{VERSION}")
    if not client.uncovered or (agreed_before and declined.exists()):
        return
    print(client.explain().brief(), end="\n\n")
    try:
        typed = input("Take part? You can change it by `privacy consent`. [y/N] ")
    except EOFError:  # nobody to ask: consent stays undecided, and nothing is reported
        return
    agrees = typed.strip().lower() == "y"
    try:
        if agreed_before and not agrees:
            declined.touch()
        else:
            client.set_consent("on" if agrees else "off", origin="prompt", strict=True)
    except (OSError, StateUnavailable) as error:
        print(f"You will be asked again: this could not be stored: {error}", file=sys.stderr)


def state_file() -> Path:
    """Return where this tool remembers."""
    try:
        return Path.home() / ".local" / "state" / "example-cli" / "telemetry.sqlite"
    except RuntimeError:
        raise StateUnavailable("this user has no home directory") from None


def rating() -> Survey:
    """Return the one survey, of a file that `deniable survey export` wrote."""
    return Survey.bundled(BUNDLE, max_epsilon="1")


def telemetry(authority: str, survey: Survey) -> Client:
    """Return the tool's client."""
    return Client(
        "http://127.0.0.1:8377",
        authority=authority,
        surveys=[survey],
        state=state_file(),
        background=False,  # a short-lived tool sends with flush()
    )


def rate(authority: str, answer: str) -> int:
    """Report an answer, if its user agrees; return the exit status."""
    survey = rating()
    if answer not in survey.categories:  # report() raises for anything undeclared
        print(f"The answers are: {', '.join(survey.categories)}.", file=sys.stderr)
        return 2
    with telemetry(authority, survey) as client:
        ask(client)
        outcome = client.report(survey, answer)
        print(outcome.status, outcome.error or "")
        client.flush(timeout=5)
        client.refresh()  # for the next run: look for a successor survey
    return 0


def main(arguments: list[str]) -> int:
    """Run one command of the tool; return its exit status."""
    match arguments:
        case [authority, "rate", answer]:
            return rate(authority, answer)
        case [authority, "privacy", *words]:
            with telemetry(authority, rating()) as client:
                return device_commands(client, words, prog="consent_cli.py AUTHORITY privacy")
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except StateUnavailable as error:
        sys.exit(f"Nothing was reported: {error}")
