# make setup | demo | wheel [PGO=1] | source | docs | test [FAST=1] | bench [CASE=name] | validate [REF=folder] [ONLY=set.file] | validate-live [ONLY=name] | validate-kernel [ONLY=name] [SEEDS=n] | fuzz [SECONDS=n] [HOPS=1e9] [SEED=n] [DRAWS=n] | audit | lint | clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Packages are compiled when they are imported: most of their modules never are.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Versions of what the tests need are those of the lock; UNLOCKED=1 takes the newest.
LOCK := $(if $(UNLOCKED),,PIP_CONSTRAINT=$(CURDIR)/requirements-dev.lock)
# What the extension module is built from; its Python half is used where it stands.
SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -type f)

.PHONY: setup demo wheel source docs test bench validate validate-live validate-kernel fuzz audit lint lint-python lint-rest clean

# The build for users, and what running needs.
setup: $(VENV)/released

$(VENV)/tools: pyproject.toml
	$(if $(shell command -v cargo),,$(error afflux is built with Rust 1.88 or later, and cargo is not there: install it from https://rustup.rs, or put it on the PATH))
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "afflux needs Python 3.11 or later; choose one with PYTHON=…" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "maturin>=1.9.4,<2"
	@touch $@

$(VENV)/released: $(VENV)/tools $(SOURCES)
	@echo "Compiling afflux takes about four minutes the first time."
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(LOCK) $(BIN)/maturin develop --release --extras tune
	@touch $(VENV)/built $@

# The build for tests: what `make setup` has built if it is up to date, otherwise the profile that linters and Rust tests share.
$(VENV)/built: $(VENV)/tools $(SOURCES)
	@rm -f $(VENV)/released
	$(if $(FAST),CARGO_INCREMENTAL=1) VIRTUAL_ENV=$(CURDIR)/$(VENV) $(LOCK) $(BIN)/maturin develop --profile checking
	@touch $@

# What running and the tests need.
$(VENV)/tested: pyproject.toml requirements-dev.lock | $(VENV)/tools
	$(BIN)/python -c 'import tomllib; of = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*of["dependencies"], *of["optional-dependencies"]["test"], sep="\n")' > $(VENV)/test.txt
	$(LOCK) $(PIP) --requirement $(VENV)/test.txt
	@touch $@

demo: setup
	$(BIN)/afflux demo

# A wheel for every Python from 3.11 on, and the sources, in dist: for machines without a compiler. PGO=1 compiles twice, guided by a profile (docs/dev/release.md).
wheel: $(VENV)/tools
	.ci/dist.sh wheel $(BIN)/maturin $(if $(PGO),--pgo)

# The sources with those of all crates they need, in dist: builds a wheel without a network (docs/dev/release.md).
source: $(VENV)/tools
	.ci/dist.sh source $(BIN)/maturin

# The documentation site, in site: open site/index.html. A link that leads nowhere is an error.
docs: setup $(VENV)/documented
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

$(VENV)/documented: pyproject.toml | $(VENV)/built
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > $(VENV)/docs.txt
	$(LOCK) $(PIP) --requirement $(VENV)/docs.txt
	@touch $@

# FAST=1 compiles incrementally and leaves out what took more than half a second in an earlier run, for the loop of a developer: the first time takes
# minutes, later ones about two.
test: $(VENV)/built $(VENV)/tested
	$(BIN)/python -m tests.suite $(if $(FAST),--fast)

bench: setup
	$(BIN)/python benches/run.py $(CASE)

# Against other simulators and real Linux; REF is the folder with their numbers (../shared/reference where it is, else validation/reference), JOBS the processes,
# LIMIT seconds per simulation.
validate: setup $(VENV)/tested
	$(if $(ONLY)$(REF),,$(BIN)/python -m pytest -m validation)
	$(BIN)/python -m validation.run $(if $(REF),--ref "$(REF)") $(if $(ONLY),--only "$(ONLY)") $(if $(JOBS),--jobs $(JOBS)) $(if $(LIMIT),--limit $(LIMIT))

# Real Linux hosts in real time against theory and simulation; needs root, and a machine that does little else.
validate-live: setup $(VENV)/tested
	$(BIN)/python -m validation.live $(if $(ONLY),--only "$(ONLY)")

# Rows of real Linux that are outside their bars, with Linux kernels in virtual time as hosts; needs an image with 1,000 ticks a second. Runs that are in
# validation/evidence/linux-kernel.csv are not repeated. The page shows them after the next `make validate`.
validate-kernel: setup
	$(BIN)/python -m validation.kernel $(if $(ONLY),--only "$(ONLY)") $(if $(SEEDS),--seeds $(SEEDS))

# The determinism tests with seven threads; random scenarios for so many seconds, or, with HOPS, until they have so many packet-hops; then mutated scenarios, mutated imports and kills;
# then tests of random cases and samples, with DRAWS times those of `make test`.
SECONDS ?= 3600
SEED ?= 1001
fuzz: setup $(VENV)/tested
	AFFLUX_MOST_THREADS=7 PROPTEST_CASES=256 cargo test --profile checking -p afflux-net --lib --quiet
	cargo run --quiet --profile fuzz -p afflux-fuzz -- run --seed $(SEED) $(if $(HOPS),--hops $(HOPS),--time $(SECONDS)) --jobs $(or $(JOBS),1) --out out/fuzz
	$(BIN)/python -m fuzz.scenarios --seed $(SEED) --count $(or $(COUNT),5000) --jobs $(or $(JOBS),1)
	$(BIN)/python -m fuzz.importers --seed $(SEED) --count $(or $(COUNT),5000)
	$(BIN)/python -m fuzz.memory
	$(BIN)/python -m fuzz.kills --seed $(SEED)
	AFFLUX_DRAWS=$(or $(DRAWS),10) $(BIN)/python -m pytest $$(grep -lE "as_many\(|DRAWS" tests/test_*.py) -m "not realtime and not validation"
	@if cargo +nightly fuzz --version >/dev/null 2>&1; then \
	  for target in $$(ls fuzz/corpus); do \
	    mkdir -p out/fuzz/corpus/$$target; \
	    AFFLUX_FUZZ_TARGET=$$target cargo +nightly fuzz run --fuzz-dir fuzz/coverage --sanitizer none reads out/fuzz/corpus/$$target fuzz/corpus/$$target -- -max_total_time=$$(($(SECONDS) / 15)) || exit 1; \
	  done; \
	else echo "coverage-guided fuzzing of the readers is left out: it needs a nightly Rust and cargo-fuzz (rustup toolchain install nightly; cargo install cargo-fuzz)"; fi

# Licences and known advisories of what afflux depends on; says what could not be looked up.
audit: setup $(VENV)/tested
	-$(PIP) pip-audit
	$(BIN)/python .ci/audit.py

# Form, types, and the doors between the rooms: between crates, and between the folders of the Python package. `.ci/run` makes the parts of it one by one:
# clippy reads the crates there while they are compiled.
lint: lint-python lint-rest
	cargo clippy --profile checking --workspace --all-targets -- -D warnings

lint-python: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-rest: $(VENV)/built $(VENV)/tested
	cargo fmt --check
	$(BIN)/python -m pytest tests/test_layers.py tests/test_rooms.py
	@if command -v actionlint >/dev/null; then actionlint; else echo "the workflows of .github are left out: actionlint is not on the PATH"; fi
	@if command -v hadolint >/dev/null; then hadolint Dockerfile; else echo "the Dockerfile is left out: hadolint is not on the PATH"; fi

clean:
	rm -rf $(VENV) target out site dist
