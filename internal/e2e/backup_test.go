package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/leash"
)

// putNoise stores files that do not compress, and returns them by digest.
func (c *cluster) putNoise(n, size int) map[string][]byte {
	c.t.Helper()
	files := map[string][]byte{}
	file := filepath.Join(c.t.TempDir(), "noise")
	for i := range n {
		b := make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{byte(i), byte(n)}).Read(b)
		if err := os.WriteFile(file, b, 0o600); err != nil {
			c.t.Fatal(err)
		}
		c.taskrt(binary, "blob", "put", file)
		sum := sha256.Sum256(b)
		files[hex.EncodeToString(sum[:])] = b
	}
	return files
}

// inspected is what `snapshot inspect` says.
type inspected struct {
	Cluster string
	Index   uint64
	Blobs   int64
}

func (c *cluster) inspect(file string) (h inspected) {
	c.t.Helper()
	out, err := leash.Command(binary, "snapshot", "inspect", file, "-o", "json").CombinedOutput()
	if err := errors.Join(err, json.Unmarshal(out, &h)); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return h
}

// TestBackupAndRestore: a backup is saved under load, while maintenance wants to drop half of its blobs. The cluster goes on, is lost, and the backup
// is restored. The new cluster has every task up to the backup's index and none behind it, the same records, and every blob, those too that
// the former cluster has dropped since. What waited runs. Leases are dead: whoever holds one is halted, also if it was given after the backup
// (SPEC C8).
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--maintenance-every", "0s", "--maintenance-grace", "1ms", "--maintenance-grace-for-tests")
	c.push("wordcount")
	for _, behavior := range []string{"out", "held"} {
		if code, data := c.insist(t.Context(), 0, http.MethodPut, "/v1/behaviors/"+behavior, json.RawMessage(`{"kind":"external"}`)); code/100 != 2 {
			t.Fatalf("%d %s", code, data)
		}
	}
	c.taskrt(binary, "behavior", "pause", "wordcount")
	c.submit(0, map[string]any{"behavior": "wordcount", "id": "waits", "params": map[string]any{"text": "a b a"}})
	needed, unneeded := c.putNoise(10, 2<<20), c.putNoise(11, 2<<20)
	records := map[string]string{}
	for d := range needed {
		id := "needs-" + d[:8]
		c.submit(0, map[string]any{"behavior": "out", "id": id, "delay": "24h", "params": map[string]any{"file": map[string]any{"$blob": "sha256:" + d}}})
		_, data := c.insist(t.Context(), 0, http.MethodGet, "/v1/tasks/"+id, nil)
		records[id] = string(data)
	}
	c.submit(0, map[string]any{"behavior": "held", "id": "held-1"})
	before := c.accept(0)
	acked := submitExternal(c)
	acked.more(50)

	file := filepath.Join(t.TempDir(), "backup.taskrt")
	save := c.command(binary, "snapshot", "save", file, "--rate", "2")
	var said bytes.Buffer
	save.Stdout, save.Stderr = &said, &said
	if err := save.Start(); err != nil {
		t.Fatal(err)
	}
	saved := make(chan error, 1)
	go func() { saved <- save.Wait() }()
	c.eventually("the backup holds blobs, or is there", func() bool {
		_, err := os.Stat(file)
		return err == nil || strings.Contains(c.taskrt(binary, "snapshot", "holds"), "n1")
	})
	run := c.taskrt(binary, "maintenance", "run", "--wait")
	if held := strings.Contains(c.taskrt(binary, "snapshot", "holds"), "n1"); held && !strings.Contains(run+c.taskrt(binary, "maintenance", "info"), "because of a backup that is being saved") {
		t.Errorf("nobody says why the blobs stay: %s", run)
	}
	if err := <-saved; err != nil {
		t.Fatalf("save: %v: %s", err, &said)
	}
	acked.more(50)
	if out, err := leash.Command(binary, "snapshot", "verify", file).CombinedOutput(); err != nil {
		t.Fatalf("verify: %v: %s", err, out)
	}
	had := c.inspect(file)
	c.taskrt(binary, "maintenance", "run", "--wait")
	for d := range unneeded {
		if code, _ := c.insist(t.Context(), 0, http.MethodHead, "/v1/blobs/"+d, nil); code != http.StatusNotFound {
			t.Errorf("after the backup maintenance leaves the blob %s: %d", d, code)
		}
	}
	c.submit(0, map[string]any{"behavior": "held", "id": "held-2"})
	after := c.accept(0)
	for _, p := range c.nodes {
		p.kill9()
	}
	acked.stop()

	p := c.nodes[0]
	if err := os.Rename(filepath.Join(p.dir, "data"), filepath.Join(p.dir, "lost")); err != nil {
		t.Fatal(err)
	}
	out, err := leash.Command(binary, "snapshot", "restore", file, "--dir", filepath.Join(p.dir, "data"), "--id", p.id, "--tokens", "drop", "--log-store", *logStore).CombinedOutput()
	if err != nil {
		t.Fatalf("restore: %v: %s", err, out)
	}
	p.start()
	c.eventually("the new cluster is ready", func() bool {
		code, _ := c.do(t.Context(), 0, http.MethodGet, "/readyz", nil)
		return code == http.StatusOK
	})
	for id, index := range acked.at {
		code, data := c.insist(t.Context(), 0, http.MethodGet, "/v1/tasks/"+id, nil)
		if want := index <= had.Index; want != (code == http.StatusOK) || !want && code != http.StatusNotFound {
			t.Errorf("the backup goes up to entry %d, and of what was acknowledged at %d the new cluster says %d %s", had.Index, index, code, data)
		}
	}
	for id, want := range records {
		if _, data := c.insist(t.Context(), 0, http.MethodGet, "/v1/tasks/"+id, nil); string(data) != want {
			t.Errorf("%s\nwas %s", data, want)
		}
	}
	for _, files := range []map[string][]byte{needed, unneeded} {
		for d, want := range files {
			if code, data := c.insist(t.Context(), 0, http.MethodGet, "/v1/blobs/"+d, nil); code != http.StatusOK || !bytes.Equal(data, want) {
				t.Errorf("blob %s: %d, %d bytes", d, code, len(data))
			}
		}
	}
	c.submit(0, map[string]any{"behavior": "held", "id": "held-2"})
	for _, l := range []lease{before, after} {
		if code, data := c.insist(t.Context(), 0, http.MethodPost, "/v1/tasks/"+l.id+"/finish", map[string]any{"token": l.token, "result": "mine"}); code != http.StatusConflict || !strings.Contains(string(data), "halt") {
			t.Errorf("a worker of the former cluster, token %d: %d %s", l.token, code, data)
		}
	}
	for range 2 {
		l := c.accept(0)
		if l.token <= after.token {
			t.Errorf("token %d again", l.token)
		}
		if code, data := c.insist(t.Context(), 0, http.MethodPost, "/v1/tasks/"+l.id+"/finish", map[string]any{"token": l.token, "result": "whole"}); code != http.StatusOK {
			t.Errorf("%d %s", code, data)
		}
	}
	if code, data := c.insist(t.Context(), 0, http.MethodPost, "/v1/behaviors/wordcount/resume", nil); code/100 != 2 {
		t.Fatalf("%d %s", code, data)
	}
	c.eventually("what waited has run", func() bool {
		_, data := c.do(t.Context(), 0, http.MethodGet, "/v1/tasks/waits?wait=5s", nil)
		return strings.Contains(string(data), `"SUCCESS"`)
	})
	if code, data := c.insist(t.Context(), 0, http.MethodGet, "/v1/cluster", nil); code != http.StatusOK || strings.Contains(string(data), had.Cluster) {
		t.Errorf("the new cluster has the former one's ID %s: %s", had.Cluster, data)
	}
}

// TestSaveOnFullDisk: a backup that does not fit says so, and leaves nothing (SPEC C8).
func TestSaveOnFullDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.putNoise(3, 1<<20)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("SKIPPED, NOT SHOWN: cannot mount a small disk: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(dir, "backup.taskrt")
	out, err := c.command(binary, "snapshot", "save", file).CombinedOutput()
	if fmt.Sprint(err) != "exit status 6" || !strings.Contains(string(out), "no space left on device; nothing of it was left there") {
		t.Errorf("%v: %s", err, out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
	c.eventually("the hold of the failed backup is gone", func() bool { return !strings.Contains(c.taskrt(binary, "snapshot", "holds"), "n1") })
}
