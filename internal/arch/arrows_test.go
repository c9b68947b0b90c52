package arch_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// arrows are docs/architecture.md#packages as a table, and the only place where they stand: package → what it may import from this module, outside of tests.
// "..." stands for everything below it in the drawing. A new package needs a line here.
var arrows = map[string][]string{
	".":      {},
	"abi":    {},
	"api":    {"api/internal/scan", "task", "task/blobs", "internal/clip", "internal/jsontext"},
	"backup": {"task", "task/wire"},

	"blob":      {"internal/durable", "internal/mux", "internal/strays"},
	"extworker": {"api", "api/tracing"},
	"raftstore": {"raftstore/change", "raftstore/digests", "raftstore/guard", "raftstore/home", "raftstore/logstore", "raftstore/members", "raftstore/rpc", "raftstore/throttle", "task", "task/roster", "task/wire", "internal/discover", "internal/idle", "internal/lateness", "internal/mux", "raftstore/snapfile", "raftstore/rounds"},
	"runtime":   {"abi", "runtime/codecache", "runtime/fetch", "runtime/grants", "runtime/lines", "runtime/manifest", "runtime/memory", "runtime/meter", "runtime/upload", "runtime/wasi", "runtime/wasmbin", "runtime/guestspans", "runtime/redact"},
	"task":      {"task/access", "task/audit", "task/bounds", "task/records", "task/backoff", "task/names", "task/blobs", "task/answers", "task/queue", "task/plan", "task/hash", "task/store", "task/exclusive", "task/roster", "task/holds", "task/table", "task/upkeep", "task/match", "task/jobs", "task/hurdle", "task/hurdle", "task/tracing"},
	"task/wire": {"task", "task/wire/head"},
	"worker":    {"internal/birth", "abi", "runtime", "runtime/manifest", "task", "task/blobs", "runtime/fetch", "worker/stream", "internal/clip", "internal/durable", "internal/idle", "worker/spans", "worker/making", "worker/recent"},
	"node":      {".", "api", "api/auth", "api/children", "api/snapshot", "blob", "node/accept", "node/access", "node/audit", "node/files", "node/lead", "node/logs", "node/maintain", "node/maintain/native", "node/membership", "node/peers", "node/saving", "node/scheduled", "node/service", "node/signin", "node/tokens", "node/wait", "node/watch", "raftstore", "runtime", "runtime/manifest", "task", "worker", "internal/durable", "internal/idle", "internal/mux", "node/query", "api/insight", "node/insight", "api/jobs", "node/bulk", "internal/diskspace"},
	"metrics":   {"node", "raftstore", "runtime", "worker", "metrics/table", "internal/diskspace", "task/tracing"},
	"cmd/taskrt": {
		"cmd/taskrt/internal/atrest", "cmd/taskrt/internal/cmdline", "cmd/taskrt/internal/contexts", "cmd/taskrt/internal/devsecret", "cmd/taskrt/internal/exit", "cmd/taskrt/internal/filters", "cmd/taskrt/internal/form", "cmd/taskrt/internal/guests", "cmd/taskrt/internal/health", "cmd/taskrt/internal/heap", "cmd/taskrt/internal/input", "cmd/taskrt/internal/keys", "cmd/taskrt/internal/local", "cmd/taskrt/internal/login", "cmd/taskrt/internal/lone", "cmd/taskrt/internal/member", "cmd/taskrt/internal/ports", "cmd/taskrt/internal/preflight", "cmd/taskrt/internal/settings", "cmd/taskrt/internal/supervisor", "cmd/taskrt/internal/reach", "cmd/taskrt/internal/scaffold", "cmd/taskrt/internal/schedule", "cmd/taskrt/internal/show", "cmd/taskrt/internal/snapshots", "cmd/taskrt/internal/whole", ".",
		"abi", "api", "api/auth", "api/children", "api/client", "api/server/pages", "metrics", "node", "raftstore/logstore", "runtime", "runtime/grants", "runtime/manifest", "runtime/upload", "task", "task/access", "trust", "internal/bench", "internal/mux", "internal/subproc", "internal/terminal", "internal/wall", "api/membership", "api/jobs", "cmd/taskrt/internal/upkeep", "cmd/taskrt/internal/mass", "cmd/taskrt/internal/follow", "cmd/taskrt/internal/complete", "cmd/taskrt/internal/top", "cmd/taskrt/internal/explain", "cmd/taskrt/internal/observe", "cmd/taskrt/internal/devaddr", "cmd/taskrt/internal/firstlook", "api/tracing", "cmd/taskrt/internal/rebuild",
	},

	"cmd/taskrt/internal/cmdline":   {},
	"cmd/taskrt/internal/contexts":  {"api", "internal/durable", "internal/idle", "trust"},
	"cmd/taskrt/internal/guests":    {"cmd/taskrt/internal/heap", "api/children", "node", "runtime", "runtime/codecache", "runtime/compiler", "runtime/grants", "task", "worker", "worker/child", "internal/cgroup", "internal/wall"},
	"cmd/taskrt/internal/heap":      {},
	"cmd/taskrt/internal/devsecret": {"cmd/taskrt/internal/keys", "internal/durable", "internal/mux", "trust"},
	"cmd/taskrt/internal/input":     {"api", "cmd/taskrt/internal/cmdline", "cmd/taskrt/internal/exit", "internal/terminal"},
	"cmd/taskrt/internal/keys":      {"internal/mux", "internal/wall", "node/access", "node/peers", "trust"},
	"cmd/taskrt/internal/local":     {"abi", "api", "internal/terminal", "runtime", "runtime/manifest", "task/blobs"},
	"cmd/taskrt/internal/login":     {"api/auth"},
	"cmd/taskrt/internal/lone":      {"cmd/taskrt/internal/guests", "cmd/taskrt/internal/supervisor", "api", "api/children", "api/client", "api/server", "api/server/pages", "blob", "metrics", "runtime", "runtime/grants", "task", "worker", "worker/child", "internal/mux", "traces"},
	"cmd/taskrt/internal/reach":     {"cmd/taskrt/internal/contexts", "cmd/taskrt/internal/keys", "api", "api/client", "trust"},
	"cmd/taskrt/internal/ports":     {"internal/discover"},
	"cmd/taskrt/internal/scaffold":  {"plugins/sdk"},

	"cmd/taskrt/internal/show": {"api", "api/auth", "api/membership", "internal/bench", "internal/terminal", "internal/wall", "task/blobs", "api/insight"},

	"api/auth":            {"api", "task/access"},
	"api/membership":      {"api"},
	"api/children":        {"api", "api/internal/codec"},
	"api/client":          {"api", "api/auth", "api/client/internal/events", "api/client/internal/pipeline", "api/internal/codec", "api/membership", "api/snapshot", "api/insight", "api/jobs", "api/tracing", "api/client/internal/socket", "api/stream"},
	"api/internal/codec":  {"api", "api/internal/scan", "internal/jsontext"},
	"api/internal/scan":   {},
	"api/server":          {"api", "api/auth", "api/internal/codec", "api/internal/openapi", "api/internal/schemas", "api/server/admission", "api/server/lobby", "api/server/pages", "api/server/stream", "task/access", "api/membership", "api/server/paced", "api/snapshot", "api/server/ranges", "api/server/location", "api/server/lean", "api/insight", "api/jobs", "api/server/traced", "api/tracing", "api/server/keyed", "api/server/socket", "api/stream"},
	"api/server/location": {"api", "api/auth", "api/internal/codec", "api/jobs"},
	"api/server/stream":   {"api", "api/internal/codec", "api/stream"},
	"api/server/socket":   {"api", "api/auth", "api/internal/codec", "api/server/paced", "api/stream", "api/tracing"},
	"api/server/keyed":    {"api", "api/auth"},
	"api/stream":          {"api", "api/internal/codec"},
	"api/server/paced":    {"api/internal/codec"},
	"api/server/pages":    {"api"},
	"api/server/lobby":    {"internal/mux"},

	"api/server/admission": {},

	"api/client/internal/events":   {"api"},
	"api/client/internal/pipeline": {"api"},

	"api/runs":            {"api", "task"},
	"api/spaces":          {"api", "task", "task/archive"},
	"node/accept":         {"task", "internal/mux"},
	"node/files":          {"api", "blob", "node/view", "raftstore", "task", "internal/idle", "internal/mux"},
	"node/identity":       {"api", "task", "internal/jsontext"},
	"node/lead":           {"abi", "api", "node/accept", "node/logs", "node/maintain", "node/view", "node/watch", "raftstore", "runtime", "task", "worker/stream", "internal/idle", "internal/mux"},
	"node/logs":           {"task", "internal/strays"},
	"node/maintain":       {"task", "node/logs", "internal/clip"},
	"node/peers":          {"api", "node/logs", "node/maintain", "node/watch", "task", "internal/idle", "internal/mux", "api/insight"},
	"node/policy":         {"runtime/manifest", "task"},
	"node/service":        {"api", "api/auth", "api/children", "api/runs", "api/spaces", "blob", "node/accept", "node/identity", "node/logs", "node/maintain", "node/policy", "node/schemas", "node/view", "node/wait", "node/watch", "raftstore", "runtime", "runtime/manifest", "runtime/upload", "task", "task/blobs", "task/names", "internal/idle", "api/cursor", "node/query", "task/tracing", "api/tracing"},
	"node/view":           {"api", "api/runs", "api/spaces", "task", "task/tracing"},
	"node/wait":           {"api", "node/watch", "task"},
	"node/watch":          {"task", "task/wire"},
	"task/archive":        {"task", "task/blobs", "internal/jsontext"},
	"task/records":        {"task/table"},
	"task/table":          {},
	"task/exclusive":      {},
	"task/store":          {"task/hash", "task/queue", "task/table"},
	"task/hash":           {},
	"task/plan":           {"task/queue", "task/table"},
	"task/queue":          {"task/table"},
	"task/answers":        {"task/table"},
	"task/blobs":          {"task/hash", "task/holds", "task/table"},
	"task/names":          {},
	"task/access":         {"task/hash", "task/table"},
	"task/audit":          {"task/hash", "task/table"},
	"task/bounds":         {"task/hash"},
	"task/roster":         {"task/hash"},
	"task/holds":          {"task/hash"},
	"task/backoff":        {},
	"raftstore/guard":     {"raftstore/committed", "raftstore/logstore", "internal/lateness", "internal/mux"},
	"raftstore/committed": {},
	"raftstore/logstore":  {"internal/durable"},
	"raftstore/members":   {"raftstore/rpc", "internal/discover", "internal/durable", "internal/idle", "internal/mux"},
	"raftstore/throttle":  {},
	"raftstore/digests":   {"task"},
	"internal/discover":   {},
	"internal/arriving":   {},
	"raftstore/change":    {"internal/idle", "raftstore/members", "raftstore/rpc", "task/roster"},
	"raftstore/rpc":       {"internal/arriving", "internal/mux"},
	"runtime/codecache":   {},
	"runtime/fetch":       {},
	"runtime/grants":      {"runtime/fetch"},
	"runtime/lines":       {},
	"runtime/manifest":    {"abi", "runtime/upload", "internal/jsontext"},
	"runtime/memory":      {"runtime/wasi"},
	"runtime/meter":       {"runtime/meter/effort", "runtime/wasmbin"},
	"runtime/upload":      {},
	"runtime/wasi":        {},
	"runtime/wasmbin":     {},

	"runtime/meter/effort":   {},
	"runtime/wasmbin/shapes": {},

	"api/internal/openapi": {".", "api", "api/internal/codec", "api/internal/schemas"},
	"api/internal/schemas": {"api", "api/auth", "api/internal/codec", "api/membership", "api/snapshot", "task", "task/access", "task/roster", "api/insight", "api/jobs"},
	"node/access":          {"api", "api/auth", "task/access", "trust", "api/insight", "api/jobs"},
	"node/schemas":         {"api", "runtime/manifest", "task"},
	"node/audit":           {"api", "api/auth", "task", "task/audit"},
	"node/membership":      {"api", "api/membership", "raftstore/change", "task", "task/roster", "internal/idle"},
	"node/signin":          {"api", "api/auth", "node/tokens", "task", "task/access"},
	"node/tokens":          {"api", "api/auth", "node/access", "node/view", "raftstore", "task", "task/access", "trust", "api/insight", "api/jobs"},

	"task/wire/head":       {},
	"node/maintain/native": {"abi", "api/runs", "blob", "node/logs", "node/maintain", "raftstore", "runtime", "task", "worker"},

	"runtime/compiler":  {"runtime", "runtime/codecache", "runtime/manifest", "runtime/upload", "internal/cgroup", "internal/subproc", "internal/wall"},
	"worker/child":      {"runtime", "runtime/fetch", "runtime/grants", "runtime/upload", "task", "worker", "worker/stream", "internal/cgroup", "internal/idle", "internal/subproc", "internal/wall", "worker/spans"},
	"internal/cgroup":   {"internal/subproc"},
	"internal/subproc":  {"internal/arriving"},
	"internal/wall":     {},
	"worker/stream":     {"internal/arriving", "task", "task/wire", "task/wire/head"},
	"internal/clip":     {},
	"internal/durable":  {},
	"internal/idle":     {},
	"internal/jsontext": {},
	"internal/mux":      {},
	"trust":             {"internal/idle", "internal/mux"},
	"internal/bench":    {"api", "api/client", "runtime", "internal/trio", "trust", "extworker"},
	"internal/terminal": {},
	"internal/strays":   {},
	"internal/leash":    {},
	"internal/trio":     {"internal/leash"},

	"plugins/examples":             {},
	"plugins/plugintest":           {"abi", "internal/built", "plugins/sdk/go", "plugins/sdk/go/sdktest", "runtime", "runtime/fetch", "runtime/grants", "runtime/manifest", "task/blobs", "runtime/guestspans"},
	"plugins/sdk":                  {},
	"plugins/sdk/go":               {"abi", "plugins/sdk/go/internal/host", "plugins/sdk/go/tinyjson"},
	"plugins/sdk/go/tinyjson":      {},
	"plugins/sdk/go/sdkjson":       {"plugins/sdk/go", "plugins/sdk/go/internal/host"},
	"plugins/sdk/go/secrets":       {"abi", "plugins/sdk/go", "plugins/sdk/go/internal/host"},
	"plugins/sdk/go/sdkhttp":       {"abi", "plugins/sdk/go", "plugins/sdk/go/internal/host", "plugins/sdk/go/tinyjson"},
	"plugins/sdk/go/tasks":         {"abi", "plugins/sdk/go", "plugins/sdk/go/internal/host", "plugins/sdk/go/tinyjson"},
	"plugins/sdk/go/sdktest":       {"abi", "plugins/sdk/go", "plugins/sdk/go/internal/host", "runtime/guestspans"},
	"plugins/sdk/go/internal/*":    {"abi"},
	"plugins/examples/conformance": {"abi", "plugins/sdk/go"},
	"plugins/examples/table":       {"plugins/sdk/go", "plugins/sdk/go/tinyjson"},
	"plugins/examples/words":       {"plugins/sdk/go/tinyjson"},
	"plugins/examples/tablegen":    {},
	"plugins/examples/*": {
		"plugins/sdk/go", "plugins/sdk/go/tinyjson", "plugins/sdk/go/sdkjson", "plugins/sdk/go/tasks", "plugins/examples/table", "plugins/examples/words",
	},

	"plugins/sdk/go/sdkhttp/transport":                {"plugins/sdk/go", "plugins/sdk/go/sdkhttp"},
	"plugins/sdk/go/secrets/testdata/guest":           {"plugins/sdk/go", "plugins/sdk/go/secrets"},
	"plugins/sdk/go/sdkhttp/testdata/guest":           {"plugins/sdk/go", "plugins/sdk/go/sdkhttp"},
	"plugins/sdk/go/sdkhttp/transport/testdata/guest": {"plugins/sdk/go", "plugins/sdk/go/sdkhttp/transport"},
	"plugins/sdk/go/tasks/testdata/guest":             {"plugins/sdk/go", "plugins/sdk/go/tasks"},

	// Tests only; see testOnly.
	"abi/abitest":          {"abi", "runtime"},
	"api/apitest":          {"api", "api/children", "api/client", "api/server", "blob", "node/accept", "node/audit", "node/files", "node/lead", "node/logs", "node/maintain", "node/maintain/native", "node/service", "node/wait", "node/watch", "raftstore", "runtime", "task", "task/access", "worker", "internal/memnet", "internal/mux", "node/query", "api/cursor", "api/insight", "node/insight", "api/jobs", "node/bulk", "api/tracing", "api/internal/codec", "api/stream"},
	"internal/arch":        {},
	"internal/clustertest": {"..."},
	"internal/built":       {},
	"internal/memdir":      {},
	"node/nodetest":        {"task"},
	"task/wire/wiretest":   {},
	"internal/ctool":       {"internal/built", "internal/leash", "plugins/sdk"},
	"internal/e2e":         {},
	"internal/linear":      {},
	"internal/maintbench":  {"..."},
	"internal/memnet":      {"internal/mux"},
	"internal/astool":      {"internal/built", "internal/leash", "internal/npm", "plugins/sdk"},
	"internal/npm":         {"internal/leash"},
	"internal/rusttool":    {"internal/built", "internal/leash", "plugins/sdk"},
	"internal/sim":         {"task", "task/audit", "task/wire", "internal/sim/naive", "task/jobs"},
	"internal/sim/naive":   {"task", "task/tracing"},

	// Programs of the house: they run the product from outside.
	"internal/demo":         {"internal/leash", "internal/trio"},
	"internal/genfields":    {},
	"internal/golist":       {"internal/leash"},
	"internal/mutants":      {"internal/leash", "internal/mutants/fragment"},
	"internal/races":        {"internal/golist", "internal/leash"},
	"testdata/wasm/build":   {"abi", "internal/leash", "runtime/wasmbin"},
	"testdata/wasm/bench/*": {},

	// Programs to read: they know the product by its HTTP contract alone, or by the packages made for them.
	"examples/*":                     {},
	"examples/external/go":           {"api/client", "extworker", "trust"},
	"internal/lateness":              {},
	"cmd/taskrt/internal/atrest":     {"blob", "cmd/taskrt/internal/cmdline", "raftstore/home", "raftstore/logstore", "raftstore/refound", "internal/terminal"},
	"raftstore/snapfile":             {"task", "task/wire"},
	"raftstore/refound":              {"internal/durable", "raftstore/home", "raftstore/logstore", "raftstore/members", "raftstore/snapfile", "task", "task/roster", "task/wire"},
	"internal/corpus":                {},
	"internal/corpus/corpustest":     {"backup", "backup/sealed", "backup/series", "backup/target", "internal/corpus", "raftstore/logstore", "task", "task/wire"},
	"internal/corpus/make":           {"internal/built", "internal/corpus", "internal/idle", "internal/leash", "internal/trio", "raftstore/logstore"},
	"api/snapshot":                   {"api"},
	"api/server/ranges":              {"api"},
	"node/saving":                    {"api", "api/snapshot", "backup", "blob", "task", "task/wire", "internal/idle"},
	"cmd/taskrt/internal/snapshots":  {"cmd/taskrt/internal/exit", "api", "api/client", "api/snapshot", "backup", "backup/sealed", "backup/series", "backup/target", "cmd/taskrt/internal/cmdline", "cmd/taskrt/internal/schedule", "cmd/taskrt/internal/show", "cmd/taskrt/internal/whole", "internal/terminal", "node/restoring", "node/scheduled", "raftstore/logstore"},
	"cmd/taskrt/internal/whole":      {"internal/durable"},
	"node/restoring":                 {"backup", "blob", "internal/durable", "raftstore/logstore", "raftstore/members", "raftstore/refound", "task"},
	"raftstore/home":                 {"raftstore/logstore", "internal/birth", "internal/durable"},
	"internal/birth":                 {"internal/durable"},
	"backup/sealed":                  {},
	"cmd/taskrt/internal/settings":   {"runtime/grants"},
	"cmd/taskrt/internal/member":     {"api/server/socket", "cmd/taskrt/internal/guests", "cmd/taskrt/internal/keys", "cmd/taskrt/internal/ports", "api/server", "api/server/lobby", "api/server/pages", "metrics", "node", "node/maintain", "node/scheduled", "raftstore/logstore", "runtime", "runtime/grants", "trust", "internal/mux", "console", "docs/site", "traces"},
	"cmd/taskrt/internal/preflight":  {"node", "raftstore/logstore", "worker"},
	"cmd/taskrt/internal/supervisor": {},
	"cmd/taskrt/internal/exit":       {"api", "api/client", "node", "worker"},
	"cmd/taskrt/internal/health":     {"trust"},
	"backup/series":                  {"backup", "backup/target", "task"},
	"backup/target":                  {"internal/durable"},
	"backup/target/bucket":           {"backup/target"},
	"internal/mutants/fragment":      {},
	"cmd/taskrt/internal/filters":    {"api", "cmd/taskrt/internal/cmdline", "api/insight"},
	"cmd/taskrt/internal/schedule":   {"api", "backup/sealed", "backup/series", "backup/target", "backup/target/bucket", "cmd/taskrt/internal/cmdline", "node/scheduled"},
	"node/scheduled":                 {"abi", "api", "api/snapshot", "backup/series", "backup/target", "node/saving", "runtime", "task", "worker"},
	"backup/target/targettest":       {"backup/target"},
	"node/query":                     {"api", "api/cursor", "node/view", "task", "task/hash", "task/match", "api/insight"},
	"api/cursor":                     {"api"},
	"api/server/lean":                {"api"},
	"cmd/taskrt/internal/form":       {"internal/terminal"},
	"task/upkeep":                    {"task/hash"},
	"task/match":                     {},
	"task/jobs":                      {"task/hash", "task/match"},
	"cmd/taskrt/internal/complete":   {"api", "api/auth", "api/client", "cmd/taskrt/internal/cmdline", "cmd/taskrt/internal/contexts", "cmd/taskrt/internal/form", "cmd/taskrt/internal/reach", "cmd/taskrt/internal/scaffold", "internal/terminal", "task/access", "cmd/taskrt/internal/explain"},
	"api/insight":                    {"api"},
	"worker/recent":                  {},
	"worker/making":                  {"internal/clip", "worker/stream"},
	"internal/anchor":                {},
	"internal/issuer":                {"internal/leash", "internal/npm"},
	"metrics/table":                  {},
	"internal/diskspace":             {},
	"cmd/taskrt/internal/mass":       {"internal/terminal", "api", "api/jobs", "cmd/taskrt/internal/cmdline", "cmd/taskrt/internal/exit", "cmd/taskrt/internal/filters", "internal/idle", "cmd/taskrt/internal/input", "cmd/taskrt/internal/show"},
	"api/jobs":                       {"api"},
	"node/bulk":                      {"api", "api/jobs", "internal/idle", "task", "task/access", "task/jobs", "task/match", "node/query", "task/store"},
	"node/insight":                   {"api", "api/insight", "node/query", "task", "node/lead", "task/hurdle", "task/match", "worker/stream"},
	"api/server/session":             {"api", "api/auth", "api/stream"},
	"console":                        {"api/server/pages", "api/server/session", "internal/webfile", "api/auth"},
	"cmd/taskrt/internal/follow":     {"api", "api/client", "cmd/taskrt/internal/show", "internal/idle", "internal/terminal"},
	"cmd/taskrt/internal/upkeep":     {"api", "cmd/taskrt/internal/cmdline", "node/maintain", "task"},
	"cmd/taskrt/internal/explain":    {"api", "cmd/taskrt/internal/cmdline", "cmd/taskrt/internal/exit", "cmd/taskrt/internal/show", "internal/terminal", "internal/anchor"},
	"cmd/taskrt/internal/top":        {"api", "api/client", "api/insight", "cmd/taskrt/internal/follow", "cmd/taskrt/internal/show", "internal/terminal"},
	"task/hurdle":                    {"task/names"},
	"internal/webfile":               {},
	"docs/site/write":                {"docs/site"},
	"docs/site":                      {"api/server/pages", "docs", "internal/webfile", "internal/anchor"},
	"docs":                           {},
	"cmd/taskrt/internal/observe":    {"api", "cmd/taskrt/internal/cmdline", "metrics/table", "internal/anchor"},

	"plugins/examples/image-thumbnail/pictures": {},
	"cmd/taskrt/internal/firstlook":             {"api", "internal/terminal", "plugins/examples/starters", "blob"},
	"cmd/taskrt/internal/devaddr":               {"cmd/taskrt/internal/exit", "internal/durable"},
	"task/tracing":                              {"task/hash"},
	"api/tracing":                               {"task/tracing"},
	"api/server/traced":                         {"api/tracing"},
	"cmd/taskrt/internal/rebuild":               {"api", "cmd/taskrt/internal/show", "internal/terminal", "internal/leash"},
	"traces":                                    {"api/server/traced", "api/tracing", "task", "task/tracing", "worker", "worker/spans"},
	"worker/spans":                              {"abi", "runtime", "runtime/fetch", "task", "task/tracing", "runtime/guestspans"},
	"runtime/guestspans":                        {"abi"},
	"runtime/redact":                            {},
	"plugins/sdk/go/spans":                      {"abi", "plugins/sdk/go"},
	"api/client/internal/socket":                {"api/stream"},
	"internal/scale":                            {},
	"internal/scale/run":                        {"api", "api/client", "internal/bench", "internal/leash", "internal/scale", "internal/trio"},
	"internal/near":                             {"internal/golist", "internal/leash"},
	"raftstore/rounds":                          {},
}

// testOnly are packages that no other package imports outside of its tests, except others of them.
var testOnly = []string{
	"abi/abitest", "api/apitest", "backup/target/targettest", "internal/arch", "internal/astool", "internal/built", "internal/clustertest", "internal/corpus", "internal/corpus/corpustest", "internal/corpus/make", "internal/ctool", "internal/e2e", "internal/issuer", "internal/linear", "internal/maintbench", "internal/memnet", "internal/memdir", "internal/npm", "internal/rusttool", "internal/sim",
	"internal/sim/naive", "node/nodetest", "plugins/plugintest", "plugins/sdk/go/sdktest", "task/wire/wiretest",
}

// thirdParty is the column "third party" of the same table: modules that a package may import outside of tests. A
// package without a line may import none.
var thirdParty = map[string][]string{
	"api/server":               {"golang.org/x/sync", "github.com/google/jsonschema-go"},
	"api/server/socket":        {"golang.org/x/sync", "github.com/coder/websocket"},
	"api/stream":               {"github.com/fxamacker/cbor/v2"},
	"api/apitest":              {"github.com/santhosh-tekuri/jsonschema/v6", "github.com/coder/websocket", "github.com/fxamacker/cbor/v2"},
	"backup":                   {"github.com/klauspost/compress"},
	"blob":                     {"golang.org/x/sync"},
	"api/server/lobby":         {"golang.org/x/sys"},
	"cmd/taskrt":               {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/keys": {"github.com/urfave/cli/v2"},
	"internal/bench":           {"github.com/HdrHistogram/hdrhistogram-go"},
	"internal/diskspace":       {"golang.org/x/sys"},
	"internal/terminal":        {"golang.org/x/sys"},
	"internal/trio":            {"golang.org/x/sys"},
	"metrics":                  {"github.com/prometheus/client_golang"},
	"node/identity":            {"github.com/gowebpki/jcs"},
	"node/maintain":            {"github.com/bits-and-blooms/bloom/v3", "golang.org/x/time"},
	"node/schemas":             {"github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text"},
	"node/service":             {"github.com/google/uuid", "golang.org/x/sync"},
	"raftstore":                {"github.com/hashicorp/raft", "github.com/fxamacker/cbor/v2"},
	"raftstore/guard":          {"github.com/hashicorp/raft", "github.com/hashicorp/go-hclog"},
	"raftstore/committed":      {"github.com/hashicorp/raft"},
	"raftstore/members":        {"github.com/hashicorp/raft"},
	"raftstore/change":         {"github.com/hashicorp/raft"},
	"raftstore/rpc":            {"github.com/fxamacker/cbor/v2"},
	"raftstore/logstore":       {"github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2", "github.com/hashicorp/raft-wal", "github.com/hashicorp/go-hclog", "go.etcd.io/bbolt", "golang.org/x/sys"},
	"runtime":                  {"github.com/tetratelabs/wazero", "golang.org/x/sys"},
	"runtime/codecache":        {"github.com/tetratelabs/wazero"},
	"runtime/memory":           {"github.com/tetratelabs/wazero", "golang.org/x/sys"},
	"runtime/manifest":         {"github.com/santhosh-tekuri/jsonschema/v6"},
	"runtime/wasi":             {"github.com/tetratelabs/wazero"},
	"task/wire":                {"github.com/fxamacker/cbor/v2"},
	"runtime/compiler":         {"golang.org/x/sys"},
	"worker":                   {"golang.org/x/sys"},
	"internal/subproc":         {"golang.org/x/sys"},
	"internal/cgroup":          {"golang.org/x/sys"},
	"internal/wall":            {"github.com/elastic/go-seccomp-bpf", "github.com/landlock-lsm/go-landlock", "golang.org/x/sys"},
	"worker/child":             {"golang.org/x/sync"},
	"worker/stream":            {"github.com/fxamacker/cbor/v2"},

	"cmd/taskrt/internal/cmdline":  {"github.com/urfave/cli/v2", "github.com/xrash/smetrics"},
	"cmd/taskrt/internal/contexts": {"golang.org/x/sys"},
	"cmd/taskrt/internal/reach":    {"github.com/urfave/cli/v2"},

	"api/internal/openapi": {"github.com/google/jsonschema-go"},
	"api/internal/schemas": {"github.com/google/jsonschema-go"},
	"node/access":          {"golang.org/x/time"},
	"node/signin":          {"github.com/coreos/go-oidc/v3", "golang.org/x/time"},

	"cmd/taskrt/internal/login":      {"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"},
	"internal/lateness":              {"golang.org/x/sys"},
	"raftstore/refound":              {"github.com/hashicorp/raft", "github.com/hashicorp/go-hclog"},
	"cmd/taskrt/internal/atrest":     {"github.com/hashicorp/raft", "github.com/urfave/cli/v2"},
	"internal/corpus/corpustest":     {"github.com/hashicorp/raft"},
	"internal/corpus/make":           {"github.com/hashicorp/raft", "filippo.io/age"},
	"node/saving":                    {"github.com/google/uuid", "golang.org/x/time"},
	"cmd/taskrt/internal/snapshots":  {"github.com/urfave/cli/v2", "filippo.io/age"},
	"internal/birth":                 {"golang.org/x/sys"},
	"backup/sealed":                  {"filippo.io/age"},
	"cmd/taskrt/internal/settings":   {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/preflight":  {"golang.org/x/sys"},
	"cmd/taskrt/internal/supervisor": {"github.com/coreos/go-systemd/v22", "golang.org/x/sys"},
	"backup/series":                  {"golang.org/x/sync"},
	"backup/target/bucket":           {"github.com/minio/minio-go/v7"},
	"node/scheduled":                 {"golang.org/x/time"},
	"cmd/taskrt/internal/filters":    {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/input":      {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/mass":       {"github.com/urfave/cli/v2"},
	"node/bulk":                      {"golang.org/x/sync/semaphore"},
	"cmd/taskrt/internal/schedule":   {"github.com/urfave/cli/v2"},
	"api/server/paced":               {"golang.org/x/sync"},

	"api/client/internal/pipeline": {"golang.org/x/sync"},
	"cmd/taskrt/internal/form":     {"go.yaml.in/yaml/v3"},
	"cmd/taskrt/internal/complete": {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/upkeep":   {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/explain":  {"github.com/urfave/cli/v2"},
	"cmd/taskrt/internal/top":      {"golang.org/x/sync"},
	"docs/site":                    {"github.com/yuin/goldmark"},
	"cmd/taskrt/internal/observe":  {"github.com/urfave/cli/v2", "go.yaml.in/yaml/v3"},
	"traces":                       {"go.opentelemetry.io/otel"},
	"api/client/internal/socket":   {"github.com/coder/websocket"},
	"cmd/taskrt/internal/heap":     {"golang.org/x/sys"},
}

// lineOf finds the line of arrows for a package: its own, or that of a pattern.
func lineOf(dir string) (line string, ok bool) {
	if _, ok = arrows[dir]; ok {
		return dir, true
	}
	for pattern := range arrows {
		if match, err := path.Match(pattern, dir); err == nil && match {
			return pattern, true
		}
	}
	return "", false
}

// TestArrows: no package imports what its line does not allow, and no line allows what nobody imports.
func TestArrows(t *testing.T) {
	t.Parallel()
	imported := map[string][]string{} // line → what files import outside of tests
	for _, f := range load(t) {
		line, known := lineOf(f.dir)
		if !known {
			t.Errorf("%s: package %s is not in the table: say what it may import", f.path, f.dir)
			continue
		}
		if f.test {
			continue
		}
		imported[line] = append(imported[line], f.imports()...)
		allowed := arrows[line]
		for _, p := range f.imports() {
			to, inside := inModule(p)
			if !inside {
				if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") && !allowsModule(thirdParty[f.dir], p) {
					t.Errorf("%s imports %s, which %s has no need of by the table", f.path, p, f.dir)
				}
				continue
			}
			if to != f.dir && !slices.Contains(allowed, to) && !slices.Contains(allowed, "...") {
				t.Errorf("%s: no arrow from %s to %s", f.path, f.dir, to)
			}
			if slices.Contains(testOnly, to) && !slices.Contains(testOnly, f.dir) {
				t.Errorf("%s imports %s, which is for tests only", f.path, to)
			}
		}
	}
	for line, allowed := range arrows {
		for _, to := range allowed {
			if to != "..." && !slices.ContainsFunc(imported[line], func(p string) bool { dir, inside := inModule(p); return inside && dir == to }) {
				t.Errorf("%s does not import %s: take the arrow away", line, to)
			}
		}
	}
	for dir, modules := range thirdParty {
		for _, m := range modules {
			if !slices.ContainsFunc(imported[dir], func(p string) bool { return allowsModule([]string{m}, p) }) {
				t.Errorf("%s imports nothing of %s: take it out of the table", dir, m)
			}
		}
	}
}

// inModule returns the directory of a package of this module; "." is its root.
func inModule(p string) (dir string, inside bool) {
	if p == module {
		return ".", true
	}
	return strings.CutPrefix(p, module+"/")
}

func allowsModule(modules []string, p string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") })
}

// TestArrowsOfTests: tests may use more than the package itself, but the core's tests must not depend on what stands
// on it.
func TestArrowsOfTests(t *testing.T) {
	t.Parallel()
	above := []string{"node", "cmd/taskrt", "internal/clustertest", "metrics"}
	for _, f := range load(t) {
		if !f.test || slices.Contains(above, f.dir) || slices.Contains(testOnly, f.dir) {
			continue
		}
		for _, p := range f.imports() {
			if to, ok := strings.CutPrefix(p, module+"/"); ok && slices.Contains(above[:2], to) {
				t.Errorf("%s: a test of %s must not need %s", f.path, f.dir, to)
			}
		}
	}
}

// TestNoCycleInTable: the table itself must be a hierarchy, or it says nothing.
func TestNoCycleInTable(t *testing.T) {
	t.Parallel()
	state := map[string]int{}
	var visit func(p string, trail []string)
	visit = func(p string, trail []string) {
		if state[p] == 1 {
			t.Fatalf("cycle: %s", strings.Join(append(trail, p), " → "))
		}
		if state[p] == 2 {
			return
		}
		state[p] = 1
		for _, to := range arrows[p] {
			if to != "..." {
				visit(to, append(trail, p))
			}
		}
		state[p] = 2
	}
	for p := range arrows {
		visit(p, nil)
	}
}
