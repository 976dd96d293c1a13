"""Server-Sent Events as a browser reads them."""

import json
from typing import Any

import httpx


def events_of(answer: httpx.Response) -> list[dict[str, Any]]:
    """The events of a finished stream; their ids count from 1."""
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.text
    found: list[dict[str, Any]] = []
    for block in answer.text.replace("\r\n", "\n").strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if fields:
            assert fields["id"] == str(len(found) + 1)
            found.append(json.loads(fields["data"]))
    return found


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "delta")
