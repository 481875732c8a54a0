# `make` says what there is. What CI runs is .ci/run: make test, then make lint.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# One package's tests may take this long in all before they are stopped and every goroutine is printed.
TESTTIMEOUT ?= 30m
# So many packages are tested at a time: one more than there are processors, since many of them wait.
TESTSATONCE ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
# The race detector makes garbage dear.
export GOGC ?= 200
# The linter vets, with govet.
TESTFLAGS := -race -vet=off -shuffle=on -ldflags="-s -w" -timeout=$(TESTTIMEOUT)
# Each fuzz target's share of `make fuzz`.
FUZZTIME ?= 30s
# What `make bench` runs.
BENCH ?= .

# What the worker says it is; empty, and left to what the go command records, where git has nothing to say.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

# This module and those nested in it.
MODULES := $(patsubst %/go.mod,%,$(sort $(shell find . -name go.mod -not -path '*/.*' -not -path '*/testdata/*')))
# Tools are pinned in a module file of their own, so that what they need is not what users of this module get.
# They look at what is compiled for the tests.
GOLANGCI_LINT := GOFLAGS="$${GOFLAGS:-} -race" $$(go tool -modfile=$(CURDIR)/internal/tools/tools.mod -n golangci-lint)

# each runs a command in every module, and shows it.
define each
@code=0; for module in $(MODULES); do echo "$$module: $(strip $(1))"; (cd "$$module" && $(1)) || code=$$?; done; exit $$code
endef

# The nested modules, the longest first.
SLOW := ./cmd/worker/full ./test/browser ./lease/pglease ./lease/etcdlease ./test/stores
NESTED := $(SLOW) $(filter-out . $(SLOW),$(MODULES))
# What takes longest begins first, so that nothing of it is left to run alone at the end.
LONGEST := ./scheduler ./test/fleet ./cmd/worker ./lease/redislease ./lease/quorum ./console

.PHONY: help
help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## Install the servers that the tests need and are missing, and look for a C compiler
	@internal/scripts/deps.sh

.PHONY: build
build: ## Build the worker with every store as bin/worker
	go build -C cmd/worker/full -trimpath -ldflags "-X main.version=$(VERSION)" -o $(CURDIR)/bin/worker .

.PHONY: run
run: build ## Start a worker with examples/quickstart.yaml
	bin/worker run --config examples/quickstart.yaml

.PHONY: test
test: deps ## Run every test, with the race detector and in random order
	@echo "the short forms of histories, fleets, properties, zones and of each store's suite; make soak has the long ones"
	@go list -race -export ./... >/dev/null # is compiled once, for all modules
	@printed=$$(mktemp); trap 'rm -f "$$printed"' EXIT; \
	$(MAKE) --no-print-directory test-nested >"$$printed" 2>&1 & nested=$$!; \
	code=0; (set -x; go test $(TESTFLAGS) -p=$(TESTSATONCE) $(LONGEST) ./...) || code=$$?; \
	wait $$nested || code=$$?; cat "$$printed"; exit $$code

.PHONY: test-nested
test-nested:
	@printf '%s\n' $(NESTED) | xargs -P1 -I{} bash -c \
		'code=0; out=$$(cd {} && go test $(TESTFLAGS) -p=1 ./... 2>&1) || code=1; printf "%s:\n%s\n" {} "$$out"; exit $$code'

.PHONY: lint
lint: ## Look for bugs, formatting, untidy go.mod files, broken scripts, old walks, and what only builds on Linux
	internal/scripts/shell-syntax.sh
	go mod tidy -diff # of this module only: the tests of what test/benchmarks and test/guards use need modules that not every proxy has
	go run ./internal/api
	go run ./internal/walk
	go run ./internal/portable darwin . test/compare # the other modules have no code for one system
	$(call each,$(GOLANGCI_LINT) run ./...)

.PHONY: api
api: ## Keep the exported API in internal/api/exported, which make lint compares with: a change that breaks programs is named
	go run ./internal/api -write

.PHONY: reading
reading: ## Write the walks through the code in docs/reading.md, which make lint compares
	go run ./internal/walk -write

.PHONY: model
model: ## Check the model of the protocol in docs/model with spin
	@internal/scripts/model.sh

.PHONY: fmt
fmt: ## Format the Go code
	$(call each,$(GOLANGCI_LINT) fmt ./...)

.PHONY: bench
bench: deps ## Run the benchmarks whose names match BENCH (default: all)
	$(call each,go test -run='^$$' -bench='$(BENCH)' -benchmem -timeout=0 ./...)

.PHONY: compare
compare: deps ## Run one schedule under faults on robfig, gocron, locks and Solotick, and count what went wrong
	cd test/compare && go run .

.PHONY: fuzz
fuzz: deps ## Run each fuzz target for FUZZTIME (default: 30s)
	FUZZTIME=$(FUZZTIME) internal/scripts/fuzz.sh

.PHONY: soak
soak: deps ## Search for hours where make test searches for seconds: histories, fleets, properties, zones
	@internal/scripts/soak.sh

.PHONY: release
release: deps ## Build programs, packages, bills of materials and sums into dist, run them, and build them again
	rm -rf dist
	go build -trimpath -modfile=internal/tools/release.mod -o bin/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm
	VERSION=$(VERSION) NFPM=$(CURDIR)/bin/nfpm internal/scripts/release.sh dist
	go vet -tags=release ./deploy
	go test -tags=release -count=1 ./deploy
	VERSION=$(VERSION) NFPM=$(CURDIR)/bin/nfpm internal/scripts/reproducible.sh dist

.PHONY: tag
tag: ## Tag this commit as VERSION, once for each module that programs import or install
	@internal/scripts/tag.sh $(VERSION)

.PHONY: check
check: test lint ## Do what CI does

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist
