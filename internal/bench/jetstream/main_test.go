package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/leash"
)

// TestWork: each kind of work moves messages, and leaves nothing behind.
func TestWork(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nats-server")
	}
	t.Setenv("TMPDIR", t.TempDir())
	binary := filepath.Join(t.TempDir(), "nats-server")
	if out, err := leash.Command("go", "build", "-o", binary, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := settings{nats: binary, length: 2 * time.Second, callers: []int{2}, payload: []byte("x"), batch: 100, tasks: 300}
	var result comparison
	for _, preset := range allPresets {
		if err := result.jetstream(t.Context(), c, preset); err != nil {
			t.Fatal(err)
		}
	}
	if len(result.rows) != 6 {
		t.Errorf("%d rows", len(result.rows))
	}
	for _, r := range result.rows {
		if s := r.JetStream; len(s.Rate) != 1 || s.Rate[0] <= 0 || s.CPU[0] <= 0 || len(s.P50) > 0 == strings.HasPrefix(r.Name, "drain") {
			t.Errorf("%s: %+v", r.Name, s)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(t.TempDir(), "..", "*", "jetstream-bench-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	var result comparison
	for _, rates := range [][2]float64{{10, 10}, {30, 10}, {20, 10}} {
		result.row("x").Taskrt.add(figures{rates[0], 2, 7})
		result.row("x").JetStream.add(figures{rates[1], 0, 8})
	}
	if r := result.row("x").ratio(); r != 2 || len(result.rows) != 1 {
		t.Errorf("%v, %d rows", r, len(result.rows))
	}
	var out bytes.Buffer
	if err := result.print(&out, settings{rounds: 3}, false); err != nil || !strings.Contains(out.String(), "x          20             10   2.00           2.00                 -") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := []string{"-taskrt", "a", "-nats", "b"}
	c, asJSON, err := parse(append(good, "-presets", "bulk,drain", "-flags", "--a 1  --b", "-json"), io.Discard)
	if err != nil || !asJSON || len(c.presets) != 2 || len(c.flags) != 3 {
		t.Errorf("%+v, %t, %v", c, asJSON, err)
	}
	for _, bad := range []string{"-presets x", "-rounds 0", "-for 1ms", "-tasks 10", "-tasks 1500", "-batch 5000", "more", "-x"} {
		if _, _, err := parse(append(good, strings.Fields(bad)...), io.Discard); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	if _, _, err := parse(nil, io.Discard); err == nil {
		t.Error("no binaries are needed")
	}
}
