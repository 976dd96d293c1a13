"""What the README tells people to type works, against the demo's documents."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest

from app.demo.load import Demo, load_demo
from tests.cli.conftest import Terminal

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text()


@pytest.fixture(scope="session")
async def demo_folder(address: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Demo]:
    """A working folder as `make run` leaves it, and the demo that was loaded."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "data").mkdir()
    shutil.copy(REPOSITORY / "LICENSE", folder)
    return folder, await load_demo(address, folder / "data")


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("python3"), reason="needs curl and python3")
async def test_the_calls_over_http_run_from_top_to_bottom(demo_folder: tuple[Path, Demo], address: str) -> None:
    folder, _ = demo_folder
    [block] = re.findall(r"```sh\n(API=.*?)```", README, re.DOTALL)
    script = "set -eu\n" + block.replace("http://127.0.0.1:8000", address).replace(
        "curl ", "curl --silent --fail-with-body "
    )
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    said = out.decode()
    assert process.returncode == 0, said
    upload, rest = json.JSONDecoder().raw_decode(said)
    found, end = json.JSONDecoder().raw_decode(said, rest)
    answer, end = json.JSONDecoder().raw_decode(said, end)
    assert upload["document"]["name"] == "LICENSE"
    assert "compass" in found["hits"][0]["text"]
    assert "22海里" in answer["answer"]
    assert "95 minutes" in said[end:]
    assert '"done"' in said[end:]


async def test_the_questions_to_the_demo_are_answered(terminal: Terminal, demo_folder: tuple[Path, Demo]) -> None:
    _, demo = demo_folder
    assert (await terminal.run("login", "--email", demo.email, "--password", demo.password)).code == 0
    questions = re.findall(r'^biggraph ask "(.+?)"', README, re.MULTILINE)
    answers = [(await terminal.run("ask", question)).out for question in questions]
    assert len(answers) == 2
    assert "22海里" in answers[0]
    assert "28 days" in answers[1]
