"""``deniable registry``: a survey's entry for the public registry of deployments."""

import json
from pathlib import Path

import click

from deniable.cli.options import a_file, json_option
from deniable.cli.reading import Place, reading_options
from deniable.reading import find_version


@click.command()
@click.argument("name")
@reading_options
@click.option("--survey", "survey_id", help="How its id begins.  [default: newest]")
@click.option("--out", type=a_file, help="Where to write it.  [default: standard output]")
@click.option(
    "--relayed",
    is_flag=True,
    help="Of an app whose reports go through a relay.  [default: if relayed_from says so in --dir]",
)
@json_option
def registry(
    name: str,
    place: Place,
    survey_id: str | None,
    out: Path | None,
    *,
    relayed: bool,
    as_json: bool,
) -> None:
    """Write the newest survey of NAME as an entry of the registry of deployments.

    It is YAML, as github.com/opendp/deployments-registry-data takes it. What the manifest tells is
    filled; what only you know says TODO.
    """
    from deniable.publishing.deployment_entry import deployment_entry, entry_yaml, open_fields

    with place.source() as source:
        manifest = find_version(name, source.manifests(name), survey_id)
    relayed = relayed or place.relays(manifest)
    entry = deployment_entry(manifest, relayed=relayed)
    text = json.dumps(entry, indent=2, ensure_ascii=False) + "\n" if as_json else entry_yaml(entry)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        click.echo(f"wrote {out}; for you to fill:")
        for field in open_fields(entry):
            click.echo(f"  {field}")
