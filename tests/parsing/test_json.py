"""JSON and JSON Lines."""

import json

import pytest

from app.core.errors import ParseFailed
from app.parsing.limits import ParseLimits
from tests.parsing.conftest import Parse, outline


def test_flat_records_are_a_table(parse: Parse) -> None:
    records = '[{"名称": "螺丝", "price": 2.50, "tags": ["a", "b"]}, {"名称": "Nut", "ok": true, "price": null}]'
    document = parse(records, "upload")
    table = document.elements[0].table
    assert table is not None
    assert table.rows == [
        ["名称", "price", "tags", "ok"],
        ["螺丝", "2.50", "a, b", ""],
        ["Nut", "", "", "true"],
    ]
    assert (document.media_type, table.header_rows) == ("application/json", 1)


def test_lines_are_records_and_broken_ones_are_named(parse: Parse) -> None:
    lines = [json.dumps({"id": number, "q": f"问{number}"}, ensure_ascii=False) for number in range(3)]
    document = parse("\n".join([*lines, "{broken", ""]), "a.jsonl")
    table = document.elements[0].table
    assert table is not None
    assert table.rows == [["id", "q"], ["0", "问0"], ["1", "问1"], ["2", "问2"]]
    assert document.warnings == ["1 lines are no valid JSON and were left out: 4."]


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_broken_line_may_be_among_the_first(parse: Parse, broken: int) -> None:
    lines = ['{"a": 1}', '{"a": 2}', '{"a": 3}']
    lines.insert(broken, "{broken")
    document = parse("\n".join(lines), "a.jsonl")
    assert document.elements[0].table is not None
    assert document.elements[0].table.rows == [["a"], ["1"], ["2"], ["3"]]
    assert document.warnings == [f"1 lines are no valid JSON and were left out: {broken + 1}."]


def test_nested_objects_are_sections_of_paths(parse: Parse) -> None:
    value = {
        "name": "service",
        "database": {"url": "pg", "pool": {"size": 5}},
        "note": "long " * 60,
        "servers": [{"host": "a", "port": 1}, {"host": "b", "port": 2}],
        "steps": [{"title": "Build", "runs": [{"x": [1]}]}, "plain"],
        "big": {f"k{number}": number for number in range(8)},
    }
    assert outline(parse(json.dumps(value), "a.json")) == [
        ("paragraph", 0, "name: service\ndatabase.url: pg\ndatabase.pool.size: 5"),
        ("paragraph", 0, "note: " + ("long " * 60).strip()),
        ("heading", 1, "servers"),
        ("table", 0, "| host | port |\n| --- | --- |\n| a | 1 |\n| b | 2 |"),
        ("heading", 1, "steps"),
        ("heading", 2, "Build"),
        ("paragraph", 0, "title: Build"),
        ("heading", 3, "runs"),
        ("table", 0, "| x |\n| --- |\n| 1 |"),
        ("list_item", 1, "plain"),
        ("heading", 1, "big"),
        ("paragraph", 0, "\n".join(f"k{number}: {number}" for number in range(8))),
    ]


def test_records_with_long_texts_are_sections(parse: Parse) -> None:
    records = [{"_id": str(number), "title": f"标题{number}", "text": "字" * 500} for number in range(3)]
    document = parse("\n".join(json.dumps(record) for record in records), "corpus.jsonl")
    assert outline(document)[:3] == [
        ("heading", 1, "标题0"),
        ("paragraph", 0, "_id: 0\ntitle: 标题0"),
        ("paragraph", 0, "text: " + "字" * 500),
    ]


@pytest.mark.parametrize(
    ("content", "name", "media_type"),
    [
        ('{"a": 1}', "a.txt", "application/json"),
        ('[\n  {"a": 1}, {}]', "a", "application/json"),
        ("{name} wrote this", "a.txt", "text/plain"),
        ("[1] Smith, On notes", "a.txt", "text/plain"),
        ("[link](x) text", "a.md", "text/markdown"),
        ('["a", "b"]\n', "a.csv", "text/csv"),
    ],
)
def test_json_is_told_by_content(parse: Parse, content: str, name: str, media_type: str) -> None:
    assert parse(content, name).media_type == media_type


def test_what_only_looks_like_json_is_plain_text(parse: Parse) -> None:
    document = parse('{"a": 1,\n // why\n "b": 2}', "a.json")
    assert "// why" in document.text
    assert document.warnings == ["It is no valid JSON (line 2); it was read as plain text."]


@pytest.mark.parametrize("content", ['{"a": {"b": [1, 2', '[{"a": 1}, {"a"', '{"a": "never clo'])
def test_what_is_cut_off_is_damaged(parse: Parse, content: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.json")
    assert failed.value.error_code == "damaged"


@pytest.mark.parametrize(
    "content",
    [
        "[" * 200_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        json.dumps([{"a": 1, "b": 2}] * 200),
        json.dumps([[1], [2]] * 200),
    ],
    ids=["brackets", "objects", "cells", "values"],
)
def test_hostile_json_is_refused(parse: Parse, content: str) -> None:
    with pytest.raises(ParseFailed) as failed:
        parse(content, "a.json", limits=ParseLimits(cells=100))
    assert failed.value.error_code == "too_complex"


def test_numbers_stay_as_written(parse: Parse) -> None:
    digits = "9" * 5000
    document = parse(f'{{"big": {digits}, "price": 2.50, "inf": 1e999}}', "a.json")
    assert "price: 2.50\ninf: 1e999" in document.text
    assert digits in document.text
