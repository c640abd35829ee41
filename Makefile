# The tasks of a contributor. Plain make and sh; needs only Go and git.
# Tools are pinned in tools.mod and built on first use.

TOOL = go tool -modfile=tools.mod

# One compile configuration for what is checked, tested, generated, built and released, so that the build cache holds
# each package once, wherever the tree lies. The race detector needs one of its own.
export CGO_ENABLED = 0
export GOFLAGS := $(GOFLAGS) -trimpath -buildvcs=false

# Packages that the binary need not reach, because others use them: the public client, the in-memory store for tests,
# the simulator. The dead-code check skips them.
UNREACHED = client internal/store/memory internal/sim

# Packages whose tests are slow because they start programs, servers or simulated worlds; make quick skips them.
SLOW = cmd/interlock|internal/archive|internal/awslambda|internal/deploy|internal/evaluator|internal/job|internal/promise|internal/scenario|internal/sim|internal/store/dynamo

# The architecture of the AWS Lambda functions.
ARCH = arm64

# How long each fuzz target runs.
FUZZTIME = 5s

# The seeds of the simulated worlds: how many, and the first.
SEEDS = 1000
FROM = 1000

# How long the soak takes.
SOAK = 30m

.PHONY: help demo tour test quick build release lambda fmt lint fuzz sim nightly soak attacks bench generate web browser screenshots docs

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: build ## see Interlock at work: a controller, two simulated sources, and their failures (make demo DEMO='--speed 3')
	@bin/interlock demo $(DEMO)

tour: build ## walk through the offline commands on the medallion example
	@sh scripts/tour.sh

test: ## all checks and all tests
	@UNREACHED='$(UNREACHED)' sh scripts/check.sh all

quick: ## the inner loop: vet, and the short tests of packages that start no programs or servers
	@go vet ./...
	@RAPID_SEED=1 go test -short -vet=off $$(go list ./... | grep -vE '/($(SLOW))(/|$$)')

build: ## build bin/interlock, a static binary
	@go build -o bin/interlock \
		-ldflags "-s -w -X main.version=$$(git describe --tags --always --dirty 2>/dev/null || echo dev)" ./cmd/interlock

release: ## build dist/: archives, deb, rpm, SBOM, checksums, man pages (make release VERSION=v0.1.0)
	@sh scripts/release.sh '$(VERSION)'

lambda: ## build the six AWS Lambda functions, dist/*.zip (ARCH=x86_64 for that architecture)
	@ARCH=$(ARCH) sh deploy/build.sh dist

fmt: ## format all Go files
	@$(TOOL) gofumpt -w .

lint: ## only the static checks of `make test`
	@UNREACHED='$(UNREACHED)' sh scripts/check.sh static

fuzz: ## each fuzz target for FUZZTIME (make fuzz FUZZTIME=1m)
	@FUZZTIME='$(FUZZTIME)' sh scripts/fuzz.sh

sim: ## play SEEDS simulated worlds from FROM on, with everything that may go wrong (make sim SEEDS=5000 FROM=20000)
	@go run ./internal/sim/simulate -from $(FROM) -seeds $(SEEDS)

nightly: ## slow and randomised tests: simulated worlds, property tests, fuzz targets, all stories on AWS
	@go run ./internal/sim/simulate -from random -seeds 10000
	@CGO_ENABLED=1 go test -race -shuffle=on -count=1 -timeout 120m ./...
	@RAPID_CHECKS=2000 go test -count=1 -timeout 60m $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | grep 'pgregory.net/rapid' | cut -d' ' -f1)
	@go test -timeout 60m ./internal/scenario -run E1 -tables
	@go test -timeout 60m ./internal/awslambda -run TestAStorm -storms 20
	@go test -timeout 60m ./internal/store/dynamo -thorough
	@$(MAKE) -s soak
	@$(MAKE) attacks
	@go test -timeout 60m ./internal/deploy -run Applied -apply
	@go test -timeout 60m ./cmd/interlock -run 'TestSlowReaders|TestManyExecs' -readers 1000 -execs 300 -v
	@go test -timeout 60m ./cmd/interlock -run 'TestSecondPairOfHands|TestCommandsOfExplainOpenTheGate|TestCommandsOfOneRunNeverOverlap' -hands 100 -gates 500 -overlaps 200
	@go test -count=10 -timeout 120m ./cmd/interlock -run 'Killed|Idle|OfAnotherUser|CannotRead'
	@FUZZTIME=1m sh scripts/fuzz.sh

soak: ## load a controller for SOAK, print the slope of each resource, fail on one that grows (make soak SOAK=2h)
	@go test -count=1 -timeout 0 ./cmd/interlock -run TestSoak -soak $(SOAK) -v

# The attacks on the real binary, one pattern of test names per kind: every client on every route, forged identities,
# names that are rebound, hostile text, hostile jobs, floods, disks that fail, clocks that jump, and links. make test runs the same tests once, and
# a smaller flood.
ATTACKS = MatrixOfAccess OnlyTheCertificate NoClientConnects HostileText OfAnotherUser CannotRead FloodOfBodies \
	FullDisk DamagedStore TakesNoChanges ClockThatJumps LinksInFolders FileReferences

attacks: ## every client on every route, forged identities, hostile jobs, floods and disk faults, on the real binary
	@go test -count=3 -timeout 60m ./internal/oidc ./internal/egress ./internal/program
	@go test -count=3 -timeout 120m ./cmd/interlock -flood -v -run "$$(echo $(ATTACKS) | tr ' ' '|')"

bench: ## speed, as ratios measured in one run
	@sh scripts/bench.sh

generate: ## regenerate the generated files
	@go generate ./...

web: ## build the dashboard from web/ (needs Node 20.19 or later; `go build` does not)
	@cd web && npm install --no-save --no-audit --no-fund && npm run -s types && npm run -s check && npm run -s test && npm run -s build
	@go generate ./web

browser: build ## try the dashboard of bin/interlock in a real browser (needs Node and chromium)
	@go build -o bin/seed ./internal/dashboard/seed
	@cd web && npm install --no-save --no-audit --no-fund && npm run -s browser

screenshots: build ## take the pictures in docs/images (needs Node and chromium)
	@go build -o bin/seed ./internal/dashboard/seed
	@cd web && npm install --no-save --no-audit --no-fund && npm run -s screenshots

docs: ## build the documentation as a site, dist/docs (needs Node); fails on a dead link
	@cd docs/site && npm install --no-save --no-audit --no-fund && npm run -s build
