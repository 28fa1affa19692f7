# Everything is made from a clone, Python 3.11 or newer, git and make. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080

.PHONY: help demo serve test lint format clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(BIN)/.runtime: requirements.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned requirements into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

$(BIN)/.dev: $(BIN)/.runtime requirements-dev.txt
	@echo "Installing the development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

demo: $(BIN)/.runtime ## remember a small story, ask one question, show what came back and why
	@$(BIN)/python -m diffmem.demo

serve: $(BIN)/.runtime ## serve the function on 127.0.0.1:$(PORT)
	$(BIN)/functions-framework --target diffmem --host 127.0.0.1 --port $(PORT)

test: $(BIN)/.dev ## run the tests
	$(BIN)/python -m pytest

lint: $(BIN)/.dev ## check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(BIN)/.dev ## rewrite the code in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the virtual environment and everything made
	rm -rf $(VENV) .diffmem .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
