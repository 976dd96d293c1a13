"""The API over HTTP, with the tokens that `biggraph login` left."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from app.core.errors import BigGraphError, NotAuthenticated
from app.core.settings import Settings


class ApiError(BigGraphError):
    """What the server answered, as it said it."""

    code = "api_error"
    status = 500


def api_url() -> str:
    settings = Settings()
    return (settings.base_url or f"http://{settings.host}:{settings.port}").rstrip("/")


def _credentials_path() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "biggraph" / "credentials.json"


def load_credentials() -> dict[str, dict[str, str]]:
    """Tokens by the address of the API."""
    try:
        found: dict[str, dict[str, str]] = json.loads(_credentials_path().read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found


def save_tokens(url: str, tokens: dict[str, str] | None) -> None:
    """Keeps the tokens in a file that only its user may read; None forgets them."""
    known = load_credentials()
    if tokens is None:
        known.pop(url, None)
    else:
        known[url] = {name: tokens[name] for name in ("access_token", "refresh_token")}
    path = _credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(known, file)
    temporary.replace(path)


class Api:
    """Calls with a bearer token that is renewed once when it has expired."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=httpx.Timeout(120, connect=5), transport=transport)
        self._tokens = load_credentials().get(url, {})

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, *, anonymous: bool = False, **arguments: Any) -> Any:  # noqa: ANN401 - JSON
        """The answer's JSON, None where there is none. Raises `ApiError`."""
        response = self._send(method, path, anonymous, arguments)
        if response.status_code == httpx.codes.UNAUTHORIZED and not anonymous and self._renew():
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
        with self._http.stream("POST", path, json=body, headers=headers) as response:
            if response.is_error:
                response.read()
                raise _error_of(response)
            yield (json.loads(line[5:]) for line in response.iter_lines() if line.startswith("data:"))

    def _send(self, method: str, path: str, anonymous: bool, arguments: dict[str, Any]) -> httpx.Response:
        headers = {}
        if not anonymous:
            if not self._tokens:
                raise NotAuthenticated(f"You are not logged in at {self.url}. Run `biggraph login`.")
            headers["authorization"] = f"Bearer {self._tokens['access_token']}"
        try:
            return self._http.request(method, path, headers=headers, **arguments)
        except httpx.ConnectError as error:
            raise ApiError(
                f"Nothing answers at {self.url}. Start it with `biggraph up`, or set BIGGRAPH_URL.", code="no_server"
            ) from error
        except httpx.HTTPError as error:
            raise ApiError(f"The connection to {self.url} broke: {error}.", code="connection_broken") from error

    def _renew(self) -> bool:
        response = self._http.post("/v1/auth/refresh", json={"refresh_token": self._tokens["refresh_token"]})
        if response.is_error:
            return False
        self._tokens = response.json()
        save_tokens(self.url, self._tokens)
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
        f"There is no knowledge base “{name_or_id}”. `biggraph kb list` shows them.", code="knowledge_base_not_found"
    )
