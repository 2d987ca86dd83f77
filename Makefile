# The two commands of the README are `make demo` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PAPER  ?= holohan2017
PART   ?=

.PHONY: help install demo quick test lint docs tutorials test-oldest bench fuzz reproduce clean

help:                     ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "discreet needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

# Three stages of one environment: the package alone, the tools of the short loop, and everything that the tests need.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable
$(BIN)/.package: pyproject.toml | $(BIN)/python
	$(INSTALL) .
	touch $@
$(BIN)/.tools: pyproject.toml | $(BIN)/python
	$(INSTALL) '.[test]'
	touch $@ $(BIN)/.package
$(BIN)/.installed: pyproject.toml | $(BIN)/python
	$(INSTALL) '.[dev]'
	touch $@ $(BIN)/.package $(BIN)/.tools

install: $(BIN)/.installed ## the virtual environment with everything that the tests need

demo: $(BIN)/.package     ## plan, release, estimate and audit a real survey; writes into demo/
	$(BIN)/discreet demo --output demo --overwrite

# Style of the files that differ from main's newest commit or are new, architecture and contracts.
CHANGED = $$(git diff --name-only --diff-filter=d HEAD -- '*.py'; git ls-files --others --exclude-standard -- '*.py')
quick: $(BIN)/.tools      ## the short loop: style of changed files, architecture and contract tests, without root, in about a minute
	@files="$(CHANGED)"; [ -z "$$files" ] || { $(BIN)/ruff check $$files && $(BIN)/ruff format --check $$files; }
	$(BIN)/python -m pytest -n 2 tests/architecture tests/mechanisms/test_contract.py tests/estimate/test_result_contract.py

ifeq ($(PART),)
test: lint                ## every test, with doctests of code and pages, and the site; PART=estimate: the tests of one folder
	@sh tests/install_parts
	$(BIN)/python -m pytest -n 2
	$(MAKE) docs
else
test: $(BIN)/.installed
	@sh tests/install_parts
	$(BIN)/python -m pytest -n 2 $(wildcard tests/$(PART) src/discreet/$(PART))
endif

lint: $(BIN)/.installed   ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(BIN)/.installed   ## the site, into docs/_build/html; tutorials are executed, a warning is a failure
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "the site is in docs/_build/html/index.html"

tutorials: $(BIN)/.installed ## every tutorial from the built wheel, each in an environment of its own
	$(BIN)/python docs/run_tutorials.py

# Lowest versions that are supported; docs/stability.md has the same table. What they need themselves is the newest, which
# warns of their old habits: that is not an error here.
OLDEST := numpy==1.26.* scipy==1.12.* pyarrow==17.* formulaic==1.2.* cryptography==42.* typer==0.16.* rich==13.* \
          matplotlib==3.8.*
test-oldest:              ## a part of the suite with the lowest versions of what the package needs
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --editable . $(OLDEST) pytest hypothesis jsonschema polars
	.venv-oldest/bin/python -m pytest -W default::DeprecationWarning tests/mechanisms/test_contract.py tests/privacy tests/publish/test_release.py tests/publish/test_saving.py \
	  tests/estimate/test_means.py tests/estimate/test_regression.py tests/estimate/test_result_contract.py tests/plots tests/cli/test_show.py tests/cli/test_commands.py

fuzz: $(BIN)/.installed   ## hostile plans, manifests, tables and formulas: FUZZ_SECONDS=600 make fuzz
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} $(BIN)/python -m pytest tests/security/test_fuzz.py -k variations -x

bench: $(BIN)/.installed  ## speed, as ratios measured in one run (QUICK=1 for fewer rows); peers get environments of their own
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

reproduce: $(BIN)/.installed ## tables and figures of a paper, or simulations: make reproduce PAPER=holohan2017, PAPER=inference
	$(BIN)/python -m experiments.$(PAPER)

clean:
	rm -rf $(VENV) .venv-oldest demo results build docs/_build docs/reference *.egg-info src/*.egg-info
