"""The Compose file beside the settings that it hands on. Docker is not needed: it is read as what it is, YAML."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from app.core.settings import Settings

REPOSITORY = Path(__file__).parents[2]
TEXT = (REPOSITORY / "docker-compose.yml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
EXAMPLE = set(re.findall(r"^(\w+)=", (REPOSITORY / "deploy/example.env").read_text(), re.MULTILINE))
OF_MODELS_AND_PARSERS = ("EMBEDDING_", "LLM_", "RERANK_", "PDF_")
TUNING = {"EMBEDDING_THREADS", "LLM_TIMEOUT_SECONDS"}


def names() -> set[str]:
    """Environment variables of all settings."""
    aliases = (field.validation_alias for field in Settings.model_fields.values())
    return {str(alias.choices[0]) for alias in aliases if alias is not None and not isinstance(alias, str)}  # type: ignore[union-attr]


@pytest.mark.parametrize("service", ["api", "worker"])
def test_every_model_and_parser_can_be_chosen(service: str) -> None:
    chosen = {name for name in names() if name.startswith(OF_MODELS_AND_PARSERS)} - TUNING
    given = SERVICES[service]["environment"]
    assert len(chosen) > 10
    assert {
        name: given.get(name, "is not handed on") for name in chosen if not str(given.get(name)).startswith("${")
    } == {}
    assert chosen <= EXAMPLE


@pytest.mark.parametrize("service", ["migrate", "api", "worker"])
def test_nothing_is_handed_on_that_no_setting_reads(service: str) -> None:
    assert set(SERVICES[service]["environment"]) - names() == {"PYTHON_CPU_COUNT"}


def test_the_example_names_what_has_to_be_filled_in() -> None:
    assert set(re.findall(r"\$\{(\w+):\?", TEXT)) <= EXAMPLE


@pytest.mark.parametrize("service", SERVICES)
def test_no_part_can_take_the_whole_machine(service: str) -> None:
    limits = SERVICES[service]["deploy"]["resources"]["limits"]
    assert set(limits) == {"cpus", "memory", "pids"}
    assert float(limits["cpus"]) >= int(SERVICES[service].get("environment", {}).get("PYTHON_CPU_COUNT", 1))
