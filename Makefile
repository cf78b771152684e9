# Two commands do all the set-up on a machine with Python 3.11 or newer and make:
#   make demo    environment, install, local Neo4j, main job
#   make test    environment, linters, types, the tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
INSTALL := $(BIN)/python -m uv pip install --quiet --python $(BIN)/python

# Tests start Python many times: without compiled files each start takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all quick-tests all-tests browser lint docs links notebooks unit bench results mcpb clean

demo: $(INSTALLED)
	$(BIN)/heat demo

# One BLAS thread in each process: the threads of several processes waited for each other, busily.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --dist loadgroup
# One process for each release's server, and one for the rest. Groups start in the order of tests/conftest.py.
LIVE := --numprocesses 3 --no-loadscope-reorder --durations 20

test:
	$(MAKE) --no-print-directory --jobs=2 quick-tests lint docs

test-all:
	$(MAKE) --no-print-directory --jobs=2 all-tests lint docs

quick-tests: browser $(COMPILED)
	$(PYTEST) $(LIVE) -m "not slow"

all-tests: browser $(COMPILED)
	$(INSTALL) --group geometric
	$(PYTEST) $(LIVE)

browser:
	sh tests/explore/install.sh

unit: $(COMPILED)
	$(PYTEST) --numprocesses 2 --durations 10 -m "not live and not slow and not browser"

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -c docs . build/docs
	$(BIN)/python -m tests.docs.site build/docs

# Whether addresses outside answer, which only a machine with a way there can say.
links: $(INSTALLED)
	$(BIN)/python -m sphinx --builder linkcheck --keep-going -c docs . build/links

notebooks: $(INSTALLED)
	$(BIN)/python -m tests.docs.notebooks

bench: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks

# Python compiles what is imported when it first is: all files beforehand would take half of the time.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "uv>=0.7"
	$(INSTALL) --editable ".[local,plot,baselines,distributed,metrics,graphrag,mcp,viz,text]" --group test --group lint --group docs
	touch $@

# All that the tests import, once: else each of their processes compiles it. What is wrong they tell themselves.
$(COMPILED): $(INSTALLED)
	$(BIN)/python -m pytest --collect-only --quiet >/dev/null 2>&1 || true
	touch $@

mcpb: $(INSTALLED)
	mkdir -p build
	$(BIN)/python -m zipfile -c build/heat-neo4j.mcpb mcpb/manifest.json mcpb/pyproject.toml mcpb/server.py

results: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks.results
	$(BIN)/python -m tests.docs.reference

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
