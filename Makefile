# make run       installs halftrip and runs `halftrip run`
# make test      installs halftrip and runs the tests that every change should pass: four minutes
# make test-all  runs the rest of them: a quarter of an hour
# make fuzz      tries a million plans, run files, greetings and imports that nobody would write
# make soak      before a release: every case of what the others draw samples from, for an hour
# make check     format, lint, types, import contracts, compiler warnings
# make format    formats all files
# make bench     halftrip beside its peers
# make golden    the schema, docs/options.md and golden files, made again of the tables and views
# make docs      the documentation site, in build/site
# make man       build/halftrip.1, the man page
# make wheel     the sdist and the wheel, in build/dist, tried in an environment that has nothing else

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HEADERS := $(wildcard native/*.hpp native/*/*.hpp)
SOURCES := $(wildcard native/bindings/*.cpp)
BARE := $(wildcard native/bare/*)
NATIVE := CMakeLists.txt pyproject.toml native/bindings/stubs.pat $(SOURCES) $(HEADERS) $(BARE)
FORMATTED := $(SOURCES) $(HEADERS) $(BARE) $(wildcard benchmarks/*.c) $(wildcard tests/native/*.cpp)
# The Python that has the halftrip under test; in CI that of an environment with the wheel.
TESTED ?= $(BIN)/python
# Whose warnings `make check` asks for; in CI for another processor.
CHECK_CXX ?= $(CXX)
WARNINGS := -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror

# Python keeps what it compiles even where the caller's environment forbids it: hundreds of processes
# import the same modules.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run check test test-all system lab fuzz soak format bench golden docs man wheel clean

run: $(VENV)/installed
	@echo 'halftrip run: measures every path on this machine, a minute; Ctrl-C keeps what there is'
	@$(BIN)/halftrip run

# Unit tests run in three workers, since some of them sleep. Of tests that start ranks two files run
# at a time, and those of the lab meanwhile: they have to hold beside other work anyway. All parts
# always run.
define run_tests
@status=0; \
	$(TESTED) -m pytest -m $(1) -n 3 tests/native tests/unit tests/fuzz || status=1; \
	$(MAKE) --silent --keep-going --jobs=2 TIER=$(1) system lab || status=1; \
	exit $$status
endef

system:
	@$(BIN)/pytest -m "$(TIER)" -n 2 --dist loadfile tests/system

# Its output comes when it has ended, and not between the lines of the other tests.
lab:
	@mkdir -p build
	@$(BIN)/pytest -m "$(TIER)" tests/lab >build/lab 2>&1; status=$$?; cat build/lab; exit $$status

test: $(VENV)/tested
	$(call run_tests,"not extended")

test-all: $(VENV)/developed
	$(call run_tests,extended)

# A million inputs that nobody would write.
fuzz: $(VENV)/developed
	PYTHONPATH=tests $(BIN)/python tests/fuzz/plans.py --inputs 1000000
	$(BIN)/python tests/fuzz/run_files.py --inputs 1000000
	$(BIN)/python tests/fuzz/greetings.py --inputs 1000000
	$(BIN)/python tests/fuzz/imports.py --inputs 1000000

# All settings with all others, every MPI with every pattern, 200 processes killed or stopped at drawn
# moments, a cable pulled for a minute, and 20 of each of what is drawn: slow hosts, links and builds.
soak: export FULL = 1
soak: export KILLS = 200
soak: export CABLE_SECONDS = 60
soak: export TRIALS = 20
soak: export PYTEST_ADDOPTS = --timeout 1800
soak: $(VENV)/developed
	$(call run_tests,"")

check: $(VENV)/developed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/clang-format --dry-run --Werror $(FORMATTED)
	@# Debian's pyconfig.h asks for that of the processor that is compiled for; they hardly differ.
	mkdir -p build/include
	ln -sfn /usr/include/$$(uname -m)-linux-gnu build/include/aarch64-linux-gnu
	printf '%s\n' $(SOURCES) | xargs -P 2 -n 1 $(CHECK_CXX) -std=c++20 -fsyntax-only $(WARNINGS) \
	    -isystem "$$($(BIN)/python -m nanobind --include_dir)" -isystem build/include \
	    -isystem "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')"
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/developed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix
	$(BIN)/clang-format -i $(FORMATTED)

bench: $(VENV)/developed
	$(BIN)/python benchmarks/peers.py

golden: $(VENV)/developed
	PYTHONPATH=tests $(BIN)/python scripts/make_golden.py
	WRITE_GOLDEN=1 $(BIN)/pytest -q tests/unit/views -k "the_whole or why_rows"

docs: $(VENV)/developed
	$(BIN)/python scripts/site.py build/site

$(VENV)/bin/pip:
	@sh scripts/needs.sh $(PYTHON)
	@$(PYTHON) -m venv $(VENV)

# An editable install: Python files are used in place, the native part is compiled again when it
# changes. What halftrip needs is fetched meanwhile. Pictures need 84 MB more, which `halftrip plot`
# asks for.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
together = @$(MAKE) --silent --jobs=2 $(addprefix $(VENV)/,$(1))

$(VENV)/installed: $(VENV)/bin/pip $(NATIVE)
	@echo 'Installing halftrip in $(VENV): fetches numpy, Open MPI and others, and compiles; a minute or two'
	$(call together,compiled needed)
	@touch $@

$(VENV)/tested: $(VENV)/bin/pip $(NATIVE)
	@echo 'Installing halftrip in $(VENV) with all that its tests need; a minute or two'
	$(call together,compiled test)
	@touch $(VENV)/needed $(VENV)/installed $@

$(VENV)/developed: $(VENV)/bin/pip $(NATIVE)
	@echo 'Installing halftrip in $(VENV) with all that its developers need; a minute or two'
	$(call together,compiled dev)
	@touch $(VENV)/needed $(VENV)/installed $(VENV)/test $(VENV)/tested $@

$(VENV)/compiled: $(VENV)/bin/pip $(NATIVE)
	@$(PIP) --no-deps --editable .
	@touch $@

$(VENV)/needed: $(VENV)/bin/pip pyproject.toml
	@$(PIP) $$($(BIN)/python scripts/requirements.py mpi)
	@touch $@

# Most of this is never imported: Python compiles a module when it is.
$(VENV)/test $(VENV)/dev: $(VENV)/bin/pip pyproject.toml
	@$(PIP) --no-compile $$($(BIN)/python scripts/requirements.py $(@F))
	@touch $@

man: $(VENV)/installed
	mkdir -p build
	$(BIN)/halftrip help --man > build/halftrip.1

wheel: $(VENV)/developed
	sh scripts/try_wheel.sh build/dist build/wheel

clean:
	rm -rf $(VENV) build
