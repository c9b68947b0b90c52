package main

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestDevSecure: what `taskrt dev --secure` prints is all that a shell needs to use the cluster, and without it nobody gets in. A cluster stays
// as secure as it was made (SPEC A4, A6).
func TestDevSecure(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a cluster")
	}
	path, err := exec.LookPath("taskrt") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := filepath.Abs("../../testdata/wasm/echo.wasm")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "it's mine")
	args := []string{path, "dev", "--secure", "--dir", dir, "--http", "127.0.0.1:0"}
	start := func() (d *daemon, use string) {
		t.Helper()
		d, err := startDaemon(args, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.kill)
		select {
		case use = <-d.more:
		case <-time.After(patience):
			t.Fatal("it does not say how it is used: ", d.log())
		}
		if console := <-d.more; console != "console "+d.url+"/" {
			t.Errorf("the next line is %q", console)
		}
		return d, use
	}
	// run gives a line to a shell and returns what it prints. The exit code must be this one.
	run := func(code int, line string) string {
		t.Helper()
		out, err := leash.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
		got := 0
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			got = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if got != code {
			t.Fatalf("%s: exit code %d, not %d: %s", line, got, code, out)
		}
		return string(out)
	}

	d, use := start()
	run(0, use+" && taskrt push '"+wasm+"' --name echo && taskrt submit echo --id kept --params 1 --wait")
	if out := run(0, use+" && taskrt token self"); !strings.Contains(out, "root") {
		t.Errorf("whose token: %s", out)
	}
	run(0, use+" && taskrt bench submit --server $TASKRT_SERVER --callers 1 --for 100ms --warmup 10ms --runs 1")
	run(5, use+" && unset TASKRT_TOKEN_FILE && taskrt list")
	if res, err := http.Get(strings.Replace(d.url, "https:", "http:", 1) + "/v1/tasks"); err == nil {
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			t.Error("it speaks HTTP, and asks for no token")
		}
	}
	if code := d.stop(); code != 0 {
		t.Fatalf("exit code %d: %s", code, d.log())
	}

	d, again := start()
	if pin := func(use string) string { return strings.Fields(use)[2] }; pin(again) != pin(use) {
		t.Errorf("another secret: %s, then %s", use, again)
	}
	if out := run(0, again+" && taskrt get kept"); !strings.Contains(out, "SUCCESS") {
		t.Errorf("after a restart: %s", out)
	}
	streamsOverTLS(t, d.url, strings.TrimPrefix(strings.Fields(again)[2], "TASKRT_CA="), func(code int, line string) string {
		t.Helper()
		return run(code, again+" && "+line)
	})
	d.stop()

	quoted := `"` + dir + `"`
	if out := run(2, "taskrt dev --insecure --http 192.0.2.1:0 --dir "+quoted); !strings.Contains(out, "has a secret: say --secure") {
		t.Errorf("a secure cluster is opened: %s", out)
	}
	run(2, "taskrt dev --secure --insecure")
	open := t.TempDir()
	if err := os.Mkdir(filepath.Join(open, "n1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := run(2, "taskrt dev --secure --http 192.0.2.1:0 --dir "+open); !strings.Contains(out, "is open") {
		t.Errorf("an open cluster gets a secret by the way: %s", out)
	}
}
