"""What a setting means where nobody has given it, and what is refused."""

import pytest
from pydantic import ValidationError

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


@pytest.mark.parametrize("url", ["rerank:8080/rerank", "ftp://rerank/rerank", "http:///rerank", "http://[::1/rerank"])
@pytest.mark.parametrize("name", ["embedding_url", "llm_url", "rerank_url"])
def test_an_address_that_is_none_is_refused_at_the_start(name: str, url: str) -> None:
    """Else every question would fail on it."""
    beside = {"embedding_model": "m", "embedding_dimensions": 3, "llm_models": ["m"]}
    with pytest.raises(ValidationError, match=f"{name.upper()} must be an address|Invalid IPv6"):
        Settings.model_validate({"_env_file": None, name: url} | beside)
