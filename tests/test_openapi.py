"""What `/docs` tells is what the code says of itself."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from app.core.settings import Settings
from app.main import create_app

SCHEMA = create_app(Settings(_env_file=None)).openapi()
PLAIN = {
    *("id", "chunk_id", "document_id", "kb_id", "knowledge_base_id", "operation_id", "session_id", "user_id"),
    *("invitation_id", "name", "document_name", "title", "description", "text", "question", "email", "password"),
    *("current_password", "user", "document", "table", "items", "metadata", "tags", "status"),
    *("created_at", "updated_at", "edited_at", "joined_at", "started_at"),
    *("left", "top", "right", "bottom", "start", "end"),
}
"""Names that say it all, where the model says the rest."""


def models(of: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    for model in of.__subclasses__():
        if model.__module__.startswith("app.") and "[" not in model.__name__:
            yield model
        yield from models(model)


def remarks(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Names of fields, and the strings that stand below them."""
    [made] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(made, ast.ClassDef)
    for field, below in pairwise(made.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            yield field.target.id, inspect.cleandoc(ast.literal_eval(below.value))


def test_what_stands_below_a_field_is_its_description() -> None:
    schemas: dict[str, dict[str, Any]] = SCHEMA["components"]["schemas"]
    told = {
        (model.__name__, name): (schemas[model.__name__]["properties"][name].get("description"), remark)
        for model in models()
        if model.__name__ in schemas
        for name, remark in remarks(model)
    }
    assert len(told) > 100
    assert {where: remark for where, (description, remark) in told.items() if description != remark} == {}


@pytest.mark.parametrize(
    "operation",
    [operation for operations in SCHEMA["paths"].values() for operation in operations.values()],
    ids=lambda operation: operation["operationId"],
)
def test_a_route_and_its_parameters_say_more_than_their_names(operation: dict[str, Any]) -> None:
    assert operation.get("description"), "give it a docstring"
    parameters = {given["name"]: given.get("description") for given in operation.get("parameters", [])}
    assert [name for name, said in parameters.items() if not said and name not in PLAIN] == []


def test_fields_say_more_than_their_names() -> None:
    fields = {
        f"{model}.{name}": field
        for model, schema in SCHEMA["components"]["schemas"].items()
        for name, field in schema.get("properties", {}).items()
        if name not in PLAIN
    }
    assert len(fields) > 300
    assert [name for name, field in fields.items() if not field.get("description")] == []


def test_a_form_says_how_its_fields_are_written() -> None:
    def fields(path: str) -> dict[str, Any]:
        content = SCHEMA["paths"][path]["post"]["requestBody"]["content"]
        properties: dict[str, Any] = content["multipart/form-data"]["schema"]["properties"]
        return properties

    upload = fields("/v1/knowledge-bases/{kb_id}/documents")
    assert upload["tags"]["description"].endswith('As JSON: `["policy", "leave"]`')
    assert upload["metadata"]["description"].endswith('As JSON: `{"department": "People", "year": 2026}`')
    assert {name for name, field in upload.items() if field["type"] == "boolean"} == {"replace_same_name"}
    preview = fields("/v1/knowledge-bases/{kb_id}/chunks:preview")
    assert preview["settings"]["description"].endswith('As JSON: `{"strategy": "recursive", "target_tokens": 200}`')


def test_every_problem_has_its_own_media_type() -> None:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses = [operation["responses"] for operations in SCHEMA["paths"].values() for operation in operations.values()]
    assert [answer["default"]["content"] for answer in responses if answer["default"]["content"] != problem] == []
