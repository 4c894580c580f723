PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Of tests, which share the machine with the servers that they start
WORKERS ?= 2

.PHONY: run test check lint types typing-links bench docs lock clean

run: $(VENV)/run.ok           ## start the broker on its defaults
	$(BIN)/triplewire serve

test: $(VENV)/dev.ok typing-links  ## all tests
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: lint types test        ## what lands must pass

lint: $(VENV)/dev.ok
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy can't see an editable install that works by an import hook: give it a farm of links instead
types: $(VENV)/dev.ok typing-links
	$(BIN)/mypy

typing-links:
	@mkdir -p build/typing/triplewire
	@for d in broker clients conf gates jsap spu; do ln -sfn ../../../$$d build/typing/triplewire/$$d; done

bench: $(VENV)/dev.ok         ## ratios, measured in one run
	$(BIN)/pytest tests/bench -s -q "--override-ini=norecursedirs=.* build"

docs: $(VENV)/dev.ok typing-links  ## the book in build/docs, and the examples in the documents, run
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/pytest -q tests/test_readme.py tests/docs

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.ok: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable .
	@touch $@

$(VENV)/dev.ok: pyproject.toml requirements.lock | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock --editable '.[agents,dev,docs,mqtt,notebook,spark,tracing]'
	@touch $@ $(VENV)/run.ok

lock:                         ## the newest versions that fit pyproject.toml
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install --quiet --disable-pip-version-check --editable '.[agents,bench,dev,docs,mqtt,notebook,spark,tracing]'
	build/lock/bin/pip freeze --exclude-editable | sort -f > requirements.lock

clean:
	rm -rf $(VENV) build dist *.egg-info
