"""What is told: whole lines to files and other programs, tables that lose nothing to people."""

import io
import re
import time
from pathlib import Path

import pytest
from rich import get_console

from tests.cli.conftest import Terminal
from tests.conftest import Register

LONG = "harbour-" * 40


async def test_lines_to_another_program_are_whole(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = f"{LONG[:200]}.txt"
    (tmp_path / name).write_text("The tide tables of the harbour list high and low water. " * 5)
    assert (await logged_in.run("upload", str(tmp_path / name), "--kb", knowledge_base)).code == 0
    assert name in (await logged_in.run("status", "--kb", knowledge_base)).out
    assert name in (await logged_in.run("search", "tide tables", "--kb", knowledge_base)).out


async def test_a_narrow_terminal_shows_names_to_their_end(logged_in: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{LONG[:100]}-{id(logged_in)}"
    assert (await logged_in.run("kb", "create", name)).code == 0
    monkeypatch.setattr(get_console(), "_force_terminal", True)  # as rich's FORCE_COLOR would at its start
    monkeypatch.setattr(get_console(), "_width", 80)
    listed = (await logged_in.run("kb", "list")).out
    assert "…" not in listed
    assert str(id(logged_in)) in listed.replace("│", "").replace(" ", "")


async def test_a_chat_ends_with_its_input(logged_in: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Is there anything?\n"))
    said = await logged_in.run("chat")
    assert (said.code, said.error) == (0, "")
    assert said.out.startswith(">")


async def test_what_the_stores_hold_is_a_table(terminal: Terminal, register: Register, tmp_path: Path) -> None:
    person = await register()
    (tmp_path / "tides.txt").write_text("High water is at noon.")
    for arguments in (
        ("login", "--email", person.email, "--password", person.password),
        ("kb", "create", "Tides"),
        ("upload", str(tmp_path / "tides.txt"), "--kb", "Tides"),
    ):
        assert (await terminal.run(*arguments)).code == 0
    for command in ("verify", "repair"):
        said = await terminal.run(command)
        assert said.code == 0, said
        assert re.search(r"│ vectors │ (\d+) │ \1 │ 0 │ 0 │ │ terms │ \1 │ \1 │ 0 │ 0 │", said.out), said
        assert said.out.endswith("1 of 1 tenants clean.")


async def test_an_original_that_was_lost_is_named(logged_in: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"wanted": 1, "found": 1, "missing": 0, "orphaned": 0}
    report = {
        "clean": False,
        "vectors": counts,
        "terms": counts,
        "blobs_missing": ["originals/[7]"],
        "blobs_orphaned": 2,
        "unpurged_documents": ["01a2"],
    }
    monkeypatch.setattr("app.cli.consistency._call", lambda *_: report)
    said = await logged_in.run("verify")
    assert said.code == 1
    assert "│ originals │ │ │ 1 │ 2 │" in said.out
    assert "Lost, to be uploaded again: originals/[7] Not purged: document 01a2 0 of 1 tenants clean." in said.out


async def test_the_state_of_the_service_is_a_table(terminal: Terminal) -> None:
    said = await terminal.run("status")
    assert said.code == 0
    assert "│ vector index │ ok" in said.out


async def test_moments_are_in_the_time_zone_of_the_reader(
    logged_in: Terminal, knowledge_base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tides.txt").write_text("Low water is at six.")
    assert (await logged_in.run("upload", str(tmp_path / "tides.txt"), "--kb", knowledge_base)).code == 0
    monkeypatch.setenv("TZ", "CST-8")
    time.tzset()
    try:
        shown = (await logged_in.run("document", "show", "tides.txt", "--kb", knowledge_base)).out
    finally:
        monkeypatch.undo()
        time.tzset()
    assert re.search(r"uploaded │ \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CST │", shown), shown
