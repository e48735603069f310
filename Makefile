# make run    sets everything up and runs the main job
# make test   sets everything up and runs all tests
# make check  format, lint, types, import contracts

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HEADERS := $(wildcard native/*.hpp native/*/*.hpp)
SOURCES := $(wildcard native/bindings/*.cpp)
NATIVE := CMakeLists.txt pyproject.toml $(SOURCES) $(HEADERS)
FORMATTED := $(SOURCES) $(HEADERS) $(wildcard benchmarks/*.c) $(wildcard tests/native/*.cpp)
WARNINGS := -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror

.PHONY: run test check format bench clean

run: $(VENV)/installed
	$(BIN)/halftrip run

test: $(VENV)/developed
	$(BIN)/pytest

check: $(VENV)/developed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/clang-format --dry-run --Werror $(FORMATTED)
	@for file in $(SOURCES); do $(CXX) -std=c++20 -fsyntax-only $(WARNINGS) \
	    -isystem $$($(BIN)/python -m nanobind --include_dir) \
	    -isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))') \
	    $$file || exit 1; done
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/developed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(BIN)/clang-format -i $(FORMATTED)

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
