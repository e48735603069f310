# make run       installs halftrip and runs `halftrip run`
# make test      installs halftrip and runs the tests that every change should pass
# make test-all  runs the rest of them
# make fuzz      tries a million plans, run files, greetings and imports that nobody would write
# make soak      for half an hour: kills processes, pulls a cable, has slow hosts and links found
# make check     format, lint, types, import contracts, compiler warnings
# make format    formats all files
# make bench     halftrip beside its peers
# make docs      the documentation site, in build/site
# make man       build/halftrip.1, the man page

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HEADERS := $(wildcard native/*.hpp native/*/*.hpp)
SOURCES := $(wildcard native/bindings/*.cpp)
BARE := $(wildcard native/bare/*)
NATIVE := CMakeLists.txt pyproject.toml $(SOURCES) $(HEADERS) $(BARE)
FORMATTED := $(SOURCES) $(HEADERS) $(BARE) $(wildcard benchmarks/*.c) $(wildcard tests/native/*.cpp)
WARNINGS := -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror

.PHONY: run check test test-all fuzz soak format bench docs man clean

run: $(VENV)/installed
	$(BIN)/halftrip run

# Unit tests run in three workers, since some of them sleep; tests that start ranks run one at a time.
# Both parts always run.
define run_tests
@status=0; \
	$(BIN)/pytest -m $(1) -n 3 tests/native tests/unit tests/fuzz || status=1; \
	$(BIN)/pytest -m $(1) tests/system tests/lab || status=1; \
	exit $$status
endef

test: $(VENV)/developed
	$(call run_tests,"not extended")

test-all: $(VENV)/developed
	$(call run_tests,extended)

# A million inputs that nobody would write.
fuzz: $(VENV)/developed
	PYTHONPATH=tests $(BIN)/python tests/fuzz/plans.py --inputs 1000000
	$(BIN)/python tests/fuzz/run_files.py --inputs 1000000
	$(BIN)/python tests/fuzz/greetings.py --inputs 1000000
	$(BIN)/python tests/fuzz/imports.py --inputs 1000000

# 200 processes killed or stopped at drawn moments; a cable pulled for a minute; a host, a link or
# none slow, and a build slower or unchanged, 20 times each.
soak: $(VENV)/developed
	KILLS=200 $(BIN)/pytest -k dies tests/system/test_random_kills.py tests/lab/test_slurm.py
	CABLE_SECONDS=60 $(BIN)/pytest tests/lab/test_cable.py
	TRIALS=20 $(BIN)/pytest tests/lab/test_who_is_slow.py tests/system/test_gate.py

check: $(VENV)/developed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/clang-format --dry-run --Werror $(FORMATTED)
	printf '%s\n' $(SOURCES) | xargs -P 2 -n 1 $(CXX) -std=c++20 -fsyntax-only $(WARNINGS) \
	    -isystem $$($(BIN)/python -m nanobind --include_dir) \
	    -isystem $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/developed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(BIN)/clang-format -i $(FORMATTED)

bench: $(VENV)/developed
	$(BIN)/python benchmarks/peers.py

docs: $(VENV)/developed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

$(VENV)/bin/pip:
	@sh scripts/needs.sh $(PYTHON)
	$(PYTHON) -m venv $(VENV)

# An editable install: Python files are used in place, the native part is rebuilt when it changes.
$(VENV)/installed: $(VENV)/bin/pip $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[mpi,plot]'
	touch $@

# Of what is installed, most is never imported: Python compiles a module when it is.
$(VENV)/developed: $(VENV)/bin/pip $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	touch $(VENV)/installed $@

man: $(VENV)/installed
	mkdir -p build
	$(BIN)/halftrip help --man > build/halftrip.1

clean:
	rm -rf $(VENV) build
