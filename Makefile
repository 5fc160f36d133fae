# make install   an environment in .venv with the pinned packages and the command polyonym
# make demo      reads examples/corpus and shows what became one node
# make test      the whole test suite          make check   style and types (make types: types alone)
# make bench-coats  the same texts in other coats: wrapped, quoted, in capitals, as mail (needs gold sets; long)
# make crash     kills runs, many times, and compares (long)
#
# TORCH_INDEX=URL make install   takes PyTorch from another index (its CPU build is a tenth of the default one's size)

PYTHON ?= python3
BIN := .venv/bin
DEMO_HOME ?= demo-home
PACKAGES := flows graph ingest resolution retrieval
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: docs install demo test check types crash bench-coats clean

install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(if $(TORCH_INDEX),$(BIN)/pip install -q --index-url $(TORCH_INDEX) $$(grep '^torch==' requirements.lock))
	$(BIN)/pip install -q -r requirements.lock
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	touch $@

demo: install
	rm -rf $(DEMO_HOME)
	$(BIN)/polyonym ingest examples/corpus --registry examples/registry.jsonl --home $(DEMO_HOME)
	$(BIN)/polyonym audit --gold examples/gold.jsonl --home $(DEMO_HOME)
	$(BIN)/polyonym names --home $(DEMO_HOME)

test: install
	$(BIN)/pytest -q -n 3

crash: install
	POLYONYM_CRASH_KILLS=200 $(BIN)/pytest -q -s tests/flows/test_crash.py

bench-coats: install
	$(BIN)/python benchmarks/coats.py

check: install types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	mkdir -p build/typed/polyonym
	ln -sfn $(PACKAGES:%=$(CURDIR)/%) $(wildcard $(CURDIR)/polyonym/*) build/typed/polyonym/
	$(BIN)/mypy

clean:
	rm -rf .venv $(DEMO_HOME) build *.egg-info

docs: install
	$(BIN)/python docs/make_cli.py
