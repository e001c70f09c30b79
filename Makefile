# Makefile: the front door. `make help` lists what there is.
SHELL := /bin/sh
VENV := .venv
PYTHON := $(VENV)/bin/python
BUILD := build/cp311
# One build at a time in a folder, also when several shells call make.
LOCK := $(if $(shell command -v flock),flock --close build/lock,)

.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

# The environment: rebuilt when the pinned requirements change.
$(VENV)/.ready: requirements-dev.txt requirements-test.txt .ci/make-venv
	@python=$${PYTHON311:-$$(.ci/find-python 3.11)} && echo "Preparing $(VENV) with $$python" && \
	  .ci/make-venv $(VENV) "$$python" requirements-dev.txt

# Once configured, ninja itself runs CMake again when a CMake file changes or a source appears.
$(BUILD)/build.ninja: | $(VENV)/.ready
	@mkdir -p build && $(LOCK) cmake -S . -B $(BUILD) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON)

## make build          environment, extension modules in place (stator/*.so)
.PHONY: build
build: $(VENV)/.ready $(BUILD)/build.ninja
	@$(LOCK) $(VENV)/bin/ninja -C $(BUILD) --quiet

## make test           C++ tests, then the Python tests
.PHONY: test
test: cpp-tests
	@$(PYTHON) -m pytest -n 2 tests

.PHONY: cpp-tests
cpp-tests: build
	@test -e /usr/include/gtest/gtest.h -o -e /usr/src/googletest || { test "$$(id -u)" = 0 && \
	  apt-get install -y libgtest-dev && cmake $(BUILD); } || true
	@$(LOCK) $(VENV)/bin/ninja -C $(BUILD) --quiet cpp_tests
	@if test -x $(BUILD)/tests/stator_core_tests; then ctest --test-dir $(BUILD) --output-on-failure -j 2; \
	  else echo "*** C++ tests skipped: GoogleTest is missing (Debian, Ubuntu: apt-get install libgtest-dev) ***"; fi

## make clean          removes build folders and extension modules, keeps .venv
.PHONY: clean
clean:
	rm -rf build stator/*.so
