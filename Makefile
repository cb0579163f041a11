# Two commands set up everything on a fresh machine: `make demo` and `make test`.
# PYTHON names the interpreter (3.11 to 3.13); VENV the environment to create.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
ALONE  := $(VENV)/.installed-alone# the package without what its tests need
BYTES  := $(VENV)/.installed-byte-code
SITE   := $(VENV)/.installed-docs
export PIP_DISABLE_PIP_VERSION_CHECK := 1
KERNELS := $(shell find cfxc/kernels -name "*.?pp")
TORCH  := 2.13.0# tested with; installed first, so that nothing brings another one

.PHONY: help demo test nightly sanitize lint types docs bench verified clean

help:
	@echo "make demo   the main job: nearest counterfactual for a patient, proved (1 to 2 minutes)"
	@echo "make nightly  the tests, all mutants, and an hour's search for false claims"
	@echo "make test   the tests        make lint   ruff and the import contract"
	@echo "make types  mypy, strict     make bench  the papers' tables, few people"
	@echo "make verified  the checker that is proved in Coq: verified/cfxc-verified"
	@echo "make sanitize  the kernels' tests with checks of every address and shift"
	@echo "make docs   the site, in build/site; runs every example on its pages (minutes)"

# the answer first; what the next commands start quicker with, after it
demo: $(ALONE)
	$(BIN)/cfxc demo
	@$(MAKE) --no-print-directory $(BYTES)

test: $(STAMP)
	$(BIN)/python -m pytest -n auto

# what a pull request tries a sample of
nightly: $(STAMP)
	$(BIN)/python -m pytest -n auto --complete
	$(BIN)/python benchmarks/false_claims.py --minutes 60
	@if command -v cfxc-verified > /dev/null; then $(BIN)/python benchmarks/verified.py --part mutants; \
	else echo "SKIPPED: cfxc-verified is not on PATH"; fi

# Afterwards the kernels are built anew, as the stamp is gone. libstdc++ is loaded with the
# sanitizer, which otherwise cannot pass on what Z3 throws.
KERNEL_TESTS := tests/solvers/box_search tests/solvers/mio/test_regions.py \
  tests/compiler/passes tests/methods/amortised/test_choices.py
sanitize: $(STAMP)
	rm -f $(STAMP) $(ALONE)
	$(BIN)/python -m pip install --quiet --no-deps -C cmake.define.CFXC_SANITIZE=ON -e .
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) \
	  $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	  $(BIN)/python -m pytest -n auto $(KERNEL_TESTS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(KERNELS)

types: $(STAMP)
	$(BIN)/mypy

# Every warning is an error: a dead link, a page in no list, an example that fails.
docs: $(SITE)
	@echo "running every example: some minutes"
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m sphinx -W --keep-going -q docs build/site
	@echo "build/site/index.html"

verified:
	@command -v coqc ocamlfind > /dev/null || { echo "Coq and OCaml are needed; Debian has them:" \
	  "apt-get install coq ocaml-findlib libzarith-ocaml-dev libsha-ocaml-dev" >&2; exit 2; }
	$(MAKE) --no-print-directory -C verified

bench: $(STAMP)
	set -e; for paper in mace eicfx ceocl l2c copa; do $(BIN)/python -m benchmarks $$paper; done

clean:
	rm -rf $(VENV) build dist

define environment
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "cfxc needs Python 3.11 to 3.13: make PYTHON=python3.12 …"; exit 1; }
	@echo "installing into $(VENV), once: $(1)"
	$(PYTHON) -m venv $(VENV)
endef

# the kernels are built beside the download of what the package needs
PIP := $(BIN)/python -m pip install --quiet --no-compile
define NEEDED
import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["dependencies"], sep="\n")
endef
export NEEDED

# once; again whenever the dependencies or the kernels change
$(ALONE): pyproject.toml CMakeLists.txt $(KERNELS)
	$(call environment,one to two minutes and about 700 MB)
	@$(PIP) --no-deps -e . & built=$$!; \
	  $(BIN)/python -c "$$NEEDED" | $(PIP) -r /dev/stdin || { kill $$built; exit 1; }; wait $$built
	@touch $@

$(BYTES): $(ALONE)
	@$(BIN)/python -m compileall -qq -j0 $(VENV)/lib || true
	@touch $@

$(STAMP): pyproject.toml CMakeLists.txt $(KERNELS)
	$(call environment,some minutes and about 2 GB with PyTorch and other libraries for the tests)
	$(BIN)/python -m pip install --quiet torch==$(TORCH)
	$(BIN)/python -m pip install --quiet -e '.[test]'
	@touch $(ALONE) $(BYTES) $@

$(SITE): $(STAMP)
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	@touch $@
