# Makefile: the front door. `make` alone lists what there is.
SHELL := /bin/sh
.DELETE_ON_ERROR:
VENV := .venv
PYTHON := $(VENV)/bin/python
NINJA := $(VENV)/bin/ninja
BUILD := build/cp311
JOBS ?= 2
# $(call lock,FOLDER) COMMAND: one build at a time in a folder, also when several shells call make.
lock = $(if $(shell command -v flock),flock --close $(1).lock,)

.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

# The environment: brought up to date when the pinned requirements change.
$(VENV)/.ready: requirements-dev.txt requirements-test.txt .ci/make-venv
	@python=$${PYTHON311:-$$(.ci/find-python 3.11)} && echo "Preparing $(VENV) with $$python" && \
	  .ci/make-venv $(VENV) "$$python" requirements-dev.txt

# Once configured, ninja itself runs CMake again when a CMake file changes or a source appears.
# A changed environment may bring another torch: configure anew.
CONFIGURE = mkdir -p build && $(call lock,$(@D)) cmake -S . -B $(@D) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(NINJA)

$(BUILD)/build.ninja: $(VENV)/.ready
	@$(CONFIGURE) -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) && touch $@

## make build          the environment in .venv and the extension modules, in place (stator/*.so)
.PHONY: build
build: $(VENV)/.ready $(BUILD)/build.ninja
	@.ci/put-in-place $(VENV)
	@$(call lock,$(BUILD)) $(NINJA) -C $(BUILD) --quiet -k 0

## make demo           a Hugging Face model, a loop with breaks, a training step: Stator beside torch.compile
.PHONY: demo
demo: build $(VENV)/.models-ready
	@$(PYTHON) examples/demo.py

## make test           C++ tests, then the Python tests
.PHONY: test
test: cpp-tests
	@$(PYTHON) -m pytest -n $(JOBS) tests

.PHONY: cpp-tests
cpp-tests: build
	@test -e /usr/include/gtest/gtest.h -o -e /usr/src/googletest || { test "$$(id -u)" = 0 && \
	  apt-get install -y libgtest-dev && cmake $(BUILD); } || true
	@$(call lock,$(BUILD)) $(NINJA) -C $(BUILD) --quiet cpp_tests
	@if test -x $(BUILD)/tests/stator_core_tests; then ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS); \
	  else echo "*** C++ tests skipped: GoogleTest is missing (Debian, Ubuntu: apt-get install libgtest-dev) ***"; fi

## make test-install   pip install, copied and editable, into fresh environments with and without torch
.PHONY: test-install
test-install: build
	@$(PYTHON) -m pytest -m install tests/api

## make wheel          wheels in dist/ for CPython 3.11, 3.12 and 3.13 (those that are found), each tried with torch
WHEELS ?= 3.11 3.12 3.13
.PHONY: wheel
wheel:
	@for version in $(WHEELS); do .ci/make-wheel $$version || exit 1; done

## make test-pythons   the capture layer on CPython 3.11, 3.12 and 3.13, without torch
# Environments of their own, so that the 3.11 run proves that torch is not needed.
MINORS := 11 12 13
.PHONY: test-pythons $(MINORS:%=test-cp3%)
test-pythons: $(MINORS:%=test-cp3%)

$(MINORS:%=.venv-cp3%/.ready): .venv-cp3%/.ready: requirements-test.txt .ci/make-venv
	@python=$${PYTHON3$*:-$$(.ci/find-python 3.$*)} && echo "Preparing $(@D) with $$python" && \
	  .ci/make-venv $(@D) "$$python" requirements-test.txt

build/cp312/build.ninja build/cp313/build.ninja: build/cp3%/build.ninja: .venv-cp3%/.ready $(VENV)/.ready
	@$(CONFIGURE) -DPython_EXECUTABLE=$(CURDIR)/.venv-cp3$*/bin/python && touch $@

$(MINORS:%=test-cp3%): test-cp3%: .venv-cp3%/.ready build/cp3%/build.ninja
	@$(call lock,build/cp3$*) $(NINJA) -C build/cp3$* --quiet
	@.venv-cp3$*/bin/python -m pytest -n $(JOBS) tests/capture

## make test-asan      C++ and capture tests under AddressSanitizer and UndefinedBehaviorSanitizer
ASAN := build/asan
ASAN_PACKAGE := $(ASAN)/package/stator
# libstdc++ comes with libasan: the sanitizer looks for __cxa_throw before Python loads any C++ code.
# Python itself frees little at exit, hence no leak check; reference counts have tests of their own, which count
# Python's blocks and resident memory and so mean nothing here; the sanitizer reports failed allocations with the process's number, which no two runs share.
ASAN_ENV = LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYTHONPATH=$(CURDIR)/$(ASAN)/package

$(ASAN)/build.ninja: $(VENV)/.ready
	@$(CONFIGURE) -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) -DSTATOR_SANITIZE=ON -DSTATOR_TORCH=OFF \
	  -DSTATOR_MODULE_DIR=$(CURDIR)/$(ASAN_PACKAGE) && touch $@

.PHONY: test-asan
test-asan: $(VENV)/.ready $(ASAN)/build.ninja
	@$(call lock,$(ASAN)) $(NINJA) -C $(ASAN) --quiet all cpp_tests
	@for file in stator/*; do case $$file in *.so|*__pycache__) ;; *) ln -sfn $(CURDIR)/$$file $(ASAN_PACKAGE)/;; esac; done
	@ASAN_OPTIONS=detect_leaks=1 ctest --test-dir $(ASAN) --output-on-failure -j $(JOBS)
	@$(ASAN_ENV) $(PYTHON) -m pytest -n $(JOBS) tests/capture --ignore tests/capture/test_references.py \
	  --deselect 'tests/capture/test_processes.py::test_process[memory_errors]'

## make test-debug     references and asserts with a debug CPython 3.11 (Debian: python3.11-dbg)
# Canonical header names would lead the compiler from the debug build's headers to the release build's pyconfig.h.
DEBUG_PYTHON ?= /usr/bin/python3.11-dbg
DEBUG_FLAGS := -fno-canonical-system-headers
.venv-cp311d/.ready: requirements-test.txt .ci/make-venv
	@test -x $(DEBUG_PYTHON) || { echo "$(DEBUG_PYTHON) is missing (Debian: apt-get install python3.11-dbg)" >&2; exit 1; }
	@.ci/make-venv $(@D) $(DEBUG_PYTHON) requirements-test.txt

build/cp311d/build.ninja: .venv-cp311d/.ready $(VENV)/.ready
	@$(CONFIGURE) -DPython_EXECUTABLE=$(CURDIR)/.venv-cp311d/bin/python -DSTATOR_TORCH=OFF \
	  -DCMAKE_C_FLAGS=$(DEBUG_FLAGS) -DCMAKE_CXX_FLAGS=$(DEBUG_FLAGS) && touch $@

.PHONY: test-debug
test-debug: .venv-cp311d/.ready build/cp311d/build.ninja
	@$(call lock,build/cp311d) $(NINJA) -C build/cp311d --quiet
	@.venv-cp311d/bin/python -m pytest -n $(JOBS) tests/capture/test_references.py tests/capture/test_programs.py

## make mutations      changes after compiling: 5,000 of modules, 50,000 of reader x place x change; none may go unnoticed
CASES ?= 50000
SEED ?= 0
.PHONY: mutations
mutations: build
	@$(PYTHON) tests/mutations/mutation_programs.py
	@$(PYTHON) tests/mutations/mutation_runner.py --cases $(CASES) --seed $(SEED) --jobs $(JOBS)

## make fuzz           generated programs of tensor work and breaks against eager: 100,000; none may differ
PROGRAMS ?= 100000
.PHONY: fuzz
fuzz: build
	@$(PYTHON) -W ignore tests/fuzz/fuzz_runner.py --programs $(PROGRAMS) --seed $(SEED) --jobs $(JOBS)

## make lint           clang-format, clang-tidy, ruff, mypy --strict
# Its own configuration: clang cannot read the headers that g++ precompiled, and has no omp.h of its own.
build/lint/build.ninja: Makefile $(VENV)/.ready
	@$(CONFIGURE) -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
	  -DCMAKE_DISABLE_FIND_PACKAGE_OpenMP=ON && touch $@

.PHONY: lint
lint: $(VENV)/.ready build/lint/build.ninja
	@$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy --strict stator
	@git ls-files '*.h' '*.c' '*.cpp' | xargs -r $(VENV)/bin/clang-format --dry-run -Werror
	@$(call lock,build/lint) $(NINJA) -C build/lint --quiet build.ninja
	@.ci/compiled-files build/lint | xargs -r -P $(JOBS) -n 1 $(VENV)/bin/clang-tidy -p build/lint --quiet

## make format         what lint wants of the layout, done
.PHONY: format
format: $(VENV)/.ready
	@$(VENV)/bin/ruff check --quiet --fix . ; $(VENV)/bin/ruff format .
	@git ls-files '*.h' '*.c' '*.cpp' | xargs -r $(VENV)/bin/clang-format -i

## make conformance    CPython's own test package, plain and interpreted, on each Python; on 3.11 also captured
.PHONY: conformance conformance-capture
conformance: build $(MINORS:%=conformance-cp3%) conformance-capture
# The second oracle: every function is captured, rolled back, and served from its capture.
conformance-capture: build
	@$(PYTHON) -m stator.conformance --mode capture
$(MINORS:%=conformance-cp3%): conformance-cp3%: .venv-cp3%/.ready build/cp3%/build.ninja
	@$(call lock,build/cp3$*) $(NINJA) -C build/cp3$* --quiet
	@.venv-cp3$*/bin/python -m stator.conformance

# What only these targets need goes into the environment when they are called.
$(VENV)/.models-ready: requirements-models.txt $(VENV)/.ready
	@$(PYTHON) -m pip install --disable-pip-version-check --quiet --progress-bar off -r $< && touch $@
$(VENV)/.bench-ready: requirements-bench.txt requirements-models.txt $(VENV)/.ready
	@$(PYTHON) -m pip install --disable-pip-version-check --quiet --progress-bar off -r $< && touch $@

## make models         Hugging Face architectures, captured and compared with eager
.PHONY: models
models: build $(VENV)/.models-ready
	@$(PYTHON) benchmarks/models.py

## make model-types    every model type of transformers in small, captured and compared with eager (half an hour)
.PHONY: model-types
model-types: build $(VENV)/.models-ready
	@$(PYTHON) benchmarks/model_types.py

## make opinfo         torch's whole OpInfo list, traced and replayed, against eager: dtypes, layouts, breaks
.PHONY: opinfo
opinfo: build
	@$(PYTHON) tests/torch/opinfo_whole.py --jobs $(JOBS)

## make opinfo-openxla torch's OpInfo list through the backend openxla_eval, against eager; DTYPE=int64 for others
DTYPE ?= float32
.PHONY: opinfo-openxla
opinfo-openxla: build
	@$(PYTHON) tests/openxla/opinfo_openxla.py --jobs $(JOBS) --dtype $(DTYPE)

## make functional     the functional form of every OpInfo sample and model, replayed by torch's kernels
.PHONY: functional
functional: build $(VENV)/.models-ready
	@$(PYTHON) tests/torch/functional_replay.py
	@$(PYTHON) tests/torch/functional_replay.py --models

## make bench          capture and guards beside torch.compile; the interpreter beside CPython
.PHONY: bench
bench: build $(VENV)/.bench-ready
	@$(PYTHON) benchmarks/capture.py
	@$(PYTHON) benchmarks/scaling.py
	@$(PYTHON) benchmarks/interpreter.py

## make clean          removes build folders and extension modules, keeps the environments
.PHONY: clean
clean:
	rm -rf build stator/*.so
