"""`polyonym kb …`: the knowledge base that names are linked to."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from polyonym.flows.cli import app
from polyonym.flows.cli.common import DEFAULT_HOME, ConfigOption, HomeOption, JsonOption, out, print_json, print_table
from polyonym.flows.home.home import Home
from polyonym.flows.home.progress import Timings, console
from polyonym.flows.home.settings import load_settings
from polyonym.ingest.errors import WrongUse

kb = typer.Typer(
    no_args_is_help=True, help="The knowledge base that names are linked to: import one, build one from a Wikidata dump, add single items."
)
app.add_typer(kb, name="kb")


@kb.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON lines, plain or gzipped: qid, label, aliases, description, types, sitelinks.")],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import a knowledge base; it replaces the one before, and names are linked anew at the next ingest."""
    from polyonym.resolution.linking.knowledge_base import build, read_items

    if not file.is_file():
        raise WrongUse(f"{file} does not exist.")
    place = Home(home)
    settings = load_settings(home, config)
    skipped: list[str] = []
    with place.held(), Timings().stage("Importing", 100, "%") as stage:
        place.make(settings).dispose()
        count = build(
            place.knowledge_base, read_items(file, skipped, lambda share: stage.advance(int(share * 100) - stage.done)), str(file.name)
        )
    if as_json:
        print_json({"items": count, "skipped": skipped})
        return
    out.print(f"{count:,} items imported from {file.name} into {place.path}.")
    if skipped:
        console.print(f"[yellow]{len(skipped)} lines could not be used[/yellow], the first: {skipped[0]}")


@kb.command("build")
def build_(
    dump: Annotated[Path, typer.Argument(help="A Wikidata JSON dump: latest-all.json.bz2, .gz or plain, one entity a line.")],
    languages: Annotated[str, typer.Option(help="Languages of the labels and aliases to keep, separated by commas.")] = "en,mul",
    classes: Annotated[str, typer.Option(help="Keep only instances of these classes (Q-ids separated by commas); empty: all.")] = "",
    subclasses: Annotated[
        Path | None, typer.Option(help="File with two ids a line, class and superclass (P279), so that subclasses count.")
    ] = None,
    min_sitelinks: Annotated[int, typer.Option(min=0, help="Keep only items with at least so many pages in Wikimedia's projects.")] = 1,
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build the knowledge base from a Wikidata dump, streaming, in little memory; interrupted, the same command goes on."""
    from polyonym.resolution.linking.wikidata.dump import DumpChoice, read_dump, write_read
    from polyonym.resolution.linking.wikidata.entity import read_qids

    if not dump.is_file():
        raise WrongUse(f"{dump} does not exist.")
    choice = DumpChoice(_listed(languages), read_qids(_listed(classes)), min_sitelinks, subclasses)
    place = Home(home)
    place.make(load_settings(home, config)).dispose()
    timings = Timings()
    with place.held():
        with timings.stage("Reading the dump", 100, "%") as reading:
            summary = read_dump(dump, place.knowledge_base, choice, lambda share, _: reading.advance(int(share * 100) - reading.done))
        with timings.stage("Writing", 100, "%") as writing:
            write_read(dump, place.knowledge_base, lambda share: writing.advance(int(share * 100) - writing.done))
    if as_json:
        print_json(vars(summary))
        return
    out.print(f"{summary.kept:,} items of {summary.lines:,} entities kept in {place.path}.")
    if summary.malformed:
        console.print(f"[yellow]{summary.malformed:,} lines were malformed[/yellow] and left out: {escape('; '.join(summary.examples))}")
    if summary.cut_off:
        console.print("[yellow]The dump breaks off before its end[/yellow]: entities are missing.")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


@kb.command("add-wikidata")
def add_wikidata(
    qids: Annotated[list[str], typer.Argument(help="Wikidata ids, e.g. Q312 Q95.")],
    home: HomeOption = DEFAULT_HOME,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch single items from Wikidata and add them to the knowledge base."""
    from polyonym.flows.home.knowledge import wikidata_settings
    from polyonym.resolution.linking.wikidata import client as wikidata

    place = Home(home)
    settings = load_settings(home, config)
    engine = place.make(settings)
    with place.held():
        client = wikidata.Wikidata(engine, wikidata_settings(settings))
        try:
            added = wikidata.add_wikidata(client, place.knowledge_base, qids)
        finally:
            client.close()
    if as_json:
        print_json({"added": [item.id for item in added.items], "redirects": added.redirects, "missing": added.missing})
        return
    out.print(f"{len(added.items):,} of {len(qids):,} items added.")
    for missing in added.missing:
        console.print(f"[yellow]{missing}[/yellow] does not exist at Wikidata.")


@kb.command("find")
def find(
    name: Annotated[str, typer.Argument(help="A name, as it stands in a document.")],
    home: HomeOption = DEFAULT_HOME,
    as_json: JsonOption = False,
) -> None:
    """Show the items that answer to a name."""
    from polyonym.resolution.linking.knowledge_base import KnowledgeBase

    place = Home(home)
    if not place.knowledge_base.exists():
        raise WrongUse(f"{home} has no knowledge base yet. Import one: polyonym kb import FILE --home {home}")
    base = KnowledgeBase(place.knowledge_base)
    try:
        candidates = base.candidates([name])[name]
    finally:
        base.close()
    rows: list[dict[str, Any]] = [
        {"id": c.item.id, "label": c.item.label, "matched": c.matched, "match": c.match, "description": c.item.description}
        for c in candidates
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(f"{len(rows)} items answer to {name!r}", ("id", "label", "matched", "match", "description"), (r.values() for r in rows))  # type: ignore[misc]
