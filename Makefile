# Needs make and a Python of 3.11 or newer; everything else goes into .venv,
# made on first use and refreshed when pyproject.toml changes.

PYTHON ?= python3
BENCH ?= kernels
PYTEST_FLAGS ?= -n auto
# The extra that tests are run with; `test-gpu` also runs those of the GPU kernels, on the CPU.
TEST_EXTRA ?= test

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
CODE := src tests tools $(wildcard benchmarks docs/*.py docs/_ext docs/examples)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# All extras share one environment, so two installs must not run at once.
.NOTPARALLEL:
.PHONY: help demo test lint bench bench-peers bench-smoke bench-page benchmarks docs gallery clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1  \2/p' Makefile

demo: $(VENV)/.stamp-demo  ## fit a topic model to docstrings, report in demo-report/
	$(BIN)/python -m isotherm demo

test: lint  ## lint, then run all tests
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

lint: $(VENV)/.stamp-$(TEST_EXTRA)  ## check style, format and types
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/python tools/check_page.py

bench: $(VENV)/.stamp-bench  ## run benchmarks; choose with BENCH="kernels ...", or BENCH=all
	$(BIN)/python benchmarks/run.py $(BENCH)

bench-peers: $(VENV)/.stamp-bench  ## make the environments of the peers, in .venv-peers
	$(BIN)/python benchmarks/peers/install.py $(PEERS)

bench-smoke: $(VENV)/.stamp-bench  ## fail if a headline ratio has fallen; under three minutes
	$(BIN)/python benchmarks/run.py smoke

bench-page:  ## write docs/benchmarks.md from the results that are kept
	$(PYTHON) benchmarks/run.py page
	$(PYTHON) benchmarks/run.py quotes

benchmarks: $(VENV)/.stamp-bench bench-peers  ## run all benchmarks and write their page; hours
	@$(BIN)/python benchmarks/run.py all; code=$$?; \
	  $(BIN)/python benchmarks/run.py page && exit $$code

docs: $(VENV)/.stamp-docs  ## build the site in build/docs, examples included; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -a -j auto -q -d build/doctrees docs build/docs
	@echo "open build/docs/index.html"

gallery: $(VENV)/.stamp-test  ## take the pictures of docs/gallery.md; needs Chromium
	$(BIN)/python docs/make_gallery.py

clean:  ## remove the environment, caches and reports
	rm -rf $(VENV) .venv-peers .node build dist demo-report .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -rf docs/auto_examples docs/api/generated
	find src tests docs $(wildcard benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "isotherm needs Python 3.11 or newer; try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.stamp-%: pyproject.toml $(VENV)/.stamp-venv
	$(PIP) install --editable '.[$*]'
	@touch $@
