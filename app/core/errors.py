"""The one error tree. Everything a caller may expect to go wrong is a `BigGraphError`.

`code` is stable and machine-readable; `detail` is a sentence for a person that says what happened and what to do.
`app.core.problems` renders them as RFC 9457 problem details.
"""

from typing import ClassVar


class BigGraphError(Exception):
    """Base of all expected errors.

    Subclasses set `code` and `status`; a raise may narrow `code` (`InvalidInput("...", code="empty_file")`).
    `data` becomes extension members of the problem document: JSON values only, never secrets or internals.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500

    def __init__(self, detail: str, *, code: str | None = None, retry_after: int | None = None, **data: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.error_code = code or type(self).code
        self.retry_after = retry_after
        self.data = data

    @property
    def public_detail(self) -> str:
        """What callers and tenants are told."""
        return self.detail


class InvalidInput(BigGraphError):
    """The request is understood and can't be accepted as it is."""

    code = "invalid_input"
    status = 422


class NotAuthenticated(BigGraphError):
    code = "not_authenticated"
    status = 401


class NotAllowed(BigGraphError):
    """The caller is known and lacks the right. For objects of other tenants use `NotFound`."""

    code = "not_allowed"
    status = 403


class NotFound(BigGraphError):
    """It does not exist, or the caller may not know that it does."""

    code = "not_found"
    status = 404


class KnowledgeBaseNotFound(NotFound):
    code = "knowledge_base_not_found"

    def __init__(self, kb_id: object) -> None:
        super().__init__(
            f"There is no knowledge base {kb_id}. GET /v1/knowledge-bases, or `biggraph kb list`, lists what there is."
        )


class Conflict(BigGraphError):
    code = "conflict"
    status = 409


class TooSlow(BigGraphError):
    """The request itself did not arrive in time."""

    code = "request_timeout"
    status = 408


class TooLarge(BigGraphError):
    code = "too_large"
    status = 413


class TooManyRequests(BigGraphError):
    code = "too_many_requests"
    status = 429


class Unavailable(BigGraphError):
    """A part that the request can't do without is down or late. Retrying later may succeed."""

    code = "unavailable"
    status = 503

    def __init__(self, detail: str, *, code: str | None = None, retry_after: int | None = 5, **data: object) -> None:
        super().__init__(detail, code=code, retry_after=retry_after, **data)


class OutOfSpace(Unavailable):
    """A disk that something has to be written to is full. It may be tried again once somebody has made room."""

    code = "disk_full"
    status = 507

    def __init__(
        self, detail: str = "No room is left on the disk. Nothing was stored; free some space, then try again."
    ) -> None:
        super().__init__(detail, retry_after=60)


class EngineUnavailable(Unavailable):
    """An engine behind a port (index, blob store, model) failed or was late; the call may be retried.

    `detail` may name addresses, folders, settings and what a server said: it is for the operator's log.
    """

    code = "engine_unavailable"

    @property
    def public_detail(self) -> str:
        return "A part of the platform does not answer at the moment. Try again later; the operator's log says why."


class EngineRejected(BigGraphError):
    """An engine behind a port refused the request itself; retrying the same call can't succeed.

    `detail` is for the operator's log, as that of `EngineUnavailable`.
    """

    code = "engine_rejected"
    status = 502

    @property
    def public_detail(self) -> str:
        return "A part of the platform refused this, and would again. Ask the operator, whose log says why."


class ParseFailed(BigGraphError):
    """A document can't be read. `error_code` is its reason code; see `app.parsing.reasons`."""

    code = "parse_failed"
    status = 422


class LeaseLost(BigGraphError):
    """Another worker holds the operation now; this one must stop without writing anything more."""

    code = "lease_lost"
    status = 409


class Postponed(BigGraphError):
    """The operation waits for another one, or gives way to it; it is queued again, and the attempt does not count."""

    code = "postponed"
    status = 409


class Cancelled(BigGraphError):
    """The operation was cancelled by a person."""

    code = "cancelled"
    status = 409
