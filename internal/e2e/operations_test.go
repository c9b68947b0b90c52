package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// operation is the part of the record that the tests look at.
type operation struct {
	ID       string          `json:"id"`
	Instance int64           `json:"instance"`
	Status   string          `json:"status"`
	Result   json.RawMessage `json:"result"`
	Error    *problem        `json:"error"`
	Counts   struct {
		Success, Failure int64
	} `json:"counts"`
	Cleanups struct {
		Made, Dropped int64
	} `json:"cleanups"`
	Rev        uint64 `json:"rev"`
	FinishedAt string `json:"finished_at"`
}

func (o *operation) final() bool { return o.Status == "SUCCESS" || o.Status == "FAILURE" }

// start starts an operation and demands that it be accepted.
func (c *cluster) start(node int, body map[string]any) operation {
	c.t.Helper()
	code, data := c.insist(c.t.Context(), node, "POST", "/v1/operations", body)
	if code != http.StatusCreated {
		c.t.Fatalf("start %v: %d %s", body["behavior"], code, data)
	}
	var r struct{ Operation operation }
	if err := json.Unmarshal(data, &r); err != nil {
		c.t.Fatal(err)
	}
	return r.Operation
}

// pause lets no more tasks of a behavior begin, or lets them begin again.
func (c *cluster) pause(behavior string, paused bool) {
	c.t.Helper()
	verb := map[bool]string{true: "pause", false: "resume"}[paused]
	if code, data := c.insist(c.t.Context(), 0, "POST", "/v1/behaviors/"+behavior+"/"+verb, nil); code != http.StatusOK {
		c.t.Fatalf("%s %s: %d %s", verb, behavior, code, data)
	}
}

// excludes demands that an operation may not start now, because another one runs.
func (c *cluster) excludes(node int, body map[string]any, running string) {
	c.t.Helper()
	code, data := c.do(c.t.Context(), node, "POST", "/v1/operations", body)
	if code != http.StatusConflict || !strings.Contains(string(data), running) {
		c.t.Fatalf("start %v beside %s: %d %s", body["behavior"], running, code, data)
	}
}

// operation reads an operation, or waits for something of it, through any node that answers.
func (c *cluster) operation(id, query string) operation {
	c.t.Helper()
	var r struct{ Operation operation }
	c.ask("/v1/operations/"+id+query, &r)
	return r.Operation
}

// ask reads from any node that answers, and goes on asking while none does.
func (c *cluster) ask(path string, into any) {
	c.t.Helper()
	c.eventually("somebody answers "+path, func() bool {
		for i, p := range c.nodes {
			if !p.running() {
				continue
			}
			code, data := c.do(c.t.Context(), i, "GET", path, nil)
			if code == http.StatusNotFound {
				c.t.Fatalf("%s: %s", path, data)
			}
			if code == http.StatusOK && json.Unmarshal(data, into) == nil {
				return true
			}
		}
		return false
	})
}

// ended waits for the end of an operation.
func (c *cluster) ended(id string) operation {
	c.t.Helper()
	var o operation
	for deadline := time.Now().Add(2 * patience); !o.final(); {
		if o = c.operation(id, "?wait=5s"); time.Now().After(deadline) {
			c.t.Fatalf("not final: %+v", o)
		}
	}
	return o
}

// partition is a task of an operation.
type partition struct {
	task
	Partition  string          `json:"partition"`
	Progress   *progress       `json:"progress"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	Bytes      json.RawMessage `json:"checkpoint_base64"`
}

type progress struct{ Done, Total int64 }

func (c *cluster) partitions(id string) []partition {
	c.t.Helper()
	var page struct{ Tasks []partition }
	c.ask("/v1/operations/"+id+"/partitions?limit=1000", &page)
	return page.Tasks
}

// tableRows is less than what shows how long a table takes, and enough for each piece of it: eight files, some checkpoints in each.
var tableRows = flag.Int("table", 240_000, "rows of a table that operations work on (make table ROWS=1000000)")

// TestOperationsOverATable: two indexes of a table are built at the same time, it is validated, and then again with one bad row.
func TestOperationsOverATable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker-slots", "3")
	c.push("build-index", "validate-table")
	rows := fmt.Sprint(*tableRows)
	table := c.tablegen("-rows", rows, "-files", "8")

	c.pause("build-index", true) // neither ends before all starts have been tried
	c.start(0, table.buildIndex("by-city", "city", 2, map[string]any{"checkpoint_rows": 5_000}))
	if o := c.start(1, table.buildIndex("by-customer", "customer", 1, nil)); o.Instance != 2 {
		t.Errorf("instance %d of build-index on the table, want 2", o.Instance)
	}
	c.excludes(2, table.buildIndex("again", "city", 2, nil), "by-city")
	c.excludes(1, table.validate("too-early", "orders"), "by-city")
	c.pause("build-index", false)
	segments := table.checkIndex(c.ended("by-city"), 2)
	table.checkIndex(c.ended("by-customer"), 1)

	// What the index is for: one read of the table's blob gives a row.
	var refs map[string]map[string]string
	if err := json.Unmarshal(table.refs, &refs); err != nil {
		t.Fatal(err)
	}
	const file = "part-004.tsv"
	at := segments[file].Index["京都"][100]
	if row := c.blob(2, refs[file]["$blob"], fmt.Sprintf("bytes=%d-%d", at, at+200)); strings.Split(string(row), "\t")[2] != "京都" {
		t.Errorf("the row at %d of %s is %q", at, file, row)
	}

	c.start(2, table.validate("valid", "orders"))
	if o := c.ended("valid"); o.Status != "SUCCESS" || string(o.Result) != `{"table":"orders","valid":true,"rows":`+rows+`,"bad":[],"unchecked":0}` {
		t.Errorf("%+v %s", o, o.Result)
	}
	bad := c.tablegen("-rows", rows, "-files", "8", "-bad", "part-005.tsv:137")
	c.start(0, bad.validate("invalid", "new orders"))
	o := c.ended("invalid")
	const message = `row 137: cents is no integer: "n/a"`
	if o.Status != "FAILURE" || o.Error.Code != "bad_row" || o.Error.Message != "partition part-005.tsv: "+message {
		t.Errorf("%+v %+v", o, o.Error)
	}
	report := c.get("invalid:complete", "").Result
	var said struct {
		Valid     bool
		Bad       []struct{ File, Message string }
		Unchecked int64
	}
	if err := json.Unmarshal(report, &said); err != nil || said.Valid || len(said.Bad) != 1 || said.Bad[0].File != "part-005.tsv" || said.Bad[0].Message != message {
		t.Errorf("%s: %v", report, err)
	}
	if said.Unchecked == 0 || o.Counts.Success+said.Unchecked != 7 {
		t.Errorf("the other files were read to their ends: %s, %+v", report, o.Counts)
	}
	c.digestsAgree()
}

// TestWordCountOperation is a map over parts that no file's end stops, and a reduce.
func TestWordCountOperation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker-slots", "2")
	c.push("word-count-op")
	files, counts := words(t, 3, 20_000)
	var texts []map[string]string
	for i, file := range files {
		texts = append(texts, map[string]string{"$blob": c.putBlob(i, file)})
	}
	c.start(1, map[string]any{"behavior": "word-count-op", "id": "words", "partitions": 40, "arg": map[string]any{"texts": texts, "parts": 40}})
	o := c.ended("words")
	var got struct {
		Words map[string]int
		Total int
	}
	if err := json.Unmarshal(c.payload(o.Result), &got); err != nil || o.Status != "SUCCESS" {
		t.Fatalf("%+v: %v", o, err)
	}
	want, total := map[string]int{}, 0
	for word, n := range counts {
		want[strings.ToUpper(word)] = n
		total += n
	}
	if !maps.Equal(got.Words, want) || got.Total != total {
		t.Errorf("%d words, %d in all; want %d, %d, or counts differ", len(got.Words), got.Total, len(want), total)
	}
}

// halfway waits for a partition that runs, has saved a checkpoint, and is in the middle, and returns it.
func (c *cluster) halfway(id string) partition {
	c.t.Helper()
	var found partition
	c.eventually("a partition is halfway", func() bool {
		for _, p := range c.partitions(id) {
			saved := len(p.Checkpoint) > 0 || len(p.Bytes) > 0
			if p.Lease != nil && saved && p.Progress != nil && p.Progress.Done > p.Progress.Total/5 && p.Progress.Done < p.Progress.Total*4/5 {
				found = p
				return true
			}
		}
		if o := c.operation(id, ""); o.final() {
			c.t.Fatalf("the operation was over too early: %+v", o)
		}
		return false
	})
	return found
}

// TestBuildIndexGoesOnElsewhere kills a process in the middle of the partitions that it does, a node or one that only works:
// others go on from their checkpoints (SPEC O4, O5).
func TestBuildIndexGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("node", func(t *testing.T) { goOnElsewhere(newCluster(t, "--worker-slots", "2")) })
	t.Run("worker", func(t *testing.T) {
		c := newCluster(t, "--worker", "none")
		for i := range 3 {
			c.addWorker(fmt.Sprint("w", i+1), 2)
		}
		goOnElsewhere(c)
	})
}

func goOnElsewhere(c *cluster) {
	c.t.Helper()
	c.push("build-index")
	table := c.tablegen("-rows", "120000", "-files", "6")
	c.start(0, table.buildIndex("by-customer", "customer", 1, map[string]any{"checkpoint_rows": 1000}))
	at := c.halfway("by-customer")
	victim := c.process(at.Lease.Worker)
	victim.kill9()
	o := c.ended("by-customer")
	segments := table.checkIndex(o, 1)

	interrupted, done, rows := 0, int64(0), int64(0)
	for _, p := range c.partitions("by-customer") {
		s := segments[p.Partition]
		rows += s.Rows
		done += s.Rows // at most, in the first attempt
		if p.Attempt == 1 {
			continue
		}
		interrupted++
		if last := p.History[len(p.History)-1]; last.Outcome != "SUCCESS" || p.History[0].Outcome != "LOST" {
			c.t.Errorf("%s: %+v", p.Partition, p.History)
		}
		from := s.Runs[len(s.Runs)-1].From
		done += s.Rows - from
		if p.Partition == at.Partition && from < s.Rows/10 { // it was seen when it had done a fifth
			c.t.Errorf("%s began anew: %+v of %d rows", p.Partition, s.Runs, s.Rows)
		}
		c.t.Logf("%s: %d rows, attempt %d went on behind row %d", p.Partition, s.Rows, p.Attempt, from)
	}
	c.t.Logf("at most %d rows were read, of a table of %d", done, rows)
	if interrupted == 0 || done >= 2*rows || o.Cleanups.Made+o.Cleanups.Dropped == 0 {
		c.t.Errorf("%d partitions were interrupted, %d rows done of %d, cleanups %+v", interrupted, done, rows, o.Cleanups)
	}
	victim.start()
	c.waitReady()
	c.digestsAgree()
}

// TestBuildIndexCancelled: what ran is told, and where it ran, a cleanup runs (SPEC O3).
func TestBuildIndexCancelled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker-slots", "2")
	c.push("build-index")
	table := c.tablegen("-rows", "120000", "-files", "4")
	c.start(0, table.buildIndex("by-city", "city", 2, map[string]any{"checkpoint_rows": 1000}))
	at := c.halfway("by-city")
	if code, data := c.do(t.Context(), 1, "POST", "/v1/operations/by-city/cancel", nil); code != http.StatusOK {
		t.Fatalf("cancel: %d %s", code, data)
	}
	o := c.ended("by-city")
	if o.Status != "FAILURE" || o.Error.Code != "CANCELLED" || o.Result != nil && string(o.Result) != "null" || o.Cleanups.Made == 0 || o.Cleanups.Dropped != 0 {
		t.Fatalf("%+v %+v", o, o.Error)
	}
	cleanups := 0
	var page struct{ Tasks []task }
	c.ask("/v1/tasks?behavior=build-index-cleanup&limit=100", &page)
	for _, p := range page.Tasks {
		got := c.final(p.ID)
		var said struct {
			File  string
			Token uint64
		}
		if err := json.Unmarshal(got.Result, &said); err != nil || got.Status != "SUCCESS" {
			t.Errorf("%+v: %v", got, err)
		}
		if said.File == at.Partition && (got.History[0].Worker != at.Lease.Worker || said.Token != at.Lease.Token) {
			t.Errorf("%s ran on %s under token %d, its cleanup says %+v and ran on %s", at.Partition, at.Lease.Worker, at.Lease.Token, said, got.History[0].Worker)
		}
		cleanups++
	}
	if int64(cleanups) != o.Cleanups.Made {
		t.Errorf("%d cleanups, %+v", cleanups, o.Cleanups)
	}
	// It can be built again.
	c.start(2, table.buildIndex("anew", "city", 2, nil))
	table.checkIndex(c.ended("anew"), 2)
}

// naps makes operations of naps: their partitions, and the completion, sleep for the milliseconds that stand in the
// operation's ID.
func (c *cluster) naps() {
	c.t.Helper()
	c.pushAs("wait", `{"schema":1,"behaviors":[{"name":"nap","operation":{"complete":"nap-done"}},{"name":"nap-done"}]}`)
}

// oneEnd demands that every node tells the same end of an operation, and that its completion has succeeded once.
func (c *cluster) oneEnd(id string, partitions int64) {
	c.t.Helper()
	o := c.ended(id)
	if o.Status != "SUCCESS" || o.Counts.Success != partitions {
		c.t.Fatalf("%+v", o)
	}
	for i := range c.nodes {
		code, data := c.do(c.t.Context(), i, "GET", "/v1/operations/"+id, nil)
		var r struct{ Operation operation }
		if err := json.Unmarshal(data, &r); code != http.StatusOK || err != nil || !reflect.DeepEqual(r.Operation, o) {
			c.t.Errorf("%s says %d %s; another one %+v", c.nodes[i].id, code, data, o)
		}
	}
	ends := 0
	completion := c.get(id+":complete", "")
	for _, h := range completion.History {
		if h.Outcome == "SUCCESS" {
			ends++
		}
	}
	if !completion.Final || ends != 1 {
		c.t.Errorf("%s: the completion %+v", id, completion)
	}
}

// TestLeaderDiesAtTheEndOfAnOperation kills the leader after the last partition and before the completion, in the middle of the
// completion, and, again and again, somewhere between the two and the commit (SPEC O3, O4).
func TestLeaderDiesAtTheEndOfAnOperation(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.naps()
	again := func(victim *process) {
		victim.kill9()
		victim.start()
		c.waitReady()
	}

	if code, data := c.do(t.Context(), 0, "POST", "/v1/behaviors/nap-done/pause", nil); code != http.StatusOK {
		t.Fatalf("pause: %d %s", code, data)
	}
	c.start(1, map[string]any{"behavior": "nap", "id": "held-100", "partitions": 6})
	if o := c.operation("held-100", "?wait=60s&until=completing"); o.Status != "COMPLETING" || o.Counts.Success != 6 {
		t.Fatalf("%+v", o)
	}
	again(c.nodes[c.leader()])
	if o := c.operation("held-100", ""); o.Status != "COMPLETING" || o.Counts.Success != 6 {
		t.Fatalf("%+v", o)
	}
	if code, data := c.do(t.Context(), 0, "POST", "/v1/behaviors/nap-done/resume", nil); code != http.StatusOK {
		t.Fatalf("resume: %d %s", code, data)
	}
	c.oneEnd("held-100", 6)

	c.start(2, map[string]any{"behavior": "nap", "id": "long-3000", "partitions": 2})
	c.operation("long-3000", "?wait=60s&until=completing")
	c.runningOn("long-3000:complete")
	again(c.nodes[c.leader()])
	c.oneEnd("long-3000", 2)

	for round, ms := range []int{0, 5, 20, 50, 60} {
		id := fmt.Sprintf("end-50-%c", 'a'+round)
		leader := c.nodes[c.leader()]
		c.start(0, map[string]any{"behavior": "nap", "id": id, "partitions": 3})
		c.operation(id, "?wait=60s&until=completing")
		<-time.After(time.Duration(ms) * time.Millisecond)
		again(leader)
		c.oneEnd(id, 3)
	}
	c.digestsAgree()
}

// TestOperationWaitsForWorkers lets an operation be without workers before its partitions run, in the middle of them, and in the
// middle of its completion (SPEC O4).
func TestOperationWaitsForWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none")
	c.naps()
	c.start(0, map[string]any{"behavior": "nap", "id": "nap-2000", "partitions": 4})
	w := c.addWorker("w1", 4)
	c.runningOn("nap-2000:3")
	w.kill9()
	if o := c.operation("nap-2000", ""); o.Status != "RUNNING" || o.Counts.Success+o.Counts.Failure != 0 {
		t.Fatalf("%+v", o)
	}
	w.start()
	c.operation("nap-2000", "?wait=60s&until=completing")
	c.runningOn("nap-2000:complete")
	w.kill9()
	if o := c.operation("nap-2000", "?wait=3s"); o.Status != "COMPLETING" || o.Counts.Success != 4 {
		t.Fatalf("%+v", o)
	}
	c.addWorker("w2", 4)
	c.oneEnd("nap-2000", 4)
	if got := c.get("nap-2000:complete", ""); got.Attempt != 2 || got.History[1].Worker != "w2" {
		t.Errorf("%+v", got)
	}
}

// TestLateWorkerOfAnOperation: a worker that stood still past its session finds its guest dead and its reports refused; the
// operation has what the others did (SPEC L3, L5).
func TestLateWorkerOfAnOperation(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker", "none", "--session-ttl", "3s")
	c.naps()
	c.addWorker("w1", 4)
	c.start(0, map[string]any{"behavior": "nap", "id": "nap-9000", "partitions": 3})
	for i := range 3 {
		c.runningOn(fmt.Sprint("nap-9000:", i))
	}
	late := c.process("w1")
	c.stopped = true
	late.signal(syscall.SIGSTOP)
	c.addWorker("w2", 4)
	for i := range 3 {
		c.eventually("the other worker has the partition", func() bool {
			got := c.get(fmt.Sprint("nap-9000:", i), "")
			return got.Lease != nil && got.Lease.Worker == "w2"
		})
	}
	late.signal(syscall.SIGCONT)
	c.eventually("the late worker stopped its guests itself", func() bool {
		return strings.Contains(late.log(), "session over") && strings.Contains(late.log(), "stopped=3")
	})
	c.oneEnd("nap-9000", 3)
	for _, p := range c.partitions("nap-9000") {
		if first := p.History[0]; p.Attempt < 2 || first.Outcome != "LOST" || first.Worker != "w1" {
			t.Errorf("%s: %+v", p.Partition, p.History)
		}
	}
}

// TestOperationsThroughDeaths runs many small operations while nodes die one after the other: each has one end, and the right
// one.
func TestOperationsThroughDeaths(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--worker-slots", "2")
	c.push("word-count-op")
	const n = 12
	body := func(i int) map[string]any {
		text := strings.Repeat("even odd ", 1+i)
		return map[string]any{
			"behavior": "word-count-op", "id": "count-" + strconv.Itoa(i), "target": strconv.Itoa(i % 3), "partitions": 20,
			"arg": map[string]any{"texts": []string{text, text}, "parts": 20},
		}
	}
	for i := range n {
		c.start(i%3, body(i))
		if i%4 == 3 {
			victim := c.nodes[c.leader()]
			victim.kill9()
			victim.start()
			c.waitReady()
		}
	}
	instances := map[int64]int{}
	for i := range n {
		want := fmt.Sprintf(`{"words":{"even":%[1]d,"odd":%[1]d},"total":%[2]d}`, 2*(1+i), 4*(1+i))
		o := c.ended("count-" + strconv.Itoa(i))
		if o.Status != "SUCCESS" || string(o.Result) != want || o.Counts.Success != 20 {
			t.Errorf("%+v %s, want %s", o, o.Result, want)
		}
		instances[o.Instance]++
	}
	if want := map[int64]int{1: 3, 2: 3, 3: 3, 4: 3}; !maps.Equal(instances, want) {
		t.Errorf("instances of three targets: %v", instances)
	}
	c.digestsAgree()
}
