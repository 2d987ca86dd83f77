# The two commands of the README are `make demo` and `make test`. Each makes its own virtual environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PAPER  ?= holohan2017

.PHONY: demo test lint bench fuzz reproduce clean

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "discreet needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(BIN)/.installed   ## plan, release, estimate and audit a real survey; writes into demo/
	$(BIN)/discreet demo --output demo --overwrite

test: lint                ## every test, with doctests of code and documentation
	@sh tests/install_parts
	$(BIN)/python -m pytest -n 2

lint: $(BIN)/.installed   ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(BIN)/.installed   ## hostile plans, manifests, tables and formulas: FUZZ_SECONDS=600 make fuzz
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} $(BIN)/python -m pytest tests/security/test_fuzz.py -k variations -x

bench: $(BIN)/.installed  ## speed, as ratios measured in one run (QUICK=1 for fewer rows); peers get environments of their own
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

reproduce: $(BIN)/.installed ## a paper's tables and figures: make reproduce PAPER=holohan2017
	$(BIN)/python -m experiments.$(PAPER)

clean:
	rm -rf $(VENV) demo results build *.egg-info src/*.egg-info
