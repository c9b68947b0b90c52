package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/trust"
)

// ready is a Service that is ready for nothing else.
type ready struct{ api.Service }

func (ready) Ready(context.Context) error { return nil }

// commands are a user's shell: each line is run with contexts of the user's own.
type commands struct {
	*testing.T
	values *strings.Replacer
}

// shell gives the test a user. The values are pairs of a word and what stands for it in the lines.
func shell(t *testing.T, values ...string) commands {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	return commands{t, strings.NewReplacer(values...)}
}

// run runs a line that must exit with a code and say each of the words, on either stream.
func (c commands) run(code int, line string, words ...string) {
	c.Helper()
	line = c.values.Replace(line)
	var out bytes.Buffer
	got := run(c.Context(), append([]string{"taskrt"}, strings.Fields(line)...), strings.NewReader(""), &out, &out)
	if got != code {
		c.Errorf("taskrt %s: exit code %d, want %d; it said:\n%s", line, got, code, out.String())
	}
	for _, word := range words {
		not := strings.HasPrefix(word, "!")
		if word = c.values.Replace(strings.TrimPrefix(word, "!")); strings.Contains(out.String(), word) == not {
			c.Errorf("taskrt %s: said, want %t %q:\n%s", line, !not, word, out.String())
		}
	}
}

// tokenIn writes a token into a file.
func tokenIn(t *testing.T, token trust.Token) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestContexts: a context is all that a command needs, and it is for the cluster for which it was added (SPEC A3, C2).
func TestContexts(t *testing.T) {
	k, id := newKeeper(), atomic.Value{}
	id.Store("c1")
	s := httptest.NewServer(server.New(ready{}, server.Config{Gate: k, Access: k, Cluster: func() string { return id.Load().(string) }, Metrics: http.NotFoundHandler()}))
	defer s.Close()
	open := httptest.NewServer(server.New(ready{}, server.Config{Cluster: func() string { return "c2" }}))
	defer open.Close()
	sh := shell(t, "URL", s.URL, "OPEN", open.URL, "ROOT", tokenIn(t, k.root), "NOBODY", tokenIn(t, trust.DrawToken()), "SECRET", k.root.Text())

	sh.run(exit.OK, "context list", "CURRENT", "!*")
	sh.run(exit.Usage, "context show", "taskrt context use NAME")
	sh.run(exit.Usage, "context add prod", "--server is required")
	sh.run(exit.Refused, "context add prod --server URL --token-file NOBODY", "unauthenticated", "nothing is kept")
	sh.run(exit.Unreachable, "context add prod --server http://127.0.0.1:1", "nothing is kept")
	sh.run(exit.OK, "context list", "!prod")
	sh.run(exit.OK, "context add prod --server URL --token-file ROOT --namespace team-a", "cluster    c1", "namespace  team-a", "token      yes", "!SECRET")
	sh.run(exit.OK, "token self", "root")
	sh.run(exit.OK, "context add lab --server OPEN --token-file ROOT -o json", `"cluster":"c2"`, `"current":false`, "!SECRET")
	sh.run(exit.OK, "context list", "*        prod", "         lab", "!SECRET")
	sh.run(exit.OK, "context list -o json", `{"contexts":[{"name":"lab","current":false,"servers":["OPEN"],"has_token":true,"cluster":"c2"},{"name":"prod","current":true,`, "!SECRET")
	sh.run(exit.Usage, "context add prod --server OPEN", "--replace")
	sh.run(exit.Refused, "token self --context lab", "this cluster is open")
	sh.run(exit.OK, "context use lab")
	sh.run(exit.Refused, "token self", "this cluster is open")
	sh.run(exit.OK, "token self --context prod", "root")
	sh.run(exit.Refused, "token self --server URL", "unauthenticated", "say --token-file FILE")
	sh.run(exit.Usage, "token self --server URL --context prod", "both given")
	sh.run(exit.Usage, "context use dev", "taskrt context list")

	id.Store("c3")
	sh.run(exit.Refused, "token self --context prod", "context prod is not for the cluster that is there now", "other_cluster", "c1")
	sh.run(exit.OK, "context add prod --replace --server URL --token-file ROOT", "cluster    c3", "current    no")
	sh.run(exit.OK, "token self --context prod", "root")
	sh.run(exit.OK, "context rm lab")
	sh.run(exit.Usage, "context rm lab", "no context \"lab\"")
	sh.run(exit.Usage, "context show", "taskrt context use NAME")
	sh.run(exit.OK, "context add far --offline --server https://10.0.0.1:7070 --token-file ROOT --ca sha256:"+strings.Repeat("0", 64), "cluster    -")
	sh.run(exit.Usage, "context add bare --offline --server http://10.0.0.1:7070 --token-file ROOT", "is not https", "!SECRET")
	sh.run(exit.Usage, "context add .x --offline --server OPEN", "1 to 64")
	sh.run(exit.File, "context add x --server OPEN --token-file nosuch", "no such file")
	sh.run(exit.Usage, "context add x --offline --server OPEN --namespace a/b", "namespace: must be")
}

// TestContextFile: a file that cannot be taken ends every command that needs it, and no other.
func TestContextFile(t *testing.T) {
	open := httptest.NewServer(server.New(ready{}, server.Config{Cluster: func() string { return "c2" }}))
	defer open.Close()
	sh := shell(t, "OPEN", open.URL)
	sh.run(exit.OK, "context add lab --server OPEN")
	file := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "taskrt", "contexts.json")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // a group may read what root owns
		if err := os.Chmod(file, 0o604); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"context list", "context show", "context use lab", "context rm lab", "context add x --server OPEN", "token self", "list --context lab"} {
		sh.run(exit.File, line, "chmod 600 "+file)
	}
	sh.run(exit.Refused, "token self --server OPEN", "this cluster is open")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"contexts":{"lab":{"servers":["x"],"tokn":"y"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	sh.run(exit.File, "token self", file, `unknown field "tokn"`)
}

// TestPipedToken: a token comes over a pipe, as from <(taskrt token root …), and is read once (SPEC A3).
func TestPipedToken(t *testing.T) {
	k := newKeeper()
	s := httptest.NewServer(server.New(ready{}, server.Config{Gate: k, Access: k, Metrics: http.NotFoundHandler()}))
	defer s.Close()
	for _, line := range []string{"token create ann --role read", "token list"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(w, k.root.Text()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		shell(t).run(exit.OK, fmt.Sprintf("%s --server %s --token-file /dev/fd/%d", line, s.URL, r.Fd()))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.kept) != 1 {
		t.Error("the token was not made")
	}
}
