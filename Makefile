# make run    sets everything up and runs the main job
# make test   sets everything up and runs all tests
# make check  format, lint, types, import contracts

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(wildcard native/*.?pp native/*/*.hpp)

.PHONY: run test check format bench clean

run: $(VENV)/installed
	$(BIN)/halftrip run

test: $(VENV)/developed
	$(BIN)/pytest

check: $(VENV)/developed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/clang-format --dry-run --Werror $(filter native/%,$(NATIVE)) benchmarks/*.c
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/developed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(BIN)/clang-format -i $(filter native/%,$(NATIVE)) benchmarks/*.c

bench: $(VENV)/developed
	$(BIN)/python benchmarks/peers.py

$(VENV)/bin/pip:
	@sh scripts/needs.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)

# Installed in place: Python is used where it lies; the native part is built again when it changes.
$(VENV)/installed: $(VENV)/bin/pip $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[mpi]'
	touch $@

$(VENV)/developed: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build
