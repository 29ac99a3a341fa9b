# `make demo` and `make test` do everything on a fresh machine with Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO ?=
# One worker more than there are processors: a fifth of the time tests wait.
PARALLEL ?= -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)') --dist worksteal
# Else every process of the tests, and there are hundreds, compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE
# Threads of linear algebra spin while they wait, on processors that other workers of the tests need.
tests all-tests coverage: export OPENBLAS_NUM_THREADS := 1

.PHONY: demo docs test test-all lint types contracts tests all-tests coverage bench weight release-check vectors javascript clean

demo: $(VENV)/collector.stamp
	@$(BIN)/python examples/demo.py $(DEMO)

test: lint types contracts tests

test-all: lint types contracts docs all-tests

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/words.py

types: $(VENV)/dev.stamp
	$(BIN)/mypy

contracts: $(VENV)/dev.stamp
	$(BIN)/lint-imports

tests: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not long"
	@echo "left out: tests marked long, most examples of the others, and what was skipped for want of"
	@echo "a program. make test-all runs all of it; .ci/run installs what is missing."

all-tests: $(VENV)/ci.stamp
	TESTS_THOROUGH=1 $(BIN)/python -m pytest -q $(PARALLEL)

# Of what the tests run in their own process; it costs a third of the time more.
coverage: $(VENV)/ci.stamp
	TESTS_THOROUGH=1 $(BIN)/python -m pytest -q $(PARALLEL) --cov --cov-fail-under=90

# Into build/site, anew: Sphinx does not see which page a change of the code concerns. It asks no network.
docs: $(VENV)/docs.stamp
	rm -rf docs/reference/api build/site
	$(BIN)/python -m sphinx -E -W --keep-going -q -j auto -d build/doctrees docs build/site

# Into build/vectors: the test vectors, with what it takes to read them. Links stay among these files.
vectors:
	rm -rf build/vectors && mkdir -p build/vectors
	cp -R LICENSE tests/vectors/*.json tests/vectors/schemas build/vectors
	for page in docs/protocol.md docs/mathematics.md docs/conformance.md tests/vectors/README.md; do \
		sed -e 's,](../../docs/,](,' -e 's,](../tests/vectors/,](,' \
			-e 's,\[\([^]]*\)\](\(coverage\|choosing\).md),\1,g' $$page >build/vectors/$${page##*/} || exit 1; done

# Into build/javascript: the npm package, with the version of a tag that points here. Nothing else needs Node.
javascript:
	npm ci --silent --ignore-scripts --prefix client/javascript
	npm test --silent --prefix client/javascript
	node client/javascript/build.mjs build/javascript $$(git describe --exact-match --match 'v*' 2>/dev/null | sed s/^v//)

bench: $(VENV)/ci.stamp
	$(BIN)/python -m benchmarks

# Beside the budgets of docs/architecture.md.
weight: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.weight

# RELEASE=DIR keeps the files that it makes.
release-check: $(VENV)/release.stamp $(VENV)/docs.stamp
	.ci/release-check $(RELEASE)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "deniable needs Python 3.11 or newer: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Compiling what is installed takes longer than installing it; Python compiles what it imports.
# Both packages at once, since each needs the other's version of this commit; pip wants extras first.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
PROJECTS := pyproject.toml collector/pyproject.toml
NEEDED := .ci/requirements

$(VENV)/collector.stamp: $(PROJECTS) | $(BIN)/python
	$(INSTALL) -e ".[collector]" -e ./collector
	@touch $@

$(VENV)/dev.stamp $(VENV)/ci.stamp: $(VENV)/%.stamp: $(PROJECTS) $(wildcard $(NEEDED)/*.txt) | $(BIN)/python
	$(INSTALL) -e ".[collector,analysis,issuer]" -e ./collector -r $(NEEDED)/$*.txt
	@touch $@ $(VENV)/collector.stamp

$(VENV)/docs.stamp $(VENV)/release.stamp: $(VENV)/%.stamp: $(PROJECTS) $(wildcard $(NEEDED)/*.txt) | $(BIN)/python
	$(INSTALL) -e ".[collector]" -e ./collector -r $(NEEDED)/$*.txt
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* dist build docs/reference/api
