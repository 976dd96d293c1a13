"""Prometheus metrics of one application: requests by route, and what the process uses."""

import time

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
"""Paths that no route has, all of them: a caller must not be able to make up label values."""


class Metrics:
    """A registry of its own, so that several applications may live in one process, as in tests."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "biggraph_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "biggraph_http_request_seconds",
            "Time until an answer starts; a stream's own length is left out.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in METHODS else "OTHER"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)


def install_metrics(app: FastAPI) -> None:
    """Adds the middleware; `GET /metrics` finds the metrics in the application's state."""
    app.state.metrics = Metrics()
    app.add_middleware(MetricsMiddleware, metrics=app.state.metrics)


class MetricsMiddleware:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        answered = False

        def observe(status: int) -> None:
            nonlocal answered
            answered = True
            # FastAPI writes the route that it found into the scope, which is the one handed in here.
            route = getattr(scope.get("route"), "path", NO_ROUTE)
            self._metrics.observe(scope["method"], route, status, time.perf_counter() - began)

        async def observed_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                observe(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, observed_send)
        finally:
            if not answered:  # it crashed: the answer, a 500, is made outside of this middleware
                observe(500)
