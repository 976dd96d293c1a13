"""Parents over HTTP: children are found, and what holds them is read."""

from typing import Any

from tests.chunks.shelf import FAMILIES, Shelf
from tests.conftest import Register

SUBJECTS = ("ferries", "lighthouses", "harbours", "glaciers", "orchards", "violins", "beehives", "windmills")


def section(subject: str, sentences: int = 12) -> str:
    text = " ".join(f"Fact {number} about {subject} was written down by hand." for number in range(sentences))
    return f"# About {subject}\n\n{text}"


HANDBOOK = "\n\n".join(section(subject) for subject in SUBJECTS)


async def clean(shelf: Shelf) -> bool:
    return bool((await shelf.get("/v1/consistency"))["clean"])


async def test_the_parent_of_a_child_is_read(register: Register) -> None:
    shelf = await Shelf.of(await register(), {"strategy": "parent_child", "parent_child": FAMILIES, "min_tokens": 0})
    document_id = await shelf.add(HANDBOOK)
    children = await shelf.chunks(document_id)
    everything = await shelf.chunks(document_id, parents=True)
    parents = {one["id"]: one for one in everything[len(children) :]}
    assert {one["level"] for one in children} == {0}
    assert {one["level"] for one in parents.values()} == {1}
    assert len(parents) == len(SUBJECTS)
    assert (await shelf.get(f"/v1/documents/{document_id}"))["chunk_count"] == len(children)

    found = await shelf.retrieve("fact 3 about lighthouses", top_k=3, explain=True)
    best = found["hits"][0]
    parent = parents[best["chunk_id"]]
    assert best["heading_path"] == ["About lighthouses"]
    assert (best["text"], best["start"], best["end"]) == (parent["text"], parent["start_offset"], parent["end_offset"])
    assert {one["parent_id"] for one in children if one["id"] in best["merged_from"]} == {parent["id"]}
    assert {"lighthous", "fact"} <= set(best["matched_terms"])
    assert len({hit["chunk_id"] for hit in found["hits"]}) == 3
    merges = found["explanation"]["merges"]
    assert [one["chunk_id"] for one in merges] == [hit["chunk_id"] for hit in found["hits"]]
    assert merges[0]["always_read"]
    outcomes = {one["chunk_id"]: one for one in found["explanation"]["dense"]["candidates"]}
    assert all(outcomes[one]["outcome"] == "merged" for one in best["merged_from"] if one in outcomes)
    assert await clean(shelf)


async def test_the_child_itself_is_read_on_request(register: Register) -> None:
    shelf = await Shelf.of(await register(), {"strategy": "parent_child", "parent_child": FAMILIES})
    await shelf.add(HANDBOOK)
    best = (await shelf.retrieve("fact 3 about lighthouses", auto_merge=False))["hits"][0]
    assert best["merged_from"] == []
    assert len(best["text"]) < 400


async def test_levels_are_merged_as_far_as_enough_is_found(register: Register) -> None:
    sizes = {"leaf_tokens": 48, "middle_tokens": 120, "top_tokens": 400}
    shelf = await Shelf.of(await register(), {"strategy": "hierarchical", "hierarchical": sizes, "min_tokens": 0})
    document_id = await shelf.add(HANDBOOK)
    levels = {one["id"]: one["level"] for one in await shelf.chunks(document_id, parents=True)}
    assert set(levels.values()) == {0, 1, 2}

    def highest(found: dict[str, Any]) -> int:
        return max(int(levels[hit["chunk_id"]]) for hit in found["hits"])

    assert highest(await shelf.retrieve("facts about lighthouses", top_k=4, merge_share=0.01)) == 2
    assert highest(await shelf.retrieve("facts about lighthouses", top_k=1, merge_share=1)) == 0
    default = await shelf.retrieve("facts about lighthouses", top_k=3)
    assert default["settings"]["merge_share"] == 0.5
    assert "About lighthouses" in default["hits"][0]["heading_path"]
    assert await clean(shelf)


async def test_why_a_parent_is_not_there(register: Register) -> None:
    sizes = {"leaf_tokens": 48, "middle_tokens": 120, "top_tokens": 400}
    shelf = await Shelf.of(await register(), {"strategy": "hierarchical", "hierarchical": sizes, "min_tokens": 0})
    document_id = await shelf.add(HANDBOOK)
    parent = (await shelf.chunks(document_id, parents=True))[-1]
    found = await shelf.retrieve("fact", top_k=1, merge_share=1, explain_chunk_ids=[parent["id"]])
    (explained,) = found["explanation"]["chunks"]
    assert explained["outcome"] == "not_searched"
    assert "read where enough" in explained["reason"]


async def test_what_was_disabled_or_edited_is_not_read_in_a_parent(register: Register) -> None:
    shelf = await Shelf.of(await register(), {"strategy": "parent_child", "parent_child": FAMILIES, "min_tokens": 0})
    document_id = await shelf.add(HANDBOOK)
    children = await shelf.chunks(document_id)
    child = next(one for one in children if "Fact 0 about harbours" in one["text"])

    async def texts() -> list[str]:
        return [hit["text"] for hit in (await shelf.retrieve("fact 0 about harbours", top_k=20))["hits"]]

    assert sum("Fact 0 about harbours" in text for text in await texts()) == 1
    await shelf.change(child["id"], enabled=False)
    assert not any("Fact 0 about harbours" in text for text in await texts())
    assert any("about harbours" in text for text in await texts()), "its neighbours are found themselves"
    await shelf.change(child["id"], enabled=True)
    assert max(len(text) for text in await texts() if "Fact 0 about harbours" in text) > 400

    await shelf.change(child["id"], text="The harbours were closed for good.")
    found = await texts()
    assert "The harbours were closed for good." in found
    assert not any("Fact 0 about harbours" in text for text in found)
    assert await clean(shelf)


async def test_what_was_edited_is_not_read_in_a_parent_of_a_new_version(register: Register) -> None:
    shelf = await Shelf.of(await register(), {"strategy": "parent_child", "parent_child": FAMILIES, "min_tokens": 0})
    document_id = await shelf.add(HANDBOOK, external_id="handbook")
    child = next(one for one in await shelf.chunks(document_id) if "Fact 0 about harbours" in one["text"])
    await shelf.change(child["id"], text="The harbours were closed for good.")
    await shelf.add(HANDBOOK + "\n\n# Weather\n\nRain falls on most days.", external_id="handbook")
    found = [hit["text"] for hit in (await shelf.retrieve("fact 0 about harbours", top_k=20))["hits"]]
    assert "The harbours were closed for good." in found
    assert not any("Fact 0 about harbours" in text for text in found)
    assert await clean(shelf)


async def test_the_text_of_a_parent_is_that_of_its_children(register: Register) -> None:
    shelf = await Shelf.of(await register(), {"strategy": "parent_child", "parent_child": FAMILIES})
    document_id = await shelf.add(HANDBOOK)
    parent = (await shelf.chunks(document_id, parents=True))[-1]
    answer = await shelf.person.client.patch(f"/v1/chunks/{parent['id']}", json={"text": "Other."})
    assert (answer.status_code, answer.json()["code"]) == (409, "chunk_is_parent")
    assert (await shelf.change(parent["id"], enabled=False))["enabled"] is False
    found = await shelf.retrieve(f"fact 3 about {SUBJECTS[-1]}", top_k=20)
    assert parent["id"] not in {hit["chunk_id"] for hit in found["hits"]}
