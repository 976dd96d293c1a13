"""Requests are counted by the template of their route, never by what a caller wrote into a path."""

import re

import httpx
import pytest
from fastapi import FastAPI

from app.health.metrics import Metrics, install_metrics
from tests.conftest import Person


async def count(client: httpx.AsyncClient, method: str, route: str, status: int) -> float:
    page = (await client.get("/metrics")).text
    found = re.search(
        rf'^biggraph_http_requests_total{{method="{method}",route="{re.escape(route)}",status="{status}"}} (\S+)$',
        page,
        re.MULTILINE,
    )
    return float(found[1]) if found else 0.0


async def test_requests_are_counted_by_template(anonymous: httpx.AsyncClient, owner: Person) -> None:
    route = "/v1/members/{user_id}"
    before = await count(anonymous, "DELETE", route, 404)
    for _ in range(2):
        await owner.client.delete("/v1/members/0190b3c0-0000-7000-8000-000000000000")
    assert await count(anonymous, "DELETE", route, 404) == before + 2
    page = await anonymous.get("/metrics")
    assert page.headers["content-type"].startswith("text/plain")
    assert "0190b3c0" not in page.text
    assert f'biggraph_http_request_seconds_bucket{{le="+Inf",method="DELETE",route="{route}"}}' in page.text
    assert "process_resident_memory_bytes" in page.text


async def test_refusals_count_on_their_route(anonymous: httpx.AsyncClient) -> None:
    before = await count(anonymous, "GET", "/v1/members", 401)
    await anonymous.get("/v1/members")
    assert await count(anonymous, "GET", "/v1/members", 401) == before + 1


async def test_a_caller_does_not_make_label_values(anonymous: httpx.AsyncClient) -> None:
    before = await count(anonymous, "OTHER", "none", 404)
    await anonymous.request("BREW", "/coffee/pot-1")
    await anonymous.request("STEEP", "/coffee/pot-2")
    assert await count(anonymous, "OTHER", "none", 404) == before + 2
    page = (await anonymous.get("/metrics")).text
    assert "coffee" not in page
    assert "BREW" not in page


async def test_a_crash_counts_as_500() -> None:
    app = FastAPI()
    install_metrics(app)
    metrics: Metrics = app.state.metrics

    @app.get("/broken/{part}")
    async def broken(part: str) -> None:
        raise LookupError(part)

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        with pytest.raises(LookupError):
            await client.get("/broken/wheel")
    labels = {"method": "GET", "route": "/broken/{part}", "status": "500"}
    assert metrics.registry.get_sample_value("biggraph_http_requests_total", labels) == 1


def test_applications_do_not_share_metrics() -> None:
    first, second = Metrics(), Metrics()
    first.observe("GET", "/", 200, 0.1)
    labels = {"method": "GET", "route": "/", "status": "200"}
    assert first.registry.get_sample_value("biggraph_http_requests_total", labels) == 1
    assert second.registry.get_sample_value("biggraph_http_requests_total", labels) is None
