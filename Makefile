# Each target sets up what it needs. `make env` builds .venv once; later calls find it and are quick.

SHELL := /bin/sh
PYTHON ?=
# Tests run side by side in so many processes, which often wait for children.
WORKERS ?= 3
ROOM ?=
BIN := .venv/bin
# pytest rewrites the assertions of 400 files: kept as byte code, the next run begins sooner.
unexport PYTHONDONTWRITEBYTECODE
STAMP := .venv/.stamp

.PHONY: env demo test test-all stress notebooks bench bench-details lint format types clean
.DEFAULT_GOAL := env

env: $(STAMP)

$(STAMP): requirements.txt setup.cfg pyproject.toml
	@set -e; \
	found=; \
	for candidate in $(PYTHON) python3.11 python3.12 python3.10 python3; do \
		if "$$candidate" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; \
		then found=$$candidate; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "make env: no Python 3.10, 3.11 or 3.12 found; install one, or name it: make env PYTHON=/path/to/python" >&2; \
		exit 2; \
	fi; \
	$(BIN)/python -c '' 2>/dev/null || { echo "building .venv with $$found (about 3 GB, once)"; "$$found" -m venv --clear .venv; }; \
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --requirement requirements.txt; \
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation --editable .; \
	touch $(STAMP)

demo: env
	@$(BIN)/python -m ms_fusion demo --output build/demo

# What a change needs, in minutes; `make test ROOM=tests/tbe_impl/dsl` runs one folder or file, in seconds.
test: env
	$(BIN)/python -m pytest -q --rooms -o console_output_style=classic -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ROOM)

# Everything: all rows of all tables, notebooks, case studies, each row of the stress run in its short form.
test-all: env
	$(BIN)/python -m pytest -q --rooms --full --timeout 1800 -o console_output_style=classic -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ROOM)

# `make bench QUICK=1` is the short form. Peers take part when they are installed: .venv/bin/pip install torch==2.13.0
bench: env
	$(BIN)/python -m benchmarks

# What lies behind the claims: kernels alone, operators one by one, start-up, models of ONNX; an hour and more.
bench-details: export GLOG_v = 3
bench-details: env
	$(BIN)/python -m benchmarks.tbe_kernels
	$(BIN)/python -m benchmarks.tbe_tuning
	$(BIN)/python -m benchmarks.ascendc
	$(BIN)/python -m benchmarks.convolutions
	$(BIN)/python -m benchmarks.convolutions_in_mindspore
	$(BIN)/python -m benchmarks.mindspore_operators
	$(BIN)/python -m benchmarks.accuracy
	$(BIN)/python -m benchmarks.call_overhead
	$(BIN)/python -m benchmarks.everyday
	$(BIN)/python -m benchmarks.shared_matrix
	$(BIN)/python -m benchmarks.peak_memory
	$(BIN)/python -m benchmarks.onnx_speed
	$(BIN)/python -m benchmarks.onnx_scale
	$(BIN)/python -m benchmarks.onnx_predictions
	$(BIN)/python -m benchmarks.start_up

# Every robustness row as often as it asks, a line each; about a quarter of an hour.
stress: env
	$(BIN)/python -m tests.stress --full

# Runs the notebooks from top to bottom and keeps what they show; a few minutes.
notebooks: env
	$(BIN)/python -m tests.notebooks

lint: env
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

format: env
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

types: env
	$(BIN)/python -m mypy

clean:
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
