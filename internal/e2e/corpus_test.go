package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/internal/corpus/corpustest"
	"github.com/taskrt/taskrt/internal/leash"
)

// heritage is a server of this build on a directory of the corpus.
type heritage struct {
	*cluster
	d   *corpus.Directory
	dir string
}

// TestFormerVersions: servers of this build start on the directories that released versions left, at each feature level and with each format of
// the log. All that was there is there: they export the same, byte for byte, tokens hold or do not, and what was under way goes on. What was
// exported is imported, and each record comes back. Then the version itself goes on with all of it: no level was raised (SPEC C9).
func TestFormerVersions(t *testing.T) {
	t.Parallel()
	eachFormer(t, func(t *testing.T, h *heritage, commit string) {
		h.works()
		h.goesBack(buildFormer(t, commit))
		h.restoresBackups(t)
	})
}

// TestCorpusOfThisTree: what a release does once is done with this tree. Its corpus has each command of the log, and all of it is read as that of a
// released version: logs, snapshots, directories, exports, backups (SPEC C9).
func TestCorpusOfThisTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	maker := filepath.Join(dir, "make")
	version, err := os.ReadFile(filepath.Join("..", "..", "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	now := strings.TrimSpace(string(version))
	for _, step := range [][]string{
		{"go", "build", "-o", maker, "github.com/taskrt/taskrt/internal/corpus/make"},
		{maker, "-version", now, "-exe", binary, "-root", filepath.Join("..", ".."), "-out", dir},
	} {
		if out, err := leash.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", step, err, out)
		}
	}
	v, err := corpus.Read(os.DirFS(filepath.Join(dir, now)))
	if err != nil {
		t.Fatal(err)
	}
	corpustest.Check(t, &v, filepath.Join("..", ".."))
	for _, d := range v.Directories {
		t.Run("server on "+d.Name, func(t *testing.T) {
			t.Parallel()
			h := inherit(t, &d)
			h.works()
			h.restoresBackups(t)
		})
	}
}

// works starts a server on the directory, first so that nothing changes by itself, and then so that all goes on.
func (h *heritage) works() {
	h.t.Helper()
	p := h.nodes[0]
	args := h.startsAtRest(p)
	if h.d.Secured() {
		h.knowsItsTokens()
	}
	h.importsAgain()
	p.terminate()
	p.args = append(slices.Clip(args), "--hold-feature-level")
	p.start()
	h.waitReady()
	h.goesOn()
}

// startsAtRest starts a server on the directory so that nothing changes by itself, and finds all that the former one left. It returns the arguments
// with which all goes on.
func (h *heritage) startsAtRest(p *process) (args []string) {
	h.t.Helper()
	args = p.args
	p.args = append(slices.Clip(args), "--worker", "none", "--hold-feature-level")
	p.start()
	h.waitReady()
	h.isAsItWas()
	h.exportsTheSame()
	return args
}

// TestToolsOnFormerVersions: the commands for a stopped node's directory take those of released versions. A log is converted to the other format,
// and nothing else changes. A new cluster is founded of the directory, with all of its records, and the leases of the former one hold no longer
// (SPEC C2, C9).
func TestToolsOnFormerVersions(t *testing.T) {
	t.Parallel()
	eachFormer(t, func(t *testing.T, h *heritage, commit string) {
		p := h.nodes[0]
		to := map[string]string{"bolt": "wal", "wal": "bolt"}[h.d.Store]
		h.offline("cluster", "migrate-log", "--to", to)
		p.args[slices.Index(p.args, h.d.Store)] = to
		args := h.startsAtRest(p)
		held := h.task("held-1").Lease
		if held == nil {
			t.Fatal("held-1 has no lease")
		}
		p.terminate()
		h.offline("cluster", "recover", "--cluster", h.d.Cluster)
		p.args = args
		p.start()
		h.waitReady()
		if code, data := h.insist(t.Context(), 0, http.MethodPost, "/v1/tasks/held-1/finish", map[string]any{"token": held.Token, "result": 1}); code != http.StatusConflict {
			t.Errorf("by a lease of the former cluster: %d %s", code, data)
		}
		if resp, err := h.http.Get(h.url(p) + "/v1/cluster"); err != nil || resp.Header.Get("Taskrt-Cluster") == h.d.Cluster {
			t.Errorf("it is the former cluster, or %v", err)
		} else {
			resp.Body.Close()
		}
		h.eventually("what ran runs again", func() bool { got := h.task("runs"); return got.Status == "RUNNING" && got.Attempt > 1 })
		if got := h.task("done"); got.Status != "SUCCESS" {
			t.Errorf("what was done is %+v", got)
		}
		h.taskrt(binary, "submit", "echo", "--id", "new", "--wait")
	})
}

// eachFormer runs a test on each directory of each released version, side by side. commit is that of the version.
func eachFormer(t *testing.T, f func(t *testing.T, h *heritage, commit string)) {
	t.Helper()
	all, err := corpus.Versions()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d versions, %v", len(all), err)
	}
	for _, v := range all {
		for _, d := range v.Directories {
			t.Run(d.String(), func(t *testing.T) {
				t.Parallel()
				f(t, inherit(t, &d), v.Commit)
			})
		}
	}
}

// offline runs a command on the directory of the server, which does not run.
func (h *heritage) offline(args ...string) {
	h.t.Helper()
	h.local(append(args, "--dir", filepath.Join(h.dir, corpus.DataDir))...)
}

// local runs a command that needs no server.
func (h *heritage) local(args ...string) {
	h.t.Helper()
	if out, err := leash.Command(binary, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("taskrt %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// inherit unpacks a directory.
func inherit(t *testing.T, d *corpus.Directory) *heritage {
	t.Helper()
	dir := t.TempDir()
	if err := d.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	h := inheritor(t, d, dir)
	p := h.nodes[0]
	p.args = append(p.args, "--log-store", d.Store, "--session-ttl", "10m", "--worker-slots", "8", "--maintenance-every", "0s")
	p.shareCode()
	if _, err := os.Stat(filepath.Join(dir, corpus.RaftDir, "lock.of")); err == nil {
		h.offline("cluster", "moved") // what was unpacked is a copy
	}
	return h
}

// inheritor is a server of this build in a directory with the unpacked secrets of d.
func inheritor(t *testing.T, d *corpus.Directory, dir string) *heritage {
	t.Helper()
	h := &heritage{single(t, "", dir), d, dir}
	p := h.nodes[0]
	if h.d.Secured() {
		secret := filepath.Join(dir, corpus.SecretFile)
		p.args = append(p.args, "--cluster-secret", secret)
		h.trust(authorities(t, secret))
		h.prove(rootToken(t, secret))
	}
	return h
}

// isAsItWas looks at the cluster, its level and some records.
func (h *heritage) isAsItWas() {
	h.t.Helper()
	resp, err := h.http.Get(h.url(h.nodes[0]) + "/v1/cluster")
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	var st struct {
		Level struct {
			Level, Known uint64
		} `json:"feature_level"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil || st.Level.Level != h.d.Level || st.Level.Known < h.d.Level {
		h.t.Errorf("the level is %+v, %v", st, err)
	}
	if id := resp.Header.Get("Taskrt-Cluster"); id != h.d.Cluster {
		h.t.Errorf("it is the cluster %s, not %s", id, h.d.Cluster)
	}
	for id, status := range map[string]string{
		"done": "SUCCESS", "later": "CREATED", "cancelled": "FAILURE", "trapped": "FAILURE", "ext-done": "SUCCESS", "ext-failed": "FAILURE", "child-1": "SUCCESS",
		"child-2": "CREATED", "runs": "RUNNING", "survives": "RUNNING", "held-1": "RUNNING", "held-2": "RUNNING", "held-3": "CREATED",
	} {
		if got := h.task(id); got.Status != status {
			h.t.Errorf("%s is %s, want %s", id, got.Status, status)
		}
	}
	if out := h.taskrt(binary, "logs", "checkpoints"); !strings.Contains(out, "step") {
		h.t.Errorf("the logs of an attempt are %q", out)
	}
	if code, _ := h.do(h.t.Context(), 0, http.MethodGet, "/v1/tasks/removed", nil); code != http.StatusNotFound {
		h.t.Errorf("a removed task: %d", code)
	}
}

// task reads a task of the namespace default.
func (h *heritage) task(id string) (got task) {
	h.t.Helper()
	code, data := h.insist(h.t.Context(), 0, http.MethodGet, "/v1/tasks/"+id, nil)
	answer := struct{ Task *task }{&got}
	if err := json.Unmarshal(data, &answer); err != nil || code != http.StatusOK {
		h.t.Fatalf("%s: %d, %s, %v", id, code, data, err)
	}
	return got
}

// behind cuts the first line, which says when a namespace was exported.
func behind(export string) string {
	_, rest, _ := strings.Cut(export, "\n")
	return rest
}

// exportsTheSame: the exports are those of the version itself.
func (h *heritage) exportsTheSame() {
	h.t.Helper()
	for _, e := range h.d.Exports {
		want, err := h.d.Export(e)
		if err != nil {
			h.t.Fatal(err)
		}
		if got := h.taskrt(binary, "namespace", "export", e.Namespace); behind(got) != behind(string(want)) {
			h.t.Errorf("%s is exported as\n%s\nand was exported as\n%s", e.Namespace, clipped(got), clipped(string(want)))
		}
	}
}

func clipped(text string) string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, line[:min(len(line), 400)])
	}
	return strings.Join(out, "\n")
}

// knowsItsTokens: tokens hold, and give what they gave; those that were revoked, replaced or expired do not.
func (h *heritage) knowsItsTokens() {
	h.t.Helper()
	root := *h.token.Load()
	defer h.prove(root)
	for _, x := range []struct {
		token, path string
		code        int
	}{
		{"reader", "/v1/tasks?namespace=shop", 200},
		{"reader", "/v1/tasks", 404},
		{"ci", "/v1/tasks/by-ci", 200},
		{"ci", "/v1/audit", 403},
		{"new", "/v1/audit", 200},
		{"second", "/v1/self", 200},
		{"revoked", "/v1/self", 401},
		{"short", "/v1/self", 401},
	} {
		text, err := os.ReadFile(filepath.Join(h.dir, corpus.TokensDir, x.token+".token"))
		if err != nil {
			h.t.Fatal(err)
		}
		h.prove(strings.TrimSpace(string(text)))
		if code, data := h.do(h.t.Context(), 0, http.MethodGet, x.path, nil); code != x.code {
			h.t.Errorf("%s by the token %s: %d, want %d: %s", x.path, x.token, code, x.code, data)
		}
	}
	h.prove(root)
	if out := h.taskrt(binary, "oidc", "list"); !strings.Contains(out, "work") {
		h.t.Errorf("the issuers: %s", out)
	}
}

// importsAgain imports each export of the version into a new namespace, and exports the namespace: every record is there.
func (h *heritage) importsAgain() {
	h.t.Helper()
	for _, e := range h.d.Exports {
		text, err := h.d.Export(e)
		if err != nil {
			h.t.Fatal(err)
		}
		file := filepath.Join(h.dir, e.Namespace+".jsonl")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			h.t.Fatal(err)
		}
		h.taskrt(binary, "namespace", "import", "again-"+e.Namespace, file)
		h.sameRecords(e.Namespace, h.taskrt(binary, "namespace", "export", "again-"+e.Namespace), string(text))
		h.taskrt(binary, "namespace", "deactivate", "again-"+e.Namespace) // the executions of these tasks would count as those of the original ones
	}
}

// sameRecords compares two exports, record by record.
func (h *heritage) sameRecords(namespace, got, want string) {
	h.t.Helper()
	ran := map[string]bool{}
	before := recordsOf(h.t, want, ran)
	after := recordsOf(h.t, got, ran)
	if len(before) < 7 {
		h.t.Errorf("the export of %s has %d records", namespace, len(before))
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if after[key] != before[key] {
			h.t.Errorf("%s of %s came back as\n%s\nand was\n%s", key, namespace, after[key], before[key])
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			h.t.Errorf("%s of %s was not exported", key, namespace)
		}
	}
}

// restoresBackups verifies each backup, restores it, and starts a server on it: every record is there. The backups were made just before the
// exports.
func (h *heritage) restoresBackups(t *testing.T) {
	t.Helper()
	for _, b := range h.d.Backups {
		x := inherit(t, h.d)
		from := []string{filepath.Join(x.dir, filepath.FromSlash(b.Place))}
		if b.Target {
			from = append(from, "--cluster", h.d.Cluster)
		}
		if b.Sealed {
			from = append(from, "--identity", filepath.Join(x.dir, corpus.IdentityFile))
		}
		h.local(append([]string{"snapshot", "verify"}, from...)...)
		if err := os.RemoveAll(filepath.Join(x.dir, corpus.DataDir)); err != nil {
			t.Fatal(err)
		}
		x.offline(append([]string{"snapshot", "restore", "--id", "n1", "--tokens", "keep", "--log-store", h.d.Store}, from...)...)
		p := x.nodes[0]
		p.shareCode()
		p.args = append(p.args, "--worker", "none")
		p.start()
		x.waitReady()
		x.knowsItsTokens()
		for _, e := range h.d.Exports {
			want, err := h.d.Export(e)
			if err != nil {
				t.Fatal(err)
			}
			x.sameRecords(e.Namespace, x.taskrt(binary, "namespace", "export", e.Namespace), string(want))
		}
		x.largePayload()
		p.terminate()
	}
}

// recordsOf reads the records of an export by kind and name, without what belongs to the cluster and the namespace (docs/namespaces.md). A task
// that ran becomes due when it is imported: ran holds those tasks, and is added to.
func recordsOf(t testing.TB, export string, ran map[string]bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(export) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		for kind, value := range one {
			record, ok := value.(map[string]any)
			if !ok {
				all[kind+" "+fmt.Sprint(value)] += "is there" // a blob
				continue
			}
			if kind == "header" || kind == "end" || kind == "bytes" || record["deleted"] == true {
				continue
			}
			name := fmt.Sprint(kind, " ", record["id"], record["name"], record["digest"])
			for _, field := range []string{"namespace", "rev", "created_rev", "creator", "ended"} {
				delete(record, field)
			}
			if kind == "record" {
				name = fmt.Sprint(kind, " ", record["group"], record["data"])
				delete(record, "id")
			}
			if ran[name] = ran[name] || record["status"] == "RUNNING"; ran[name] && kind == "task" {
				record["status"] = "CREATED"
				delete(record, "lease")
				delete(record, "not_before")
				withoutLosses(record)
			}
			said, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			all[name] += string(said)
		}
	}
	return all
}

// withoutLosses takes the runs that were lost out of a task.
func withoutLosses(record map[string]any) {
	delete(record, "lost_count")
	history, _ := record["history"].([]any)
	if history = slices.DeleteFunc(history, func(x any) bool { return x.(map[string]any)["outcome"] == "LOST" }); len(history) == 0 {
		delete(record, "history")
		return
	}
	record["history"] = history
}

// goesOn: what ran runs again, leases of external workers hold, and all kinds of work go on.
func (h *heritage) goesOn() {
	h.t.Helper()
	for _, id := range []string{"runs", "survives"} {
		h.eventually(id+" runs again", func() bool { got := h.task(id); return got.Status == "RUNNING" && got.Attempt > 1 })
		h.taskrt(binary, "cancel", id)
		h.eventually(id+" is cancelled", func() bool { got := h.task(id); return got.Final && got.Error != nil && got.Error.Code == "CANCELLED" })
	}
	for _, id := range []string{"held-1", "held-2"} {
		lease := h.task(id).Lease
		if lease == nil {
			h.t.Fatalf("%s has no lease", id)
		}
		if code, data := h.insist(h.t.Context(), 0, http.MethodPost, "/v1/tasks/"+id+"/finish", map[string]any{"token": lease.Token, "result": id}); code != http.StatusOK {
			h.t.Errorf("%s: %d %s", id, code, data)
		}
	}
	if out := h.taskrt(binary, "submit", "echo", "--id", "new", "--params", `"new"`, "--wait"); out != "\"new\"\n" {
		h.t.Errorf("a new task: %q", out)
	}
	h.taskrt(binary, "op", "start", "count", "--id", "op-new", "--target", "t4", "--partitions", "3", "--wait")
	h.taskrt(binary, "resubmit", "checkpoints")
	h.taskrt(binary, "wait", "checkpoints")
	h.largePayload()
	h.taskrt(binary, "ns", "activate", "copy")
	h.taskrt(binary, "maintenance", "run", "--wait") // at last: what has ended is old by now, and goes
}

// largePayload: the params of a task that are a blob are there.
func (h *heritage) largePayload() {
	h.t.Helper()
	var large struct {
		Task struct {
			Params struct {
				Blob string `json:"$blob"`
			}
		}
	}
	if err := json.Unmarshal([]byte(h.taskrt(binary, "get", "large", "-o", "json")), &large); err != nil {
		h.t.Fatal(err)
	}
	if out := h.taskrt(binary, "blob", "get", large.Task.Params.Blob); len(out) < 70_000 {
		h.t.Errorf("a large payload has %d bytes", len(out))
	}
}

// goesBack: the version that left the directory takes it back, with what this build has done.
func (h *heritage) goesBack(former string) {
	h.t.Helper()
	p := h.nodes[0]
	p.terminate()
	p.exe = former
	p.start()
	h.waitReady()
	if got := h.task("new"); got.Status != "SUCCESS" || string(got.Result) != `"new"` {
		h.t.Errorf("what this build has done is %+v", got)
	}
	if out := h.taskrt(former, "submit", "echo", "--id", "newer", "--params", "2", "--wait"); out != "2\n" {
		h.t.Errorf("a task of the former version: %q", out)
	}
}
