"""The base of what the API takes and gives."""

from pydantic import BaseModel, ConfigDict


class ApiModel(BaseModel):
    """What is written below a field is its description in the OpenAPI schema, which `/docs` shows."""

    model_config = ConfigDict(use_attribute_docstrings=True)
