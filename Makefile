# Everything a developer or a build machine does here. "make" lists the targets.
# All modules of go.work are meant wherever a target says "all".

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-redis check-data race race-quick fuzz bench bench-peers lint build scenarios check faults soak

# The one place that pins the linter. It never enters go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

FUZZTIME  ?= 1m
BENCHTIME ?= 1s
SOAK_CALLS ?= 36000
SOAK_RATE  ?= 150
EVENTS    := .cache/test-events.jsonl

# $(call each,COMMAND) runs COMMAND in the folder of every module and stops at
# the first that fails.
each = go list -m -f '{{.Dir}}' | while IFS= read -r dir; do cd "$$dir"; { $(1); } </dev/null; done

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Run the demo on the embedded store; ARGS="--redis URL --keep" for more
	@go run ./cmd/harness demo $(ARGS)

test: ## Run all tests; those for a real server run where redis-server is found
	@command -v redis-server || echo 'NO redis-server FOUND: tests on a real server will be skipped'
	@$(call each,go test ./...)

test-redis: ## The same, afresh; a missing redis-server is a failure
	@export HARNESS_REQUIRE_REDIS=1; $(call each,go test -count=1 ./...)

check-data: ## Check against the sets in the folder SHARED_DATA, which stay outside the project
	@test -d "$(SHARED_DATA)" || { echo 'SHARED_DATA must name the folder of the sets'; exit 1; }
	@export HARNESS_REQUIRE_SHARED_DATA=1 SHARED_DATA="$$(cd "$(SHARED_DATA)" && pwd)"; $(call each,go test -count=1 -run 'CheckData|SharedData' ./...)

race: ## Run all tests with the race detector (needs a C compiler)
	@$(call each,go test -race ./...)

# Where goroutines share something, under the race detector: minutes, where all of
# it would be half an hour.
race-quick: ## Run the tests of concurrent packages with the race detector
	@go test -race ./boundary ./fakes ./runprogress ./projector ./remote/...

fuzz: ## Fuzz every target for FUZZTIME (1m) each
	@.ci/fuzz $(FUZZTIME)

bench: ## Run every Go benchmark for BENCHTIME (1s), then print the tables; ARGS="-only calls -o json" for less or for keeping
	@$(call each,go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...)
	@go run ./benchmarks/cmd/bench $(if $(filter 1x,$(BENCHTIME)),-once) $(ARGS)

bench-peers: ## The same work with DBOS and Temporal, each where it can be had; downloads their modules
	@cd benchmarks/peers && GOWORK=off go run . $(ARGS)

lint: ## Format, vet, staticcheck, and go.mod files that say what is used
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not formatted: $$files"; exit 1; }
	@$(call each,go vet ./...)
	@$(call each,go run $(STATICCHECK) ./...)
	@$(call each,GOWORK=off go mod tidy -diff)
	@go mod verify

faults: ## Inject faults, recount with the checker, print the table; FAULTS=full for the whole number, ARGS="-only REGEXP" for a part
	@cd faults && HARNESS_REQUIRE_REDIS=1 go run ./cmd/faults $(if $(filter full,$(FAULTS)),-full) $(ARGS)

soak: ## Work for four minutes on a Redis that is not left in peace; memory must level off
	@cd faults && HARNESS_REQUIRE_REDIS=1 SOAK_CALLS=$(SOAK_CALLS) SOAK_RATE=$(SOAK_RATE) \
		go test -count=1 -timeout 60m -v -run '^TestSoak$$' ./soak

build: ## Build all packages
	@$(call each,go build ./...)

scenarios: ## Run all tests and show which scenario of docs/scenarios.md each proves
	@go run ./internal/scenarios

check: ## All that must hold, as CI runs it (needs a C compiler)
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory build
	@mkdir -p $(dir $(EVENTS))
	@go run ./internal/scenarios -save $(EVENTS)
	@$(MAKE) --no-print-directory race-quick
	@$(MAKE) --no-print-directory bench BENCHTIME=1x
	@go run ./internal/scenarios -packages -events $(EVENTS)
