"""What a setting means where nobody has given it."""

import pytest

from app.core.settings import Settings

SERVERS = {
    "database_url": "postgresql://app@localhost/biggraph",
    "database_owner_url": "postgresql://owner@localhost/biggraph",
    "redis_url": "redis://localhost",
    "qdrant_url": "http://localhost:6333",
    "elasticsearch_url": "http://localhost:9200",
    "secret_key": "of more than thirty-two characters",
}


@pytest.mark.parametrize(
    ("given", "operations"),
    [
        ({}, 5),
        (SERVERS, 2),
        (SERVERS | {"qdrant_url": ""}, 5),
        ({"worker_concurrency": 1}, 1),
        (SERVERS | {"worker_concurrency": 3}, 3),
    ],
    ids=["embedded", "servers", "an embedded index", "embedded, given", "servers, given"],
)
def test_operations_at_once(given: dict[str, object], operations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BIGGRAPH_WORKER_CONCURRENCY", raising=False)
    assert Settings.model_validate({"_env_file": None} | given).worker_concurrency == operations
