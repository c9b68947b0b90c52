# `make` prints its targets. Every target works from a fresh clone on a machine with Go (see .ci/run for the rest).
SHELL := /bin/bash
GO ?= go
TAGS := urfave_cli_no_docs
COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
# Tests: `make vet` vets them; without symbols they link in half the time; many wait for processes, so four packages share two cores.
LEAN := -tags $(TAGS) -vet=off -ldflags '-s -w' -p 4
# Packages are tested in this order, each once. The longest come first, so that none of them runs alone at the end.
ORDERED := ./internal/clustertest ./internal/e2e ./cmd/taskrt ./raftstore ./runtime ./api/apitest ./...
LDFLAGS := -s -w -X main.commit=$(COMMIT)
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BENCHTIME ?= 1s

.DEFAULT_GOAL := help
.PHONY: help build docs bucket-check openapi-check console-check observe-check dist dist-check packages-check image image-check demo test test-large test-all race short fuzz sim mutants soak linear heal maintain backup purge fanout table import spin starve bench bench-jetstream bench-compare scale-calibrate scale-check meter-bench compare corpus check check-fast fmt hooks subjects entries vet lint tidy generate generate-check wasm wasm-check clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/taskrt
	CGO_ENABLED=0 $(GO) build -tags $(TAGS) -trimpath -ldflags '$(LDFLAGS)' -o bin/taskrt ./cmd/taskrt

dist: ## dist/: archives of static binaries for four systems, .deb, .rpm, an image for containers, bills of materials, checksums; one commit gives one set of bytes
	cd packages && $(GO) run . -out ../dist $(DIST)

docs: ## dist/docs: the documentation as a site with a search, as every node serves it at /docs; a browser opens dist/docs/index.html
	$(GO) run -tags $(TAGS) ./docs/site/write -version "$$(cat VERSION)" -out dist/docs

image: ## dist/taskrt_VERSION_image.tar: the image for containers, as an OCI layout for two processors; no daemon is asked
	cd packages && $(GO) run . -out ../dist -only image -targets linux_amd64,linux_arm64

image-check: image ## run the image as Docker would by default, what the compose file says, and the pods of Kubernetes: needs root and runc
	cd packages/containers && $(GO) test -count 1 -v -timeout 20m . -image $(CURDIR)/dist/taskrt_$$(cat ../../VERSION)_image.tar

dist-check: ## make dist twice, in two directories, at other times and with other rights, and compare the bytes: make dist-check DIST="-only tar"
	@packages/check-bytes.sh $(DIST)

packages-check: ## the packages in a clean Debian with systemd: over 0.1.0, reload, upgrade, watchdog, removal (root, mmdebstrap, systemd-nspawn)
	@packages/check-debian.sh

bucket-check: ## backups in a bucket of a real server of S3 (versitygw, built once: a minute)
	cd backup/target/bucket/gateway && $(GO) test -vet=off -count 1 -timeout 20m .

openapi-check: ## a schema, and clients by ogen and openapi-typescript on a live cluster, hold the OpenAPI document to its word (needs npm)
	cd api/internal/openapi/testdata/check && $(GO) test -vet=off -count 1 -timeout 20m .

console-check: ## the web console in chromium, on real nodes: each page, by keyboard, light and dark, narrow and wide, axe (needs chromium)
	cd console/testdata/check && $(GO) test -vet=off -count 1 -timeout 20m .

observe-check: ## Prometheus' promtool reads the rules and the scrapes of taskrt observe, and sees each alert fire and not fire (needs promtool)
	TASKRT_PROMTOOL=1 $(GO) test $(LEAN) -count 1 -timeout 5m -run Promtool ./cmd/taskrt/internal/observe

demo: build ## three processes, a wasm plugin, two kill -9, one outcome
	$(GO) run ./internal/demo -taskrt bin/taskrt

# What `make test` leaves to `make test-large`, so that it ends in minutes: a test, or those of its subtests whose names match a pattern. These
# tests build with other languages' compilers or build former versions, run every page of the documentation, drive whole clusters of processes
# through all that can happen to them, or explore for long. internal/arch holds the list to the tests that exist.
LARGE := \
	TestNewRust TestNewAssemblyScript TestNewC TestDevWatchOfANewPlugin TestDocs/(tutorial|write-a-plugin)\.md TestShell/new TestScriptsOfTheFormerVersion \
	TestRust TestRustBadModule TestCJSON TestAssemblyScriptWordcount TestCMakefiles \
	TestCorpusOfThisTree TestDirectoryOfTheFormerFormat TestFormerVersions TestToolsOnFormerVersions TestWorkersOfTwoVersions TestOperatorsOfTwoVersions \
	TestPagesInABrowser TestBackupAndRestore TestBackupsBySchedule TestHostileClients TestStrangersAtTheDoor TestOwnCertificatesAreRenewed \
	TestPoisonAmongInnocents TestGuestsDieAlone TestBuildIndexGoesOnElsewhere TestExternalPython TestAllMoveUnderLoad TestOperationsOverATable \
	TestMapReduce TestLargeImport TestStarvedServersLive TestStarvedDevLives TestSpinningGuestsDisturbNobody TestCopiesBesideTheirOriginals \
	TestOperationLosesLeader TestChildrenThroughFaults TestScaleModel TestSupersededRunDeletesNothing TestLinearizable TestPresets \
	TestConformanceOfACluster TestMatrix TestExternalGo \
	TestFindsSabotage TestReaches TestEntriesCompile TestShapesAreBounded TestNothingReferencedIsDeleted \
	TestSmallWorld TestSmallWorldOperation TestSmallWorldExternal TestSmallWorldAgain

space := $(subst ,, )
LARGE_TESTS = $(subst $(space),|,$(foreach t,$(LARGE),^$(subst /,$$/^,$(t))$$))
LARGE_PACKAGES = $(sort $(dir $(shell grep -rlE --include='*_test.go' --exclude-dir=testdata '^func ($(subst $(space),|,$(foreach t,$(LARGE),$(firstword $(subst /, ,$(t))))))\b' *)))

test: ## the tests of every package, on real processes too; minutes
	$(GO) test $(LEAN) -count 1 -timeout 30m -skip '$(LARGE_TESTS)' $(ORDERED) # -count 1: the cache does not know that real processes were built anew
	cd packages && $(GO) test -vet=off ./... # the image, and what is said to those who run containers; make image-check runs it
	cd packages/containers && $(GO) test -vet=off ./...

test-large: ## the tests that `make test` leaves out: other languages, former versions, whole clusters through everything
	$(GO) test $(LEAN) -count 1 -timeout 30m -run '$(LARGE_TESTS)' $(addprefix ./,$(LARGE_PACKAGES))

test-all: test test-large ## all tests

# Most of what an hour's work can break, in the least time. Everything is compiled. Only what changed is vetted, and tested with what imports it: those
# beyond are for `make test`. The cache leaves out what does not depend on a change. Left out for good: real processes (-short), whole clusters in
# virtual time, and what the simulator must find and reach.
LONG := /internal/(clustertest|e2e|linear|maintbench)$$
SELDOM := ^Test(FindsSabotage|Reaches|ShapesAreBounded|Specification)$$
NEAR = $(GO) run ./internal/near -base $(or $(BASE),main)

check-fast: fmt entries ## for the loop of a day: format, the house's rules; vet what changed since main, and its fast tests and those of its importers
	@$(GO) list -export -f '{{""}}' -tags $(TAGS) ./... >/dev/null
	@changed=$$($(NEAR) -changed) || exit 1; $(GO) vet -tags $(TAGS) $$changed
	@near=$$($(NEAR) -not '$(LONG)') || exit 1; \
		$(GO) test $(LEAN) -short -skip '$(SELDOM)' ./internal/arch $$near | grep -Ev '^ok|no test files' ; exit $${PIPESTATUS[0]}

# Into real processes the race detector does not look, and in one goroutine there is none to be found: that takes ten times as long for nothing.
# internal/races leaves out by itself the packages whose tests start no goroutine. SEQUENTIAL are long tests of the other ones; its tests hold them
# to it. The plain run has all of them.
RACELESS := /internal/(e2e|linear|arch|sim|mutants|astool|rusttool)(/|$$)|/plugins/sdk$$
SEQUENTIAL := ^Test(Docs|SmallWorld.*|TxnIsAllOrNothing|NothingStarves|SharesByWeight|LimitsHold|StoreAgainstModel|CorruptionOfOperationsShows|CorruptionShows|PinnedVersionsStay|EveryFieldIsHashed|EveryByteCounts|EntryRoundTrip|ResultIsTheLibrarys|TaskIsTheLibrarys|AgainstWhole)$$

race: ## the tests at small sizes, with the race detector; not those of real processes, nor of one goroutine
	$(GO) run ./internal/races $(LEAN) -race -short -count 1 -timeout 30m -skip '$(SEQUENTIAL)' -- $$($(GO) list $(ORDERED) | grep -Ev '$(RACELESS)')

short: ## tests without real processes
	$(GO) test -tags $(TAGS) -short ./...

# Inputs that reach something new are made smaller. Where a run does not reach the same twice, as with goroutines or maps, the default of 60 s for
# each of them is the whole time: FuzzVerify came to one run a second instead of ten thousand.
fuzz: ## every fuzz target in turn: make fuzz FOR=30s
	@for p in $$(grep -rl '^func Fuzz' --include=*_test.go . | xargs -n1 dirname | sort -u); do \
		all=$$($(GO) test $(LEAN) -list '^Fuzz' $$p) || { echo "$$all"; exit 1; }; \
		for f in $$(echo "$$all" | grep '^Fuzz'); do \
			echo "$$p $$f"; $(GO) test $(LEAN) -run '^$$' -fuzz "^$${f}\$$" -fuzztime $(or $(FOR),30s) -fuzzminimizetime 1000x $$p || exit 1; \
		done; \
	done

sim: ## the state machine against a naive model: make sim SEED=1 STEPS=20000 SEEDS=8
	$(GO) test ./internal/sim -run '^TestSim$$' -count 1 -v -sim.seed=$(or $(SEED),1) -sim.steps=$(or $(STEPS),20000) -sim.seeds=$(or $(SEEDS),8) -timeout 60m

mutants: ## sabotage the code line by line; a named test must see each one
	$(GO) run ./internal/mutants $(MUTANTS)

soak: ## clusters under random faults for long: make soak N=200 SEED=1
	$(GO) test ./internal/clustertest -run '^Test(Mixed)?Schedules$$' -count 1 -v -schedules=$(or $(N),200) -mixed=$(or $(N),200) -seed=$(or $(SEED),1) -timeout 240m

FORMER ?= eb7019f017c43a359de6a820740d9b161f0b39c2 # version 0.1.0: its binary and this one make one cluster
linear: ## is what callers of a struck cluster saw linearizable, beside a former build too, and are planted bugs found? make linear SEED=1 FOR=10m
	$(GO) test ./internal/linear -run '^Test(Linearizable|BuildsTogether|PlantedBugs)$$' -count 1 -v -linear.seed=$(or $(SEED),1) -linear.for=$(or $(FOR),10m) -linear.former=$(firstword $(FORMER)) -linear.planted -timeout 24h

heal: ## how soon is a follower ready after a partition, in a cluster at work? make heal N=16
	$(GO) test ./internal/linear -run '^TestHealedPartition$$' -count 1 -v -linear.seed=$(or $(SEED),1) -linear.heal=$(or $(N),16) -timeout 1h

corpus: ## what a version writes, for the tests of all later ones: make corpus VERSION=0.1.0 FORMER=HASH (docs/versions.md)
	$(GO) run ./internal/corpus/make -version $(VERSION) -commit $(firstword $(FORMER)) -out internal/corpus/testdata

maintain: ## maintenance beside live load, time and latency: make maintain TASKS=1000000 BLOBS=100000
	$(GO) test ./internal/maintbench -run '^$$' -bench Maintenance -benchtime 1x -timeout 4h -tasks $(or $(TASKS),1000000) -blobs $(or $(BLOBS),100000) $(MAINTAIN)

backup: ## a backup beside live load, time and latency: make backup TASKS=1000000 SPARSE=320 (files of 32 MiB with holes)
	$(GO) test ./internal/maintbench -run '^$$' -bench Backup -benchtime 1x -timeout 4h -tasks $(or $(TASKS),1000000) -blobs 0 -sparse $(or $(SPARSE),320)

purge: ## purge a namespace of a million tasks beside live work: make purge N=1000000
	$(GO) test ./internal/clustertest -run '^TestPurgeBesideLiveWork$$' -count 1 -v -purge=$(or $(N),1000000) -timeout 60m

fanout: ## an operation of many partitions: make fanout N=100000
	$(GO) test ./internal/clustertest -run '^TestLargeOperation$$' -count 1 -v -partitions=$(or $(N),100000) -timeout 60m

table: ## operations over a table of many rows: make table ROWS=1000000
	$(GO) test ./internal/e2e -run '^TestOperationsOverATable$$' -count 1 -v -table $(or $(ROWS),1000000) -timeout 60m

import: ## an export of many tasks is imported, twice: make import TASKS=1000000
	$(GO) test ./internal/e2e -run '^TestLargeImport$$' -count 1 -v -imported $(or $(TASKS),1000000) -timeout 60m

spin: ## guests that compute on every slot of three nodes: no leader change: make spin FOR=60s
	$(GO) test ./internal/e2e -run '^TestSpinningGuestsDisturbNobody$$' -count 1 -v -spin $(or $(FOR),60s) -timeout 60m

starve: ## three servers, and a dev, have a tenth of a core: none ends itself: make starve FOR=10m
	$(GO) test ./internal/e2e -run '^TestStarved' -count 1 -v -starve $(or $(FOR),10m) -timeout 60m

bench: ## the benchmarks behind docs/performance-history.md
	$(GO) test -tags $(TAGS) -run '^$$' -bench . -benchtime $(BENCHTIME) ./task ./raftstore ./runtime

bench-jetstream: build ## taskrt and NATS JetStream (R3, sync always) in turn: make bench-jetstream JETSTREAM="-rounds 3 -presets submit"
	cd internal/bench/jetstream && $(GO) build -o ../../../bin/nats-server github.com/nats-io/nats-server/v2 && \
		$(GO) run . -taskrt ../../../bin/taskrt -nats ../../../bin/nats-server $(JETSTREAM)

bench-compare: ## Go benchmarks against those of the merge base: make bench-compare PKG="./task ./api" BENCH=Plan COUNT=6 BENCHTIME=200ms BASE=main
	@internal/bench/compare.sh # make hands the variables of its command line down

scale-calibrate: build ## what things cost on this machine, for the model behind docs/scale.md (root; the machine idle; three minutes)
	$(GO) run ./internal/scale/run calibrate -taskrt bin/taskrt $(SCALE)

scale-check: build ## what the model of docs/scale.md predicts beside what clusters do in many settings, as its table (root, strace; ten minutes): make scale-check SCALE="-for 5s"
	$(GO) run ./internal/scale/run check -taskrt bin/taskrt $(SCALE)

meter-bench: ## what metering costs guests in C, Rust and Go: make meter-bench BENCHTIME=2s
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./runtime/meter

compare: ## one attempt in fresh memory beside Extism, processes and plain Go: make compare BENCHTIME=1s
	cd runtime/compare && $(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) .

check: fmt subjects entries vet lint tidy generate-check wasm-check ## format, subjects of commits, stale sabotages, vet, lint, tidy, what is generated, committed wasm

fmt: ## fail on files that gofmt would change
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$out" ]; then echo "gofmt:"; echo "$$out"; exit 1; fi

hooks: ## let git refuse a commit whose subject CI would refuse
	git config core.hooksPath .ci/hooks

subjects: ## fail on commits that are not `package: do x` in 72 characters
	@.ci/subjects

entries: ## fail on sabotages of internal/mutants that went stale: their line, or the test that must see them, is gone
	@$(GO) test $(LEAN) -count 1 -run '^TestEntries$$' ./internal/mutants

vet:
	$(GO) vet -tags $(TAGS) ./...
	cd runtime/compare && $(GO) vet . && $(GO) mod tidy -diff
	cd internal/bench/jetstream && $(GO) vet . && $(GO) mod tidy -diff
	cd backup/target/bucket/gateway && $(GO) vet . && $(GO) mod tidy -diff
	cd api/internal/openapi/testdata/check && $(GO) vet . && $(GO) mod tidy -diff
	cd console/testdata/check && $(GO) vet . && $(GO) mod tidy -diff
	cd packages && $(GO) vet ./... && $(GO) mod tidy -diff
	cd packages/containers && $(GO) vet . && $(GO) mod tidy -diff

lint: ## golangci-lint, pinned
	$(GO) run $(GOLANGCI) run --build-tags $(TAGS) ./...

tidy: ## fail unless go.mod and go.sum are tidy
	$(GO) mod tidy -diff
	$(GO) mod verify

generate: ## write anew the code that follows from structs: what is packed, hashed, encoded
	$(GO) run ./internal/genfields

generate-check: ## fail unless that code is what the structs give
	$(GO) run ./internal/genfields -check

wasm: ## rebuild testdata/wasm from its sources
	$(GO) run ./testdata/wasm/build
	plugins/examples/build.sh

wasm-check: ## fail unless testdata/wasm is what its sources give
	$(GO) run ./testdata/wasm/build -check
	plugins/examples/build.sh --check

clean: ## remove what builds made
	rm -rf bin dist
