# `make run` and `make test` do all the set-up themselves. PYTHON chooses the interpreter (3.11 to 3.13).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The running server that `make quality` measures.
BIGGRAPH_URL ?= http://127.0.0.1:8000

.PHONY: run test lint lock bench quality clean

run: $(VENV)/.installed
	@$(BIN)/biggraph up --demo

test: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist loadgroup

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m tests.bench.embedder
	$(BIN)/python -m tests.bench.ingestion
	$(BIN)/python -m tests.bench.retrieval

quality: $(VENV)/.installed-dev
	$(BIN)/python -m tests.quality --url $(BIGGRAPH_URL)

# Locks hold versions and hashes, no addresses: pip takes the files from whatever index it is set up for.
lock: $(VENV)/.installed-dev
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --quiet --output-file requirements.lock
	$(BIN)/uv pip compile pyproject.toml --group dev --constraint requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --quiet --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 13) else "BigGraph needs Python 3.11 to 3.13; set PYTHON.")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock

# uv takes seconds where pip takes minutes; where only pip knows the way to the packages, pip does it.
define install
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r $(1) \
		|| $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $(1)
endef

$(VENV)/.installed: requirements.lock pyproject.toml | $(BIN)/python
	$(call install,requirements.lock)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	$(call install,requirements-dev.lock)
	@touch $@
