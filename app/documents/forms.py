"""Multipart forms: one file and a few fields, in UTF-8."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from app.core.errors import InvalidInput
from app.documents.schemas import FileFields

FORM = "multipart/form-data"
Fields = TypeVar("Fields", bound=FileFields)


def form_schema(fields: type[FileFields]) -> dict[str, Any]:
    """For OpenAPI: `file` and the fields."""
    described = {name: _described(field) for name, field in fields.model_fields.items()}
    described["password"]["format"] = "password"
    properties = {"file": {"type": "string", "format": "binary"}, **described}
    return {FORM: {"schema": {"type": "object", "required": ["file"], "properties": properties}}}


def _described(field: FieldInfo) -> dict[str, Any]:
    """In a form all but a switch is text: of what is read from JSON an example shows how it is written."""
    shown = f" As JSON: `{json.dumps(field.examples[0])}`" if field.examples else ""
    return {"type": "boolean" if field.annotation is bool else "string", "description": f"{field.description}{shown}"}


@asynccontextmanager
async def read_file_form(request: Request, fields: type[Fields]) -> AsyncIterator[tuple[UploadFile, Fields]]:
    """The file, which is a temporary one as long as the block runs, and what the form says of it.

    Raises `InvalidInput` for a body that is no such form.
    """
    if not request.headers.get("content-type", "").startswith(FORM):
        raise InvalidInput("Send multipart/form-data with a field `file`.", code="unsupported_content_type")
    async with _form(request) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidInput("The form needs a field `file` that holds a file.", code="file_missing")
        given = {name: value for name, value in form.items() if name != "file"}
        try:
            said = fields.model_validate({"name": file.filename or "", **given})
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error
        yield file, said


@asynccontextmanager
async def _form(request: Request) -> AsyncIterator[FormData]:
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
