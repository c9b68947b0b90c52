package arch_test

import (
	"slices"
	"strings"
	"testing"
)

// TestWhatAClientLinks: a program that uses a client or an external worker links neither the handler nor a library of
// schemas, but this module's contract and JSON, one semaphore, and what a stream takes. A program that trusts a cluster by its fingerprint links package trust, too.
func TestWhatAClientLinks(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{} // package → what its files import outside of tests
	for _, f := range load(t) {
		if !f.test {
			imports[f.dir] = append(imports[f.dir], f.imports()...)
		}
	}
	want := []string{
		"api", "api/auth", "api/client", "api/client/internal/events", "api/client/internal/pipeline", "api/client/internal/socket", "api/stream", "api/insight", "api/jobs", "api/tracing", "api/membership", "api/snapshot", "api/internal/codec", "api/internal/scan", "internal/clip", "internal/jsontext", "task", "golang.org/x/sync/semaphore",
		"github.com/coder/websocket", "github.com/fxamacker/cbor/v2", // streams
	}
	trusts := []string{"trust", "internal/idle", "internal/mux"}
	for _, program := range []string{"api/client", "extworker", "examples/external/go"} {
		links := map[string]bool{}
		var visit func(dir string)
		visit = func(dir string) {
			if links[dir] {
				return
			}
			links[dir] = true
			if len(imports[dir]) == 0 && !strings.Contains(dir, ".") {
				t.Errorf("%s: no file found: the search is broken", dir)
			}
			for _, p := range imports[dir] {
				to, inside := strings.CutPrefix(p, module+"/")
				if first, _, _ := strings.Cut(p, "/"); inside || strings.Contains(first, ".") {
					visit(to)
				}
			}
		}
		visit(program)
		for dir := range links {
			allowed := slices.Contains(want, dir) || program == "examples/external/go" && slices.Contains(trusts, dir)
			if dir != program && dir != "extworker" && !allowed && !strings.HasPrefix(dir, "task/") {
				t.Errorf("%s links %s", program, dir)
			}
		}
	}
}
