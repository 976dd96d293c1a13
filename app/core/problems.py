"""Errors as RFC 9457 problem details, and the request id that ties an answer to its log lines."""

import errno
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.described import ApiModel
from app.core.errors import BigGraphError, OutOfSpace
from app.core.ids import new_id
from app.core.text import encodable

log = structlog.get_logger()

MEDIA_TYPE = "application/problem+json"
REQUEST_ID_HEADER = "x-request-id"
PLACES = ("body", "query", "path", "header", "cookie")
"""What FastAPI puts before the name of a field. A form that is read by hand has none: it is the body."""
_SUBJECT = re.compile(r"\w+ (?=should )")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Problem(ApiModel):
    """What every error answer looks like. `code` is stable; `detail` says what happened and what to do."""

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    """Always about:blank: `code` tells the kind."""
    title: str
    """What HTTP calls the status."""
    status: int
    code: str
    """Stable: what programs may go by."""
    detail: str
    """What happened, and what to do about it."""
    request_id: str
    """What the log of the service knows the request by; also in the header `x-request-id`."""


def problem_response(request: Request, error: BigGraphError) -> JSONResponse:
    return _render(request, error.status, error.error_code, error.public_detail, error.retry_after, error.data)


def _render(
    request: Request,
    status: int,
    code: str,
    detail: str,
    retry_after: int | None = None,
    data: dict[str, Any] | None = None,
) -> JSONResponse:
    problem = {
        **(data or {}),
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": encodable(detail),
        "request_id": request.scope.get("request_id", ""),
    }
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    return JSONResponse(problem, status, headers, media_type=MEDIA_TYPE)


async def _on_expected(request: Request, error: Exception) -> Response:
    assert isinstance(error, BigGraphError)  # noqa: S101 - registered for this type alone
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request_failed", code=error.error_code, detail=error.detail)
    return problem_response(request, error)


async def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this type alone
    errors = [
        {"location": encodable(".".join(map(str, item["loc"]))), "message": encodable(item["msg"])}
        for item in error.errors()
    ]
    detail = _advice(error.errors()[0])
    if len(errors) > 1:
        detail += f" And {len(errors) - 1} more: see `errors`."
    return _render(request, 422, "validation_failed", detail, data={"errors": errors})


def _advice(item: Mapping[str, Any]) -> str:
    """Pydantic's message as a sentence about the field: “String should have …” becomes “`query` should have …”.

    What a caller meets most is put in our words; every other message keeps Pydantic's behind the field's name.
    """
    where, *path = [str(part) for part in item["loc"]] or ["body"]
    if where not in PLACES:
        where, path = "body", [where, *path]
    kind, message = item["type"], str(item["msg"]).removeprefix("Value error, ").rstrip(".")
    if kind == "json_invalid" and path and path[0].isdecimal():  # where in the text it breaks, which is no field
        path = []
    field = f"`{'.'.join(path)}` in the {where}" if path else f"The {where}"
    if kind == "json_invalid":
        return f"{field} is no valid JSON: {item['ctx']['error']}."
    if kind == "missing":
        return f"{field} is missing."
    if kind == "extra_forbidden":
        return f"{field} is not known here: leave it out, or see /docs for its name."
    subject = None if kind == "value_error" else _SUBJECT.match(message)  # those sentences are our own
    return f"{field} {message[subject.end() :]}." if subject else f"{field}: {message}."


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this type alone
    code, detail = "http_error", f"{str(error.detail).rstrip('.')}."
    if error.status_code == HTTPStatus.NOT_FOUND:
        code, detail = "route_not_found", f"There is nothing at {request.url.path}. See /docs for what there is."
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        code, detail = "method_not_allowed", f"{request.method} can't be done here. See /docs for what can."
    response = _render(request, error.status_code, code, detail)
    response.headers.update(error.headers or {})
    return response


async def _on_system(request: Request, error: Exception) -> Response:
    """What the operating system refuses: a full disk is nobody's mistake, everything else is a bug."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return await _on_expected(request, OutOfSpace())
    return await _on_unexpected(request, error)


async def _on_disconnect(request: Request, _error: Exception) -> Response:
    """Nobody is there to read the answer; that somebody left in the middle of a request is no fault to log as one."""
    return _render(request, 400, "client_disconnected", "The connection ended before the request had arrived whole.")


async def _on_unexpected(request: Request, error: Exception) -> Response:
    log.error("request_crashed", exc_info=error)
    return _render(
        request,
        500,
        "internal_error",
        "Something broke on our side. Tell support the request_id; trying again may help.",
    )


PROBLEMS: dict[int | str, dict[str, Any]] = {"default": {"model": Problem, "description": "A problem (RFC 9457)"}}
"""The response of every route, for OpenAPI."""


def install_problem_media_type(app: FastAPI) -> None:
    """FastAPI would describe a problem as plain JSON."""
    describe = app.openapi

    def described() -> dict[str, Any]:
        schema = describe()
        for operations in schema["paths"].values():
            for operation in operations.values():
                problem = operation["responses"]["default"]
                problem["content"] = {MEDIA_TYPE: next(iter(problem["content"].values()))}
        return schema

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's documentation does


def install_problem_handlers(app: FastAPI) -> None:
    handlers: dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]] = {
        BigGraphError: _on_expected,
        RequestValidationError: _on_validation,
        HTTPException: _on_http,
        ClientDisconnect: _on_disconnect,
        OSError: _on_system,
        Exception: _on_unexpected,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


class RequestIdMiddleware:
    """Gives each request an id, taken from `X-Request-ID` where that is harmless, and binds it to the log context."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(REQUEST_ID_HEADER.encode(), b"").decode("latin-1")
        request_id = (
            given if 0 < len(given) <= 64 and given.isascii() and given.replace("-", "").isalnum() else str(new_id())
        )
        scope["request_id"] = request_id

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (REQUEST_ID_HEADER.encode(), request_id.encode())]
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self._app(scope, receive, send_with_id)
