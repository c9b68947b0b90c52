package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
)

// listed are the backups of a directory.
func listed(t *testing.T, dir string) (all []struct {
	Name   string
	Header struct {
		Index, Blobs uint64
	}
}) {
	t.Helper()
	out, err := leash.Command(binary, "snapshot", "list", dir, "-o", "json").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return all
}

// below lists the files of a folder of all clusters in a target.
func below(t *testing.T, target, folder string) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"taskrt-*/" + folder + "/*", "taskrt-*/" + folder + "/*/*"} {
		all, err := filepath.Glob(filepath.Join(target, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				files = append(files, f)
			}
		}
	}
	return files
}

// drillLine is the command line of docs/backup.md that restores a backup beside the cluster, exactly.
func drillLine(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "backup.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, drill, _ := strings.Cut(string(page), "## The drill")
	_, block, _ := strings.Cut(drill, "```sh no-test\n")
	line, _, ok := strings.Cut(block, "\n```")
	if !ok || strings.Contains(line, "\n") || !strings.Contains(line, "$BACKUPS") && !strings.Contains(line, "${BACKUPS") {
		t.Fatalf("the drill is no single command line about $BACKUPS: %q", line)
	}
	return line
}

// drill runs the documented line on a backup, and returns the URL of the cluster that it has started.
func drill(t *testing.T, backups string) (url string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(dir, "taskrt")); err != nil {
		t.Fatal(err)
	}
	l, err := leash.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Kill)
	cmd := leash.Command("bash", "-c", drillLine(t))
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir, "BACKUPS="+backups)
	l.Tie(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Kill(); _ = cmd.Wait() }) // it was killed
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			return at
		}
	}
	l.Kill()
	_ = cmd.Wait()
	t.Fatalf("the drill ends before it is ready: %s", said.String())
	return ""
}

// holdsAll demands that a restored cluster has these tasks and files.
func (c *cluster) holdsAll(url string, records map[string]string, files map[string][]byte) {
	c.t.Helper()
	ask := func(path string) (code int, data []byte) {
		c.eventually("the restored cluster answers "+path, func() bool {
			r, err := c.http.Get(url + path)
			if err != nil {
				return false
			}
			defer r.Body.Close()
			var b bytes.Buffer
			_, err = b.ReadFrom(r.Body)
			code, data = r.StatusCode, b.Bytes()
			return err == nil && code != http.StatusServiceUnavailable
		})
		return code, data
	}
	for id, want := range records {
		if _, data := ask("/v1/tasks/" + id); string(data) != want {
			c.t.Errorf("%s\nwas %s", data, want)
		}
	}
	for d, want := range files {
		if code, data := ask("/v1/blobs/" + d); code != http.StatusOK || !bytes.Equal(data, want) {
			c.t.Errorf("blob %s: %d, %d bytes", d, code, len(data))
		}
	}
}

// TestBackupsBySchedule: three nodes back the cluster up into a directory that they share. The leader is killed while a run stores files. Backups go
// on, each one that is listed can be verified, files are stored once, older backups go. The documented drill restores the newest one, and a file of
// `snapshot save`: every task and every file is there (SPEC C8).
func TestBackupsBySchedule(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	c := newCluster(t, "--backup-to", target, "--backup-every", "1s", "--backup-keep", "3", "--backup-rate", "1", "--maintenance-every", "0s")
	if code, data := c.insist(t.Context(), 0, http.MethodPut, "/v1/behaviors/out", json.RawMessage(`{"kind":"external"}`)); code/100 != 2 {
		t.Fatalf("%d %s", code, data)
	}
	files, records := c.putNoise(8, 1<<20), map[string]string{}
	for d := range files {
		id := "needs-" + d[:8]
		c.submit(0, map[string]any{"behavior": "out", "id": id, "delay": "24h", "params": map[string]any{"file": map[string]any{"$blob": "sha256:" + d}}})
		_, data := c.insist(t.Context(), 0, http.MethodGet, "/v1/tasks/"+id, nil)
		records[id] = string(data)
	}
	c.eventually("a run stores files", func() bool { return len(below(t, target, "blobs")) > 0 && len(below(t, target, "runs")) > 0 })
	killed := c.nodes[c.leader()]
	killed.kill9()
	whole := func() (name string) {
		all := listed(t, target)
		if len(all) > 0 && all[len(all)-1].Header.Blobs == uint64(len(files)) {
			name = all[len(all)-1].Name
		}
		return name
	}
	first := ""
	c.eventually("there is a backup with all files", func() bool { first = whole(); return first != "" })
	killed.start()
	c.eventually("backups go on, and older ones go", func() bool {
		all := listed(t, target)
		return len(all) == 3 && all[0].Name > first
	})
	status := c.taskrt(binary, "snapshot", "status")
	if !strings.Contains(status, target) || !strings.Contains(status, "blobs        8") {
		t.Errorf("status: %s", status)
	}
	for i, p := range c.nodes {
		c.eventually("every node has the metric", func() bool {
			code, data := c.do(t.Context(), i, http.MethodGet, "/metrics", nil)
			for _, name := range []string{"success_timestamp_seconds", "duration_seconds", "bytes", "new_bytes"} {
				if !strings.Contains(string(data), "\ntaskrt_backup_last_"+name+" ") {
					return false
				}
			}
			return code == http.StatusOK
		})
		p.kill9()
	}
	all := listed(t, target)
	var named string
	for _, b := range all {
		list, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(below(t, target, "backups")[0])), "lists", b.Name))
		if err != nil || named != "" && named != string(list) {
			t.Errorf("backups that follow each other do not share the files that they store: %v\n%s\n%s", err, named, list)
		}
		named = string(list)
		if out, err := leash.Command(binary, "snapshot", "verify", target, "--at", b.Name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", b.Name, err, out)
		}
	}
	c.holdsAll(drill(t, target), records, files)
}

// TestDrillOfFile: the documented drill restores a file that `snapshot save` has written (SPEC C8).
func TestDrillOfFile(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	files := c.putNoise(2, 100_000)
	file := filepath.Join(t.TempDir(), "backup.taskrt")
	c.taskrt(binary, "snapshot", "save", file)
	c.holdsAll(drill(t, file), nil, files)
}
