package starters_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/plugins/examples/starters"
	"github.com/taskrt/taskrt/plugins/plugintest"
)

var rewrite = flag.Bool("rewrite", false, "write the modules anew")

// TestSources: the committed modules are what the compiler of Debian 12 makes of their sources.
func TestSources(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("clang-16"); err != nil && os.Getenv("CI") == "" {
		t.Skip("another compiler makes other bytes")
	}
	for _, s := range starters.All {
		built := ctool.Build(t, "modules/"+s.Name+".c")
		if *rewrite {
			if err := os.WriteFile("modules/"+s.Name+".wasm", built, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile("modules/" + s.Name + ".wasm"); err != nil || !bytes.Equal(have, built) {
			t.Errorf("%s.wasm is not what %s.c gives (%v): go test ./plugins/examples/starters -rewrite", s.Name, s.Name, err)
		}
	}
}

func load(t *testing.T, name string) *plugintest.Module {
	t.Helper()
	for _, s := range starters.All {
		if s.Name == name {
			wasm, err := s.Wasm()
			if err != nil {
				t.Fatal(err)
			}
			return plugintest.New(t, plugintest.Config{Wasm: wasm})
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func TestGreet(t *testing.T) {
	t.Parallel()
	m := load(t, "greet")
	m.Run(t, "example.greet", &plugintest.Host{Params: []byte(`{"name":"Ada"}`)}).WantResult(t, `{"greeting":"Hello, Ada!"}`)
}

// TestCountdown: it goes on from where it was.
func TestCountdown(t *testing.T) {
	t.Parallel()
	m := load(t, "countdown")
	m.Run(t, "example.countdown", &plugintest.Host{Params: []byte(`{"from":1}`)}).WantResult(t, `"lift-off"`)
	h := &plugintest.Host{Params: []byte(`{"from":600}`), Checkpoint: []byte("1")}
	m.Run(t, "example.countdown", h).WantResult(t, `"lift-off"`)
}

func TestUnsteady(t *testing.T) {
	t.Parallel()
	m := load(t, "unsteady")
	h := &plugintest.Host{Params: []byte(`{"succeeds_at":2}`)}
	m.Run(t, "example.unsteady", h).WantKind(t, plugintest.Failed)
	m.Run(t, "example.unsteady", &plugintest.Host{Params: []byte(`{"succeeds_at":1}`)}).WantResult(t, `{"attempts":1}`)
}

// TestSquares: the shares of an operation add up.
func TestSquares(t *testing.T) {
	t.Parallel()
	m := load(t, "squares")
	share := func(partition, arg string) *plugintest.Host {
		return &plugintest.Host{Params: []byte(`{"operation":"op","target":"","object":"","partition":"` + partition + `","index":0,"arg":` + arg + `}`)}
	}
	m.Run(t, "example.squares", share("0", `{"n":4,"parts":2}`)).WantResult(t, "20")
	m.Run(t, "example.squares", share("1", `{"n":4,"parts":2}`)).WantResult(t, "10")
	for _, h := range []*plugintest.Host{share("one", `{"n":4,"parts":2}`), share("0", `{"n":4}`), share("0", `{"n":-1,"parts":2}`), share("0", "null")} {
		m.Run(t, "example.squares", h).WantKind(t, plugintest.Failed)
	}
	h := &plugintest.Host{Params: []byte(`{"operation":"op","target":"","object":"","success":true,"counts":{"success":2,"failure":0},"arg":null}`)}
	h.Partitions = []plugintest.Partition{{Partition: "0", Status: "SUCCESS", Result: []byte("20")}, {Partition: "1", Status: "SUCCESS", Result: []byte("10")}}
	m.Run(t, "example.squares.total", h).WantResult(t, "30")
}
