PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
SCALE := benchmarks/reports/2026-11-16-scale
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-long faults check format docs figures notebooks licences audit wheel-check bench bench-neural clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.package  ## n-gram, neural, interpolated and hybrid models on text that ships with Python; table, report, explorer
	$(BIN)/modlm demo

test: $(VENV)/.dev  ## all tests but the long ones
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

test-long: $(VENV)/.dev  ## the long tests; those that need data read it from the folder MODLM_DATA
	$(BIN)/python -m pytest -m long

faults: $(VENV)/.dev  ## kills, full disks, damage, hostile files and clients: the table of docs/reliability.md; ARGS="--full --record"
	PYTHONPATH=src:.:tests $(BIN)/python -m tests.faults $(ARGS)

check: $(VENV)/.dev  ## formatting, lint, spelling, strict types and all tests but the long ones, as in CI
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(MAKE) test

format: $(VENV)/.dev  ## format the code and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.dev  ## the site, in docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet docs docs/_build/html

figures: $(VENV)/.dev  ## draw every figure of README and docs from the committed numbers; trains nothing
	$(BIN)/python tools/figures.py
	$(BIN)/python benchmarks/scale.py --read $(SCALE).json --out $(SCALE).md
	$(BIN)/modlm reproduce all --redraw

notebooks: $(VENV)/.dev  ## run the notebooks of examples/ and keep their outputs
	$(BIN)/python tools/notebooks.py

licences: $(VENV)/.dev  ## write docs/dependencies.md anew: every pinned package with its licence
	$(BIN)/python tools/dependencies.py

audit: $(VENV)/.dev  ## known vulnerabilities of the pinned versions; needs PyPI's or OSV's service: ARGS="-s osv"
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt $(ARGS)

wheel-check: $(VENV)/.dev  ## build sdist and wheel, install in clean environments, try them; ARGS="--python python3.12"
	$(BIN)/python tools/wheel_check.py $(ARGS)

bench: $(VENV)/.dev  ## speed and size beside KenLM; ARGS="--help" shows how to name texts and KenLM's binaries
	$(BIN)/python benchmarks/against_kenlm.py $(ARGS)

bench-neural: $(VENV)/.dev  ## training and evaluation speed of the nets, as ratios; ARGS="--help" shows how to name texts
	$(BIN)/python benchmarks/train.py $(ARGS)
	$(BIN)/python benchmarks/infer.py $(ARGS)
	$(BIN)/python benchmarks/rows.py $(ARGS)

clean:  ## remove the environment and all caches
	rm -rf $(VENV) docs/_build docs/reports .mypy_cache .ruff_cache .pytest_cache .hypothesis .numba_cache dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment in two steps, so that the demo installs no more than a user would. Where PyPI's torch brings CUDA along
# and a small one is wanted: PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make demo
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "modlm needs Python 3.11 or later; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.package: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[neural,serve]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(INSTALL) --editable '.[dev,release,scale,index,translation,sentencepiece,neural,figures,tune,serve,browser,hf,docs,notebooks]'
	@touch $@ $(VENV)/.package
