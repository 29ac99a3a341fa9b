"""The command that tests a device against the protocol's rules."""

import click

from deniable.cli.options import json_option
from deniable.cli.screen import progress, show


@click.command()
@click.option("--device", "command", required=True, help="Command that runs the device.")
@click.option(
    "--rule", "rules", multiple=True, help="Check only this rule, such as D5; repeatable."
)
@json_option
@click.pass_context
def conformance(ctx: click.Context, command: str, rules: tuple[str, ...], *, as_json: bool) -> None:
    """Test a device in any language against a hostile collector; show which rules it follows.

    The device exchanges lines of JSON on standard input and output (docs/conformance.md). The
    tester supplies its clocks, and all traffic stays on this machine. The exit status is 1 if a
    rule fails or cannot be judged.
    """
    # Imported here: --help does not wait for the scenarios' imports.
    from deniable.conformance import (
        RULES,
        AdapterBroke,
        Verdict,
        hello,
        judge,
        play_all,
        scenarios_of,
        verdicts_document,
    )

    if unknown := sorted({*rules} - RULES.keys()):
        raise click.BadParameter(
            f"{unknown[0]} is not one of {', '.join(RULES)}", param_hint="--rule"
        )
    chosen = [rule for rule in RULES if not rules or rule in rules]
    try:
        said = hello(command)
    except AdapterBroke as error:
        raise click.ClickException(f"the device does not respond: {error}") from error
    with progress("scenarios", len(scenarios_of(chosen))) as done:
        played = play_all(command, said["offers"], chosen, lambda: done(1))
    judgements = judge(played, chosen)
    show(verdicts_document(said, judgements), as_json=as_json)
    if any(judgement.verdict in {Verdict.FAILS, Verdict.UNJUDGED} for judgement in judgements):
        ctx.exit(1)
