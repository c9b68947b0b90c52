package complete

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/terminal"
)

// app has one command with the flags of a client.
func app() *cli.App {
	text := func(name string) cli.Flag {
		return &cli.StringFlag{Name: name, EnvVars: []string{"TASKRT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}}
	}
	return &cli.App{
		Name: "taskrt", Flags: []cli.Flag{text("config")},
		Commands: []*cli.Command{{
			Name: "get", ArgsUsage: "ID", Flags: []cli.Flag{text("server"), text("namespace"), text("ca"), text("token-file"), text("context")},
		}},
	}
}

// asked is what is printed for a line.
func asked(ctx context.Context, t *testing.T, words ...string) string {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var out bytes.Buffer
	if !Answer(ctx, app(), append([]string{"taskrt", "completion", "words", "bash"}, words...), "", terminal.New(&out)) {
		t.Error("nothing was asked for")
	}
	return out.String()
}

// TestNamesThatHurt: no name goes to a shell that is more than a word there, whoever chose it (SPEC U3).
func TestNamesThatHurt(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"tasks":[{"id":"good-1"},{"id":"$(reboot)"},{"id":"a b"},{"id":"a\nb"},{"id":"\u001b[2J"},{"id":"-rf"},{"id":"\u202e"},{"id":"a;b"},{"id":""}]}`))
	}))
	defer s.Close()
	if got := asked(t.Context(), t, "get", "--server", s.URL, ""); got != "good-1\n" {
		t.Errorf("%q", got)
	}
}

// TestFormerServers: a server of 0.1.0 knows neither prefixes nor the order, and its tasks are found all the same.
func TestFormerServers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("order") || r.URL.Query().Has("id_prefix") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"type":"about:blank","status":400,"code":"unknown_field","field":"order"}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"tasks":[{"id":"one"},{"id":"two"}]}`))
	}))
	defer s.Close()
	if got := asked(t.Context(), t, "get", "--server", s.URL, "o"); got != "one\n" {
		t.Errorf("%q", got)
	}
}

// TestWhoeverIsSilent: a server that does not answer, and a file that nobody writes, hold no shell up: nothing follows then.
func TestWhoeverIsSilent(t *testing.T) {
	called := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	if got := asked(t.Context(), t, "get", "--server", s.URL, ""); got != "" {
		t.Errorf("%q", got)
	}
	<-called
	fifo := t.TempDir() + "/token"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	if got := asked(t.Context(), t, "get", "--server", s.URL, "--token-file", fifo, ""); got != "" {
		t.Errorf("%q", got)
	}
}

// TestJoined: what bash parts at = and : is put together again.
func TestJoined(t *testing.T) {
	for line, want := range map[string]struct {
		words string
		cut   int
	}{
		"get a":             {"get a", 0},
		"list --status =":   {"list --status=", 9},
		"list --status = F": {"list --status=F", 9},
		"get a : b":         {"get a:b", 2},
		"get a :: b : c":    {"get a::b:c", 5},
	} {
		if words, cut := joined(strings.Fields(line)); strings.Join(words, " ") != want.words || cut != want.cut {
			t.Errorf("%q: %q, %d", line, words, cut)
		}
	}
}

// TestScriptsAreRead: each shell that is here takes its script.
func TestScriptsAreRead(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		out, err := leash.CommandContext(t.Context(), path, append(slices.Clone(check), "taskrt."+shell)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}
