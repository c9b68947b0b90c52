package e2e

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var imported = flag.Int("imported", 20_000, "tasks that an import brings (make import TASKS=1000000)")

// TestLargeImport: an export of many tasks is imported through one request, and all of them are there. Done again, it changes nothing. How long it
// takes is logged (SPEC M5).
func TestLargeImport(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	c.push("echo")
	c.taskrt(binary, "submit", "echo", "--id", "one", "--delay", "9000h", "--label", "team=red", "--params", `{"customer":1,"note":"a task of the usual kind"}`)
	file := filepath.Join(t.TempDir(), "many.jsonl")
	multiply(t, c.taskrt(binary, "namespace", "export", "default"), file)
	for _, again := range []bool{false, true} {
		begun := time.Now()
		out := c.taskrt(binary, "namespace", "import", "many", file, "-o", "json")
		t.Logf("an import of %d tasks took %v", *imported, time.Since(begun).Round(100*time.Millisecond))
		var got struct{ Tasks, Skipped, Refused int }
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatal(err)
		}
		if tasks := got.Tasks; got.Refused != 0 || (tasks == *imported) == again || again && got.Skipped < *imported {
			t.Errorf("again %v: %s", again, out)
		}
	}
	back := strings.Count(c.taskrt(binary, "namespace", "export", "many"), "\n{\"task\":")
	if back != *imported {
		t.Errorf("%d tasks are there", back)
	}
	if got := c.taskrt(binary, "get", fmt.Sprint("many-", *imported-1), "--namespace", "many", "-o", "json"); !strings.Contains(got, fmt.Sprintf(`"customer":%d,`, *imported-1)) {
		t.Errorf("the last one is %s", got)
	}
	c.digestsAgree()
}

// multiply writes an export with one task as an export with many of it.
func multiply(t *testing.T, export, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for line := range strings.Lines(export) {
		if !strings.HasPrefix(line, `{"task":`) {
			fmt.Fprint(w, strings.Replace(line, `"tasks":1`, fmt.Sprintf(`"tasks":%d`, *imported), 1))
			continue
		}
		for i := range *imported {
			fmt.Fprint(w, strings.Replace(strings.Replace(line, `"one"`, fmt.Sprintf(`"many-%d"`, i), 1), `"customer":1`, fmt.Sprintf(`"customer":%d`, i), 1))
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}
