"""The API over HTTP, with the tokens that `biggraph login` left."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from app.cli.credentials import load_tokens, locked, store_tokens
from app.cli.invocation import invocation
from app.core.errors import BigGraphError, NotAuthenticated
from app.core.settings import Settings


class ApiError(BigGraphError):
    """What the server answered, as it said it."""

    code = "api_error"
    status = 500


def api_url() -> str:
    """Raises `ApiError` (`bad_url`) where BIGGRAPH_URL is no address."""
    settings = Settings()
    url = (settings.base_url or f"http://{settings.host}:{settings.port}").rstrip("/")
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise _bad_url(url) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _bad_url(url)
    return url


def _bad_url(url: str) -> ApiError:
    return ApiError(
        f"BIGGRAPH_URL is “{url}”, which is no address. Set it to one like http://127.0.0.1:8000.", code="bad_url"
    )


class Api:
    """Calls with a bearer token that is renewed once when it has expired."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(120, connect=5), transport=transport)
        self._tokens = load_tokens(url)

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, *, anonymous: bool = False, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
        """The answer's JSON, None where there is none. Raises `ApiError`."""
        used = self._tokens.get("access_token")
        response = self._send(method, path, anonymous, arguments)
        if response.status_code == httpx.codes.UNAUTHORIZED and not anonymous and self._renew(used):
            response = self._send(method, path, anonymous, arguments)
        if response.is_error:
            raise _error_of(response)
        return response.json() if response.content else None

    def pages(self, path: str, **params: object) -> Iterator[dict[str, Any]]:
        """Items of a paginated list, to its end."""
        cursor: str | None = None
        while True:
            given = {name: value for name, value in {**params, "cursor": cursor}.items() if value is not None}
            page = self.call("GET", path, params=given)
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    @contextmanager
    def events(self, path: str, body: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
        """Server-sent events of a POST, each as the JSON of its data."""
        self.call("GET", "/v1/auth/me")  # renews the token before the stream begins
        headers = {"authorization": f"Bearer {self._tokens['access_token']}", "accept": "text/event-stream"}
        with self._plain_errors(), self._http.stream("POST", path, json=body, headers=headers) as response:
            if response.is_error:
                response.read()
                raise _error_of(response)
            yield (json.loads(line[5:]) for line in response.iter_lines() if line.startswith("data:"))

    def _send(self, method: str, path: str, anonymous: bool, arguments: dict[str, Any]) -> httpx.Response:
        headers = {}
        if not anonymous:
            if not self._tokens:
                raise NotAuthenticated(f"You are not logged in at {self.url}. Run `{invocation()} login`.")
            headers["authorization"] = f"Bearer {self._tokens['access_token']}"
        with self._plain_errors():
            return self._http.request(method, path, headers=headers, **arguments)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except httpx.ConnectError as error:
            raise ApiError(
                f"Nothing answers at {self.url}. Start it with `{invocation()} up`, or set BIGGRAPH_URL.",
                code="no_server",
            ) from error
        except httpx.HTTPError as error:
            reason = str(error).rstrip(".") or type(error).__name__
            raise ApiError(f"The connection to {self.url} broke: {reason}.", code="connection_broken") from error

    def _renew(self, used: str | None) -> bool:
        """Whether there are newer tokens than the one that was refused.

        One at a time: a refresh token serves once, and the service takes a second use for a theft and ends the login.
        Whoever waited for the lock finds what the one before it has left.
        """
        with locked():
            kept = load_tokens(self.url)
            if not kept:
                return False
            if kept["access_token"] == used:
                with self._plain_errors():
                    response = self._http.post("/v1/auth/refresh", json={"refresh_token": kept["refresh_token"]})
                if response.status_code == httpx.codes.UNAUTHORIZED:
                    return False
                if response.is_error:
                    raise _error_of(response)
                kept = response.json()
                store_tokens(self.url, kept)
            self._tokens = kept
        return True


def _error_of(response: httpx.Response) -> ApiError:
    try:
        problem = response.json()
        return ApiError(problem["detail"], code=problem["code"])
    except (ValueError, KeyError, TypeError):
        return ApiError(f"The server answered {response.status_code}: {response.text[:200]}")


@contextmanager
def open_api() -> Iterator[Api]:
    api = Api(api_url())
    try:
        yield api
    finally:
        api.close()


def find_knowledge_base(api: Api, name_or_id: str) -> dict[str, Any]:
    """By id or by name. Raises `ApiError`."""
    for kb in api.pages("/v1/knowledge-bases"):
        if name_or_id in (kb["id"], kb["name"]):
            return kb
    raise ApiError(
        f"There is no knowledge base “{name_or_id}”. `{invocation()} kb list` shows them.",
        code="knowledge_base_not_found",
    )


def no_documents(kb: dict[str, Any]) -> str:
    name = kb["name"]
    return f"“{name}” holds no documents yet. `{invocation()} upload PATH --kb {shlex.quote(name)}` adds some."
