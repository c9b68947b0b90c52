package clustertest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/blob"
)

// programFile reads a file of testdata/wasm/programs.
func programFile(t *testing.T, name string) []byte {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no source path")
	}
	b, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "..", "testdata", "wasm", "programs", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCommands: programs that know nothing of taskrt run on every node. They come from bytes or from blobs, run in
// several tasks at once, and run as often as their exit code asks for (SPEC B5).
func TestCommands(t *testing.T) {
	if raceDetector {
		t.Skip("compiling sqlite takes too long under the race detector")
	}
	Run(t, 3, Options{Slots: 2, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		c.PushWasm(0, "lua", programFile(t, "lua.wasm"), nil)
		c.PushWasm(1, "sqlite", programFile(t, "sqlite.wasm"), nil)
		c.WorkersReady(3)
		sql, rows := programFile(t, "sqlite/input.sql"), programFile(t, "sqlite/output.txt")
		c.putBlob(2, sql)
		var shops, scripts []string
		for i := range 6 {
			shops = append(shops, c.SubmitRequest(i%3, api.SubmitRequest{Behavior: "sqlite", Params: api.BlobRef(blob.Digest(sql))}).Task.ID)
			scripts = append(scripts, c.SubmitRequest(i%3, api.SubmitRequest{Behavior: "lua", ParamsBase64: programFile(t, "lua/input.lua")}).Task.ID)
		}
		for i := range shops {
			if done := c.Final(i%3, shops[i]); string(done.ResultBase64) != string(rows) {
				t.Errorf("%s", Show(done))
			}
			if done := c.Final(i%3, scripts[i]); string(done.ResultBase64) != string(programFile(t, "lua/output.txt")) {
				t.Errorf("%s", Show(done))
			}
		}
		who := c.SubmitRequest(0, api.SubmitRequest{Behavior: "lua", ID: "who", ParamsBase64: []byte(
			`local e = os.getenv; print(('{"id":%q,"attempt":%d,"node":%q,"token":%d}'):format(e"TASKRT_TASK_ID", e"TASKRT_ATTEMPT", e"TASKRT_NODE", e"TASKRT_TOKEN"))`)}).Task.ID
		done := c.Final(1, who)
		if !strings.HasPrefix(string(done.Result), `{"id":"who","attempt":1,"node":"n`) {
			t.Errorf("%s", Show(done))
		}
	})
}

// TestCommandLeases: a command keeps its lease, and heartbeat_timeout does not end it, while it uses fuel. A command
// that only waits is ended. A worker's death makes another attempt, which the program can see (SPEC B5, L7).
func TestCommandLeases(t *testing.T) {
	Run(t, 3, Options{NoWorkers: true, SessionTTL: ttl}, func(t *testing.T, c *Cluster) {
		wasm, _, err := Guest("command")
		if err != nil {
			t.Fatal(err)
		}
		c.PushWasm(0, "", wasm, []byte(`{"behaviors":[{"name":"beats","heartbeat_timeout":"50ms","on_timeout":"fail"}]}`))
		c.PushWasm(0, "", wasm, []byte(`{"behaviors":[{"name":"retries","retry":{"max_attempts":4,"initial_interval":"1s"}}]}`))
		w1 := c.AddWorker("w1", 4)
		c.WorkersReady(1)
		submit := func(behavior, params string) string {
			return c.SubmitRequest(0, api.SubmitRequest{Behavior: behavior, ParamsBase64: []byte(params)}).Task.ID
		}
		if done := c.Final(0, submit("beats", "r")); done.Status != "SUCCESS" {
			t.Errorf("one that computes: %s", Show(done))
		}
		if done := c.Final(1, submit("beats", "s")); done.Status != "FAILURE" || done.Error.Code != "TIMEOUT" {
			t.Errorf("one that waits: %s", Show(done))
		}
		begin := time.Now()
		if done := c.Final(2, submit("retries", "x75")); len(done.History) != 4 || done.Error.Code != "HANDLER_ERROR" ||
			!strings.HasPrefix(done.Error.Message, "exit code 75: a first line\nlast words") || time.Since(begin) < 6*time.Second {
			t.Errorf("exit code 75, after %v: %s", time.Since(begin), Show(done))
		}
		if done := c.Final(2, submit("retries", "x1")); len(done.History) != 1 || done.Error.Code != "HANDLER_ERROR" {
			t.Errorf("exit code 1: %s", Show(done))
		}
		long := submit("retries", "s") // it sleeps for a minute
		c.Executing(long)
		w1.Kill()
		c.AddWorker("w2", 4)
		if done := c.Final(0, long); done.Status != "SUCCESS" || len(done.History) != 2 {
			t.Errorf("after its worker's death: %s", Show(done))
		}
	})
}
