# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

# The sessions themselves are in noxfile.py; this file sets up what they run in and calls them.

.DEFAULT_GOAL := help
.PHONY: help setup demo test gate test-all release-check core unit sanity lint molecule bench evidence simulate faults fuzz docs generate build lab-up lab-down env clean \
        test-kernels lab-lpar lab-lpar-down lab-guest lab-guest-down lab-smc lab-smc-down lab-smcd lab-smcd-down

HOSTS ?= 2
SCENARIO ?= all
CASES ?=
ON ?= 2.21-3.13
SEED ?=
SHARE ?=
SESSIONS = .venv/bin/python tests/sessions.py
# What to do with a lab that is up: its program, its inventory, its target here.
STANDS = @printf 'log in:       %s\nAnsible:      -i inventories/%s\ntake it away: make lab-%s-down\n'

# Sessions start in this order, two at a time: what fails soonest, then the longest.
TESTS = quick "unit(controller)" "molecule(newest-default)" "unit(target)" "sanity(quick)" ansible-lint
GATE = "molecule(newest-rollout)" "unit(gate)" "molecule(newest-sap)" "molecule(newest-measure)" "molecule(newest-aix)" \
       "unit(3.6)" "unit(oldest)" "sanity(oldest)" "sanity(rest)" docs installed
# The two emulated labs are apart, because one of them alone can use both CPUs.
NIGHT = "kernels(lpar)" "unit(nightly)" "kernels(guest)" "molecule(oldest-default)" "molecule(oldest-sap)" "unit(3.9)" \
        "sanity(pylint)" lab campaigns demo browser links

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## install everything the tests need: Debian packages, .venv, pinned Python requirements
	@tests/setup.sh all

demo: ## an experiment with three levels of RPS on two hosts of this machine, set-up included; under 4 minutes if it is idle
	@tests/setup.sh demo
	@tests/demo/run

test: ## what every change must pass first, set-up included, in about 4 minutes; prints CPU time and what is slowest
	@tests/setup.sh test
	@$(SESSIONS) --cpu 600 900 $(TESTS)

gate: ## the rest of what every change must pass: the oldest core, old Pythons, more hosts and real programs
	@tests/setup.sh gate
	@$(SESSIONS) $(GATE)

test-all: ## every test in random order (SEED), set-up included: also s390x kernels, labs, campaigns, browser, long tables
	@tests/setup.sh all
	@SHUFFLE=$${SEED:-$$(date +%s)} $(SESSIONS) $(TESTS) $(GATE) $(NIGHT)

test-kernels: ## the tunings on s390x kernels in emulated machines; SCENARIO=lpar or guest for one, smc for SMC-R, smcd for SMC-D
	@tests/setup.sh $(if $(filter smc smcd,$(SCENARIO)),smc,kernels)
	@$(SESSIONS) $(if $(filter all,$(SCENARIO)),"kernels(lpar)" "kernels(guest)","kernels($(SCENARIO))")

unit: ## all unit tests: on the newest ansible-core, parts on the oldest and on Python 3.6 and 3.9
	@tests/setup.sh gate
	@$(SESSIONS) unit

sanity: ## ansible-test sanity, on the newest and on the oldest supported ansible-core
	@tests/setup.sh gate
	@$(SESSIONS) sanity

lint: ## ruff, yamllint, mypy, codespell, changelog, licences, ansible-lint
	@tests/setup.sh test
	@$(SESSIONS) quick ansible-lint

molecule: ## the molecule scenarios; SCENARIO=name for one, on the newest ansible-core
	@tests/setup.sh gate
	@$(SESSIONS) $(if $(filter all,$(SCENARIO)),molecule,"molecule(newest-$(SCENARIO))")

bench: ## figures, one line each, also in bench.json
	@tests/setup.sh gate
	@.venv/bin/python -m nox --session bench

evidence: ## how often verdicts are right, on a lab of its own: 50 experiments, about 26 minutes; CASES='aa=2 slower' for some
	@tests/setup.sh demo
	@.venv/bin/python tests/evidence/run.py $(CASES)

simulate: ## how often verdicts are right, simulated: about 25 minutes; SHARE=4 for 4 %, CASES='levels sessions' for some tables
	@tests/setup.sh test
	@.venv/bin/python tests/simulate/run.py $(if $(SHARE),--share $(SHARE),--write) $(CASES)

faults: ## kills, errors, full disks, cut connections in every tuning: about 90 minutes; CASES='rps kill' for some, reboot by name
	@tests/setup.sh $(if $(filter reboot,$(CASES)),kernels,demo)
	@.venv/bin/python tests/faults/run.py $(if $(SEED),--seed $(SEED)) $(CASES)

fuzz: ## 10,000 damaged inputs for everything that reads what others wrote; CASES=imports for some
	@tests/setup.sh test
	@.venv/bin/python tests/fuzz/run.py $(if $(SEED),--seed $(SEED)) $(CASES)

docs: ## the documentation as one site in build/docs, all pages and the reference of plugins and roles; checks every link
	@tests/setup.sh gate
	@$(SESSIONS) docs

generate: ## write the variables of the tunings' roles, their tables, and the pages of all variables and playbooks
	@.venv/bin/python tests/generate.py

release-check: test-all ## make test-all, then what a release must be: archive, tools, surface, every supported ansible-core
	@tests/setup.sh release
	@$(SESSIONS) release
	@$(SESSIONS) cores archive_sanity sanity sanity_between units_in_collection

core: ## the archive on one ansible-core; ON=2.18-3.13 for that core and Python
	@tests/setup.sh release
	@$(SESSIONS) build
	@$(SESSIONS) "cores($(ON))"

build: ## the archive for ansible-galaxy, below build/; needs git, and ansible-core, which it installs into .venv
	@tests/setup.sh build
	@.venv/bin/python tests/archive.py

lab-up: ## start the lab of network namespaces; HOSTS=n for more than 2
	@tests/setup.sh demo
	@molecule/shared/lab up --hosts $(HOSTS)

lab-down: ## take the lab away
	@molecule/shared/lab down

lab-lpar: ## start two emulated LPARs, with kernels 6.1 and 6.12, and say how to log in
	@tests/setup.sh kernels
	@molecule/shared/lpar up
	$(STANDS) 'molecule/shared/lpar login lpar61 (or lpar612, peer)' lpar lpar

lab-lpar-down: ## take the LPARs away
	@molecule/shared/lpar down

lab-guest: ## start an emulated guest without topology facility, with kernel 6.12, and say how to log in
	@tests/setup.sh kernels
	@molecule/shared/guest up
	$(STANDS) 'molecule/shared/guest login' guest guest

lab-guest-down: ## take the guest away
	@molecule/shared/guest down

lab-smc: ## start two emulated guests with a cable between them for SMC-R, and say how to log in
	@tests/setup.sh smc
	@molecule/shared/smc up
	$(STANDS) 'molecule/shared/smc login smc1 (or smc2)' smc smc

lab-smc-down: ## take these guests away
	@molecule/shared/smc down

lab-smcd: ## start an emulated guest whose kernel has the loopback device for SMC-D, and say how to log in
	@tests/setup.sh kernels
	@molecule/shared/smcd up
	$(STANDS) 'molecule/shared/smcd login' smcd smcd

lab-smcd-down: ## take this guest away
	@molecule/shared/smcd down

env: ## eval "$(make -s env)": a shell in which ansible and this collection's names work
	@quoted=$$(pwd | sed "s/'/'\\\\''/g"); \
	printf "export PATH='%s/.venv/bin':\"\$$PATH\"\n" "$$quoted"; \
	printf "export ANSIBLE_COLLECTIONS_PATH='%s/.cache/collections'\n" "$$quoted"; \
	test -e .venv/.python || echo "env: there is no .venv yet; run 'make setup' first" >&2

clean: ## remove what these targets made, except results/
	@for lab in lab lpar guest smc smcd; do molecule/shared/$$lab down >/dev/null 2>&1 || true; done
	rm -rf .venv .nox .cache build bench.json evidence.json .ansible .mypy_cache .ruff_cache .pytest_cache .hypothesis tests/output
