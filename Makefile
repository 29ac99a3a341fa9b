# `make demo` and `make test` do everything on a fresh machine with Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?=
PARALLEL ?= -n auto --dist worksteal

.PHONY: demo test test-all lint types contracts tests all-tests bench clean

demo: $(VENV)/collector.stamp
	@$(BIN)/deniable demo $(DEMO)

test: lint types contracts tests

test-all: lint types contracts all-tests

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

contracts: $(VENV)/dev.stamp
	$(BIN)/lint-imports

tests: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not long"

all-tests: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q $(PARALLEL) --cov --cov-fail-under=90

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "deniable needs Python 3.11 or newer: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/collector.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[collector]"
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[collector,dev]"
	@touch $@ $(VENV)/collector.stamp

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build
