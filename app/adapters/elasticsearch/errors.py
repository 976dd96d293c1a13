"""The client's exceptions as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from elasticsearch import ApiError, TransportError, UnsupportedProductError

from app.core.errors import EngineRejected, EngineUnavailable


@contextmanager
def translated_errors() -> Iterator[None]:
    """No answer, 408, 429, 5xx, or no index yet: `EngineUnavailable`. Else `EngineRejected`."""
    try:
        yield
    except ApiError as error:
        status = error.status_code
        if status in {408, 429} or status >= 500:
            raise EngineUnavailable("Elasticsearch is overloaded or failed.", code="text_index_failed") from error
        if status == 404:
            raise index_missing() from error
        if status in {401, 403}:
            raise EngineRejected(
                "Elasticsearch refuses the credentials in ELASTICSEARCH_URL or ELASTICSEARCH_API_KEY: correct them.",
                code="text_index_forbidden",
            ) from error
        raise EngineRejected("Elasticsearch refused the request.", code="text_index_refused") from error
    except UnsupportedProductError as error:
        raise EngineRejected(
            "ELASTICSEARCH_URL does not lead to Elasticsearch.", code="text_index_forbidden"
        ) from error
    except TransportError as error:
        raise EngineUnavailable("Elasticsearch does not answer.", code="text_index_failed") from error


def index_missing() -> EngineUnavailable:
    return EngineUnavailable(
        "Elasticsearch lacks the index of terms. Start the application again, and run `biggraph repair`.",
        code="text_index_missing",
    )
