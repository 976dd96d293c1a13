"""`kb`."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich import print as show
from rich.markup import escape
from rich.table import Column, Table

from app.cli.client import find_knowledge_base, open_api

kb = typer.Typer(no_args_is_help=True, help="Knowledge bases.")


def register(app: typer.Typer) -> None:
    app.add_typer(kb, name="kb")


@kb.command("create")
def create(name: str, description: str = "") -> None:
    """Makes a knowledge base."""
    with open_api() as api:
        made = api.call("POST", "/v1/knowledge-bases", json={"name": name, "description": description})
        show(escape(f"Made “{made['name']}” ({made['id']})."))


@kb.command("list")
def list_all() -> None:
    """Lists knowledge bases."""
    table = Table(Column("name", overflow="fold"), Column("id", no_wrap=True), "description")
    with open_api() as api:
        for item in api.pages("/v1/knowledge-bases"):
            table.add_row(escape(item["name"]), item["id"], escape(item["description"]))
    show(table)


@kb.command("settings")
def settings(
    name: str,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SETTING=VALUE]...",
            help="Such as parsing.pdf=ocr, chunking.strategy=semantic or retrieval.top_k=20. Lists are JSON; "
            "null unsets what need not be set.",
        ),
    ] = None,
) -> None:
    """Shows the settings of a knowledge base, or changes those that are given and tells which are other than before."""
    wanted = [_assignment(change) for change in changes or []]
    with open_api() as api:
        found = find_knowledge_base(api, name)
        before = dict(_flat(found["settings"]))
        if wanted:
            body = {"settings": _with(found["settings"], wanted)}
            changed = api.call("PATCH", f"/v1/knowledge-bases/{found['id']}", json=body)
            _tell_changes(before, dict(_flat(changed["settings"])))
        else:
            table = Table("setting", Column("value", overflow="fold"))
            for setting, value in before.items():
                table.add_row(setting, escape(value))
            show(table)


@kb.command("delete")
def delete(name: str, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Deletes a knowledge base with all its documents."""
    with open_api() as api:
        found = find_knowledge_base(api, name)
        if not yes:
            typer.confirm(f"Delete “{found['name']}” and all its documents?", abort=True)
        api.call("DELETE", f"/v1/knowledge-bases/{found['id']}")
        show(escape(f"Deleted “{found['name']}”."))


def _assignment(change: str) -> tuple[list[str], Any]:
    """Path and value of a setting: JSON where it is some, else text."""
    setting, is_set, written = change.partition("=")
    if not is_set:
        raise typer.BadParameter(f"“{change}” gives {change} no value. Write SETTING=VALUE.")
    with suppress(ValueError):
        json.dumps(value := json.loads(written), allow_nan=False)
        return setting.split("."), value
    return setting.split("."), written


def _with(settings: dict[str, Any], wanted: list[tuple[list[str], Any]]) -> dict[str, Any]:
    """The settings with what is wanted, whether or not there is such a setting: the server says that."""
    for (*path, last), value in wanted:
        place = settings
        for part in path:
            if not isinstance(place.get(part), dict):
                place[part] = {}
            place = place[part]
        place[last] = value
    return settings


def _tell_changes(before: dict[str, str], after: dict[str, str]) -> None:
    changes = {name: (before.get(name, "null"), after.get(name, "null")) for name in before | after}
    differing = {name: (old, new) for name, (old, new) in changes.items() if old != new}
    for name, (old, new) in differing.items():
        show(escape(f"{name}: {old} → {new}"))
    if not differing:
        show("Nothing is other than before.")
    elif not all(name.startswith("retrieval.") for name in differing):
        show("Documents that are there keep theirs until they are reprocessed.")


def _flat(settings: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Each setting by its path, such as `parsing.pdf`, with its value: text as it is, all else as JSON."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield above + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
