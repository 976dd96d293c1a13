"""Multipart forms: one file and a few fields, in UTF-8."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from app.core.errors import InvalidInput


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[FormData]:
    """The form, with its file in a temporary file as long as the block runs."""
    _require_utf8(request.headers.get("content-type", ""))
    try:
        form = await request.form(max_files=1, max_fields=10)
    except HTTPException as error:  # what Starlette makes of a form that it can't read
        raise InvalidInput(
            f"The form can't be read: {str(error.detail).rstrip('.')}. Send one file, in the field `file` of a "
            "multipart/form-data body.",
            code="malformed_form",
        ) from error
    try:
        yield form
    finally:
        await form.close()


def _require_utf8(content_type: str) -> None:
    """A form may name its encoding, and Python has encodings that take quadratic time, fail in ways of their own, or
    are none at all (`punycode`, `undefined`, `unicode_escape`)."""
    charset = parse_options_header(content_type)[1].get(b"charset", b"utf-8").decode("latin-1")
    if charset.lower() not in ("utf-8", "utf8", "us-ascii"):
        raise InvalidInput("Send the fields of the form in UTF-8.", code="unsupported_charset")
