"""Every setting of the platform, in one place. Only this module reads the environment.

A setting that names an engine and is left empty means the embedded engine, kept under `BIGGRAPH_DATA_DIR`.
"""

from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

EXAMPLE_SECRET = "change-me-this-is-only-an-example-secret"  # noqa: S105 - refused outside the embedded demo
MIN_SECRET_BYTES = 32  # RFC 7518, 3.2: an HMAC-SHA256 key has at least the size of the hash

COROUTINES = 5
"""Operations at once where they share a process: small documents wait for commits more than for the processor."""
PROCESSES = 2
"""Where each has a process, with engines and a model of its own."""


def _refuse_address_that_is_none(name: str, url: str) -> None:
    parts = urlsplit(url)
    if url and not (parts.scheme in {"http", "https"} and parts.hostname):
        raise ValueError(f"{name.upper()} must be an address that begins with http:// or https://, not {url!r}.")


class LogFormat(StrEnum):
    CONSOLE = "console"
    JSON = "json"


def _env(name: str) -> AliasChoices:
    return AliasChoices(name, name.lower())


class Settings(BaseSettings):
    """Read from the environment, then from a file `.env` in the working directory."""

    model_config = SettingsConfigDict(env_file=".env", extra="ignore", populate_by_name=True, frozen=False)

    # --- where it runs
    host: str = Field("127.0.0.1", validation_alias=_env("BIGGRAPH_HOST"), description="Address the API listens on.")
    port: int = Field(
        8000, ge=0, le=65535, validation_alias=_env("BIGGRAPH_PORT"), description="Port of the API; 0 takes a free one."
    )
    data_dir: Path = Field(
        Path("data"), validation_alias=_env("BIGGRAPH_DATA_DIR"), description="Everything the embedded engines keep."
    )
    demo: bool = Field(
        False, validation_alias=_env("BIGGRAPH_DEMO"), description="Make the demo tenant and its documents at start."
    )
    log_level: str = Field("INFO", validation_alias=_env("BIGGRAPH_LOG_LEVEL"))
    log_format: LogFormat = Field(LogFormat.CONSOLE, validation_alias=_env("BIGGRAPH_LOG_FORMAT"))
    base_url: str = Field(
        "", validation_alias=_env("BIGGRAPH_URL"), description="Address under which people reach the API, for links."
    )

    # --- engines: empty means embedded
    database_url: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("DATABASE_URL"),
        description="postgresql://… of the application role, which owns nothing and is no superuser.",
    )
    database_owner_url: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("DATABASE_OWNER_URL"),
        description="postgresql://… of the owner of the tables; used by migrations only.",
    )
    database_pool_size: int = Field(10, ge=1, validation_alias=_env("DATABASE_POOL_SIZE"))
    redis_url: SecretStr = Field(
        SecretStr(""), validation_alias=_env("REDIS_URL"), description="redis://… : broker, cache, rate limits."
    )
    qdrant_url: str = Field("", validation_alias=_env("QDRANT_URL"), description="http(s)://… of a Qdrant server.")
    qdrant_api_key: SecretStr = Field(SecretStr(""), validation_alias=_env("QDRANT_API_KEY"))
    elasticsearch_url: SecretStr = Field(
        SecretStr(""), validation_alias=_env("ELASTICSEARCH_URL"), description="http(s)://… of Elasticsearch 8 or 9."
    )
    elasticsearch_api_key: SecretStr = Field(SecretStr(""), validation_alias=_env("ELASTICSEARCH_API_KEY"))
    index_prefix: str = Field(
        "biggraph",
        pattern=r"^[a-z][a-z0-9-]*$",
        validation_alias=_env("BIGGRAPH_INDEX_PREFIX"),
        description="First part of the names of collections, indexes and queues on shared servers.",
    )
    blob_url: str = Field(
        "",
        validation_alias=_env("BLOB_URL"),
        description="s3://bucket/prefix, or file:///folder; credentials as AWS_*.",
    )

    # --- models
    embedding_url: str = Field(
        "", validation_alias=_env("EMBEDDING_URL"), description="Base URL of an OpenAI-compatible API, ending in /v1."
    )
    embedding_model: str = Field("", validation_alias=_env("EMBEDDING_MODEL"))
    embedding_dimensions: int = Field(0, ge=0, le=8192, validation_alias=_env("EMBEDDING_DIMENSIONS"))
    embedding_max_tokens: int = Field(512, ge=64, validation_alias=_env("EMBEDDING_MAX_TOKENS"))
    embedding_api_key: SecretStr = Field(SecretStr(""), validation_alias=_env("EMBEDDING_API_KEY"))
    embedding_threads: int = Field(0, ge=0, validation_alias=_env("EMBEDDING_THREADS"), description="0: one a core.")
    llm_url: str = Field(
        "", validation_alias=_env("LLM_URL"), description="Base URL of an OpenAI-compatible API, ending in /v1."
    )
    llm_models: Annotated[list[str], NoDecode] = Field(
        default_factory=list,
        validation_alias=_env("LLM_MODELS"),
        description="Names of chat models, parted by commas, in the order in which they are tried.",
    )
    llm_api_key: SecretStr = Field(SecretStr(""), validation_alias=_env("LLM_API_KEY"))
    llm_timeout_seconds: float = Field(60.0, gt=0, validation_alias=_env("LLM_TIMEOUT_SECONDS"))
    rerank_url: str = Field(
        "", validation_alias=_env("RERANK_URL"), description="Whole address of the endpoint, /rerank included."
    )
    rerank_style: Literal["jina", "tei"] = Field(
        "jina",
        validation_alias=_env("RERANK_STYLE"),
        description="How it is asked. jina: Jina, Cohere, Voyage, vLLM, llama.cpp; tei: Text Embeddings Inference.",
    )
    rerank_model: str = Field("", validation_alias=_env("RERANK_MODEL"))
    rerank_max_tokens: int = Field(
        512,
        ge=64,
        validation_alias=_env("RERANK_MAX_TOKENS"),
        description="Question and passage together are cut to so many tokens of multilingual-e5: the model's limit, "
        "or less where its vocabulary is another one.",
    )
    rerank_timeout_seconds: float = Field(
        10.0,
        gt=0,
        le=60,
        validation_alias=_env("RERANK_TIMEOUT_SECONDS"),
        description="How long a question waits for it before it keeps the order of the fusion.",
    )
    rerank_api_key: SecretStr = Field(SecretStr(""), validation_alias=_env("RERANK_API_KEY"))

    # --- identity
    secret_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("BIGGRAPH_SECRET_KEY"),
        description="Signs access tokens; 32 bytes or more. Embedded: made once and kept in the data folder.",
    )
    access_token_minutes: int = Field(15, ge=1, le=1440, validation_alias=_env("BIGGRAPH_ACCESS_TOKEN_MINUTES"))
    refresh_token_days: int = Field(30, ge=1, le=365, validation_alias=_env("BIGGRAPH_REFRESH_TOKEN_DAYS"))
    invitation_days: int = Field(7, ge=1, le=90, validation_alias=_env("BIGGRAPH_INVITATION_DAYS"))

    # --- limits
    max_upload_bytes: int = Field(200 * 1024**2, ge=1, validation_alias=_env("BIGGRAPH_MAX_UPLOAD_BYTES"))
    tenant_max_documents: int = Field(100_000, ge=1, validation_alias=_env("BIGGRAPH_TENANT_MAX_DOCUMENTS"))
    tenant_max_bytes: int = Field(100 * 1024**3, ge=1, validation_alias=_env("BIGGRAPH_TENANT_MAX_BYTES"))
    parse_timeout_seconds: float = Field(300.0, gt=0, validation_alias=_env("BIGGRAPH_PARSE_TIMEOUT_SECONDS"))
    parse_memory_bytes: int = Field(2 * 1024**3, ge=256 * 1024**2, validation_alias=_env("BIGGRAPH_PARSE_MEMORY_BYTES"))
    pdf_engine: Literal["pymupdf", "pdfium"] = Field(
        "pymupdf",
        validation_alias=_env("PDF_ENGINE"),
        description="What reads PDF: PyMuPDF (AGPL-3.0 or commercial), or PDFium (permissive; no tables, no layout).",
    )
    retrieval_timeout_seconds: float = Field(5.0, gt=0, validation_alias=_env("BIGGRAPH_RETRIEVAL_TIMEOUT_SECONDS"))

    # --- background work
    worker_concurrency: int = Field(
        0,
        ge=0,
        le=64,
        validation_alias=_env("BIGGRAPH_WORKER_CONCURRENCY"),
        description="Operations at once. 0: 5 within the application, 2 in a separate worker, a process each.",
    )
    lease_seconds: float = Field(30.0, gt=0, validation_alias=_env("BIGGRAPH_LEASE_SECONDS"))
    drain_seconds: float = Field(
        10.0,
        ge=0,
        validation_alias=_env("BIGGRAPH_DRAIN_SECONDS"),
        description="How long a separate worker that is told to stop finishes what it does, before it hands it over.",
    )
    sweep_seconds: float = Field(5.0, gt=0, validation_alias=_env("BIGGRAPH_SWEEP_SECONDS"))
    max_attempts: int = Field(3, ge=1, le=10, validation_alias=_env("BIGGRAPH_MAX_ATTEMPTS"))

    @field_validator("llm_models", mode="before")
    @classmethod
    def _split_names(cls, value: object) -> object:
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.data_dir = self.data_dir.expanduser().absolute()
        if self.embedding_url and not (self.embedding_model and self.embedding_dimensions):
            raise ValueError("EMBEDDING_URL needs EMBEDDING_MODEL and EMBEDDING_DIMENSIONS beside it.")
        if self.llm_url and not self.llm_models:
            raise ValueError("LLM_URL needs LLM_MODELS beside it: the names of the models, parted by commas.")
        for name in ("embedding_url", "llm_url", "rerank_url"):
            _refuse_address_that_is_none(name, getattr(self, name))
        if self.database_url.get_secret_value() and not self.redis_url.get_secret_value():
            raise ValueError("DATABASE_URL without REDIS_URL: API and workers on a server need a broker they share.")
        if not self.worker_concurrency:
            self.worker_concurrency = COROUTINES if self.worker_in_process else PROCESSES
        self._refuse_weak_secret()
        return self

    def _refuse_weak_secret(self) -> None:
        secret = self.secret_key.get_secret_value()
        if self.embedded and not secret:
            return  # made at first start, see `app.runtime`
        if secret == EXAMPLE_SECRET:
            raise ValueError("BIGGRAPH_SECRET_KEY is the example's. Make your own: openssl rand -hex 32")
        if len(secret.encode()) < MIN_SECRET_BYTES:
            raise ValueError("BIGGRAPH_SECRET_KEY needs 32 bytes or more. Make one: openssl rand -hex 32")

    @cached_property
    def embedded(self) -> bool:
        """True where the database is the embedded one, which makes this the only application process."""
        return not self.database_url.get_secret_value()

    @property
    def missing_servers(self) -> list[str]:
        """Names of the settings that a separate worker needs and that are empty."""
        servers = {
            "DATABASE_URL": self.database_url.get_secret_value(),
            "REDIS_URL": self.redis_url.get_secret_value(),
            "QDRANT_URL": self.qdrant_url,
            "ELASTICSEARCH_URL": self.elasticsearch_url.get_secret_value(),
        }
        return [name for name, url in servers.items() if not url]

    @property
    def worker_in_process(self) -> bool:
        """Embedded indexes and database belong to one process, so the worker must run inside it."""
        return bool(self.missing_servers)

    @property
    def scratch_dir(self) -> Path:
        """For files on their way: uploads, originals being parsed. Emptied at start."""
        return self.data_dir / "scratch"

    def sqlalchemy_url(self, url: str) -> str:
        """A `postgresql://` address with the driver that the application uses."""
        return urlsplit(url)._replace(scheme="postgresql+asyncpg").geturl()


def setting_problems(error: ValidationError) -> list[str]:
    """A sentence for each setting that `Settings` refuses, with its name where it is about one."""
    sentences = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ").rstrip(".")
        sentences.append(f"{name}: {message}." if name else f"{message}.")
    return sentences
