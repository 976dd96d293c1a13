"""A real Elasticsearch for tests: one that is named, one started beside the repository, or a container."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

STARTER = Path(__file__).resolve().parents[3] / "shared" / "elasticsearch" / "run"


@contextmanager
def elasticsearch_url() -> Iterator[str]:
    """Skips, saying so, where none is to be had. Leaves running what others share."""
    url = os.environ.get("BIGGRAPH_TEST_ELASTICSEARCH_URL")
    if url:
        yield url
    elif STARTER.exists():
        started = subprocess.run([STARTER], capture_output=True, text=True, timeout=200, check=False)
        if started.returncode:
            pytest.fail(f"{STARTER.name} could not start Elasticsearch: {started.stderr[-500:]}")
        yield started.stdout.strip()
    else:
        with _container() as url:
            yield url


@contextmanager
def _container() -> Iterator[str]:
    from testcontainers.community.elasticsearch import ElasticSearchContainer
    from testcontainers.core.docker_client import DockerClient

    try:
        DockerClient().client.ping()
    except Exception as error:  # noqa: BLE001 - the Docker client tells "no engine" in many ways
        pytest.skip(
            f"No Elasticsearch: set BIGGRAPH_TEST_ELASTICSEARCH_URL, or let a Docker engine be reachable ({error})."
        )
    with ElasticSearchContainer("elasticsearch:8.19.0", mem_limit="2G") as server:
        yield f"http://{server.get_container_host_ip()}:{server.get_exposed_port(server.port)}"
