# Aqueduct: see README.md. `make run` and `make test` do all their own set-up.

GO ?= go
BIN := bin
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
NP ?= 4

.PHONY: all build capi install uninstall run test test-full test-system race lint bench figures fuzz clean setup

all: build

setup:
	@sh scripts/setup.sh

build: setup
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/ ./cmd/... ./examples/...
	@sh scripts/mpi-shims.sh $(BIN)
	@sh scripts/capi.sh $(BIN)/capi

# The C library alone.
capi: setup
	@sh scripts/capi.sh $(BIN)/capi

# Programs, shims of MPI libraries, man pages, completion and the C library, if there is one: make install PREFIX=/usr/local.
# DESTDIR=DIR has the files appear below DIR.
PREFIX ?= /usr/local
install: build
	@sh scripts/install.sh $(BIN) $(PREFIX)

uninstall:
	@sh scripts/uninstall.sh $(PREFIX)

# The main job: real SPMD jobs of several processes, one on a modelled machine and what its
# model predicts, jobs over each MPI library that is installed, then the quick comparison of all
# conduits, live and modelled, which takes less than two minutes.
run: build
	$(BIN)/aqrun -n $(NP) $(BIN)/ring 1000
	$(BIN)/aqrun -n $(NP) $(BIN)/wordcount --check core docs
	$(BIN)/aqrun -n $(NP) $(BIN)/stencil
	$(BIN)/aqrun -n $(NP) $(BIN)/hashtable
	$(BIN)/aqrun -n $(NP) $(BIN)/samplesort
	$(BIN)/aqrun -n $(NP) $(BIN)/cg
	$(BIN)/aqrun -n $(NP) $(BIN)/gups
	$(BIN)/aqrun -n 16 --model sci/d339 $(BIN)/stencil
	$(BIN)/aqbench paper sci-short
	@sh scripts/mpi-run.sh $(BIN) $(NP)
	$(BIN)/aqbench compare --quick

# The limit for the tests of one package.
TIMEOUT ?= 10m

# Packages whose tests take longest begin first, so that at the end no CPU waits for one of them.
LONG := ./spawner ./conduits/sci ./conduits/mpi/libmpi ./extended/exttest/... ./conduits/udp ./conduits/myrinet ./capi/clients ./examples/... ./bench/paper ./cmd/aqrun ./cmd/aqbench

# Lint vets. Tests find the programs that they run in bin, as make build has linked them.
TESTSUM = $(GO) run ./scripts/testsum -vet=off

# Unprivileged tests; what was skipped is listed at the end. Suites run each case once; with AQ_TEST_PART=K/M all
# pairs of a case and of what a job may be like, and the K-th of M parts of the other combinations.
test: build
	@$(TESTSUM) -timeout=$(TIMEOUT) $(LONG) ./...

# All combinations, also of what takes long to compile.
test-full: export AQ_TEST_PART = 1/1
test-full: export GOFLAGS += -tags=full
test-full: TIMEOUT = 120m
test-full: test

# What needs root, namespaces or daemons.
test-system: build
	@sh scripts/system-test.sh

race: setup
	@# Without this every rank would sleep a second when it exits.
	@GORACE=atexit_sleep_ms=10 $(TESTSUM) -race -timeout=$(TIMEOUT) $(LONG) ./...

lint: setup
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@# The manifests against the types of the Kubernetes API: a module of its own, which the library does not depend on.
	cd docs/static && $(GO) vet ./... && $(GO) test ./...

bench: build
	$(BIN)/aqbench am --quick
	$(BIN)/aqbench rma --quick
	$(BIN)/aqbench coll --quick

# Each fuzz target for a short time.
FUZZTIME ?= 10s
fuzz: setup
	@sh scripts/fuzz.sh $(FUZZTIME)

# The figure of README.md. Its command prints the table.
figures: build
	$(BIN)/aqbench paper myrinet-gasnet --machine grim-lanai9 --svg $(BIN)/figures
	cp $(BIN)/figures/myrinet-gasnet-medium-latency.svg docs/

clean:
	rm -rf $(BIN)
