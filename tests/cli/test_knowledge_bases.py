"""What a knowledge base is set to."""

from pathlib import Path

from tests.cli.conftest import Terminal


async def test_settings_are_shown_and_changed_one_by_one(logged_in: Terminal, knowledge_base: str) -> None:
    command = ("kb", "settings", knowledge_base)
    changed = await logged_in.run(
        *command, "parsing.pdf=ocr", "retrieval.top_k=20", 'chunking.recursive.separators=["§", "\\n"]'
    )
    assert changed.code == 0, changed
    told = ("parsing.pdf: auto → ocr", "retrieval.top_k: 10 → 20", 'separators: null → ["§", "\\n"]', "reprocessed")
    assert [part for part in told if part not in changed.out] == []
    weights = await logged_in.run(*command, 'retrieval.fusion.weights={"dense": 1, "bm25": 2}')
    assert ("retrieval.fusion.weights.bm25: null → 2.0" in weights.out, "reprocessed" in weights.out) == (True, False)
    shown = " ".join((await logged_in.run(*command)).out.replace("│", " ").split())
    kept = (
        "parsing.pdf ocr",
        "retrieval.top_k 20",
        'separators ["§", "\\n"]',
        "weights.bm25 2.0",
        "strategy structure",
    )
    assert [part for part in kept if part not in shown] == []
    assert "weights.bm25: 2.0 → null" in (await logged_in.run(*command, "retrieval.fusion.weights=null")).out
    assert "Nothing is other than before." in (await logged_in.run(*command, "parsing.pdf=ocr")).out


async def test_chunks_follow_the_setting(logged_in: Terminal, knowledge_base: str, tmp_path: Path) -> None:
    small = [f"chunking.{name}={size}" for name, size in (("target_tokens", 32), ("max_tokens", 40), ("min_tokens", 0))]
    (tmp_path / "long.md").write_text("The lamp of the harbour shines far over the sea. " * 20)
    upload = ("upload", str(tmp_path / "long.md"), "--kb", knowledge_base)
    assert (await logged_in.run("kb", "settings", knowledge_base, *small, "chunking.overlap_tokens=0")).code == 0
    assert (await logged_in.run(*upload)).code == 0
    told = await logged_in.run("document", "show", "long.md", "--kb", knowledge_base)
    chunks = told.out.replace("│", " ").split("chunks")[1].split()[0]
    assert int(chunks) > 4, told


async def test_what_is_no_setting_is_refused_and_nothing_is_changed(logged_in: Terminal, knowledge_base: str) -> None:
    command = ("kb", "settings", knowledge_base)
    for bad, said in (
        ("parsing.pfd=ocr", "parsing.pfd` in the body is not known here"),
        ("parsing.pdf=slow", "parsing.pdf` in the body should be 'auto', 'fast', 'layout' or 'ocr'"),
        ("parsing.pdf.mode=ocr", "parsing.pdf` in the body should be"),
        ("retrieval.top_k=NaN", "retrieval.top_k` in the body should be a valid integer"),
        ("chunking=1", "chunking` in the body should be"),
    ):
        refused = await logged_in.run(*command, "retrieval.mode=dense", bad)
        assert (refused.code, refused.error.startswith("validation_failed: ")) == (1, True), refused
        assert said in refused.error
    wordless = await logged_in.run(*command, "retrieval.mode=dense", "parsing.pdf")
    assert (wordless.code, "gives parsing.pdf no value" in wordless.error) == (2, True), wordless
    assert "dense" not in (await logged_in.run(*command)).out.replace("min_dense_score", "")
