package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/internal/ctool"
	"github.com/taskrt/taskrt/plugins/plugintest"
	"github.com/taskrt/taskrt/runtime"
)

// TestCFeatures runs what the conformance guest does not show of the C SDK.
func TestCFeatures(t *testing.T) {
	m := plugintest.New(t, plugintest.Config{Wasm: ctool.Build(t, "c/tests/features.c")})
	t.Run("task", func(t *testing.T) {
		h := &plugintest.Host{Info: abi.TaskInfo{
			Namespace: "other", ID: "a \"task\" é", Attempt: 2, Failures: 1, Token: 1 << 60, Parent: "op-1", Partition: "p", DeadlineMS: 1795262400000,
			Labels: map[string]string{"team": "a"}, Worker: "w1", Priority: 7,
		}}
		m.Run(t, "task", h).WantResult(t, `{"namespace":"other","id":"a \"task\" é","behavior":"task","attempt":3,"failures":1,"token":1152921504606846977,"parent":"op-1",
			"partition":"p","deadline_ms":1795262400000,"labels":{"team":"a"},"worker":"w1","priority":7}`)
		m.Run(t, "task", &plugintest.Host{Info: abi.TaskInfo{ID: "b"}}).WantResult(t, `{"namespace":"default","id":"b","behavior":"task","attempt":1,"failures":0,"token":1,"parent":"",
			"partition":"","deadline_ms":0,"labels":null,"worker":"","priority":0}`)
	})
	t.Run("operation", func(t *testing.T) { testCOperation(t, m) })
	t.Run("partitions", func(t *testing.T) { testCPartitions(t, m) })
	t.Run("blob", func(t *testing.T) {
		h := &plugintest.Host{}
		content := bytes.Repeat([]byte{1, 2, 3, 250}, 1<<20)
		h.Params = fmt.Appendf(nil, `{"file":{"$blob":%q}}`, h.AddBlob(content))
		m.Run(t, "blob", h).WantResult(t, fmt.Sprintf("[%d,%d,250]", len(content), 256<<20))
		missing := &plugintest.Host{Params: []byte(`{"file":1}`)}
		m.Run(t, "blob", missing).WantError(t, "bad_params", false)
	})
	t.Run("error", func(t *testing.T) { testCErrors(t, m) })
	t.Run("memory", func(t *testing.T) {
		r := m.Run(t, "memory", &plugintest.Host{Params: []byte(`1`)})
		r.WantResult(t, `"ok"`)
		if r.PeakMemory > 6<<16 {
			t.Errorf("%d bytes", r.PeakMemory)
		}
		m.Run(t, "memory", &plugintest.Host{Params: []byte(`1024`)}).WantError(t, "OUT_OF_MEMORY", false)
		m.Run(t, "memory", &plugintest.Host{Params: []byte(`4194303`)}).WantError(t, "OUT_OF_MEMORY", false)
		long := m.Run(t, "memory", &plugintest.Host{Params: []byte(`"` + strings.Repeat("x", 100) + `"`)})
		long.WantError(t, "bad_params", false)
		if !strings.Contains(long.Message, "do not fit") {
			t.Error(long)
		}
	})
	t.Run("format", func(t *testing.T) {
		r := m.Run(t, "format", &plugintest.Host{})
		const want = "-1 2 ff -3 4 -9223372036854775808 18446744073709551615 5 -6 c ab s % 0.1 -1e+300 4.94065645841247e-324 1e+21 123456"
		if string(r.Result) != want {
			t.Errorf("got %s\nwant %s", r.Result, want)
		}
	})
	m.Run(t, "not-finite", &plugintest.Host{}).WantError(t, "bad_result", false)
	m.Run(t, "stack", &plugintest.Host{Params: make([]byte, 40)}).WantResult(t, "40")
	m.Run(t, "stack", &plugintest.Host{Params: make([]byte, 100)}).WantError(t, runtime.CodeTrap, true)
	m.Run(t, "none", &plugintest.Host{}).WantError(t, "unknown_behavior", false)
	t.Run("spans", func(t *testing.T) { guestSpans(t, m) })
}

func testCOperation(t *testing.T, m *plugintest.Module) {
	for name, c := range map[string]struct{ behavior, params, want string }{
		"partition": {
			"part", `{"operation":"op-1","target":"t","object":"o","partition":"a-f","arg":{"deep":[[1]]}}`,
			`{"operation":"op-1","target":"t","object":"o","partition":"a-f","token":0,"success":false,"succeeded":0,"failed":0,"arg":{"deep":[[1]]}}`,
		},
		"cleanup": {
			"cleanup", `{"operation":"op-1","target":"t","object":"o","partition":"a-f","token":8812,"arg":null}`,
			`{"operation":"op-1","target":"t","object":"o","partition":"a-f","token":8812,"success":false,"succeeded":0,"failed":0,"arg":null}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m.Run(t, c.behavior, &plugintest.Host{Params: []byte(c.params)}).WantResult(t, c.want)
		})
	}
	r := m.Run(t, "part", &plugintest.Host{Params: []byte(`{"arg":1}`)})
	r.WantError(t, "bad_params", false)
	if !strings.Contains(r.Message, `"operation" is missing`) {
		t.Error(r)
	}
}

func testCPartitions(t *testing.T, m *plugintest.Module) {
	h := &plugintest.Host{Partitions: []plugintest.Partition{
		{Partition: "a \u00e9", Status: "SUCCESS", Result: json.RawMessage(`{"n":[1,"]"]}`)},
		{Partition: "b", Status: "SUCCESS", ResultBase64: []byte("\xff\x00bytes")},
		{Partition: "c", Status: "SUCCESS", Blob: "sha256:00"},
		{Partition: "d", Status: "FAILURE", Error: &plugintest.PartitionError{Code: "bad_row", Message: "row 7", Retryable: true}},
	}}
	large := json.RawMessage(`"` + strings.Repeat("x", 998) + `"`)
	for i := range 5000 { // 5 pages
		h.Partitions = append(h.Partitions, plugintest.Partition{Partition: fmt.Sprint(i), Status: "SUCCESS", Result: large})
	}
	r := m.Run(t, "complete", h)
	r.WantResult(t, `[["a é","SUCCESS",{"n":[1,"]"]},"","","","",false],["b","SUCCESS",null,"\ufffd\u0000bytes","","","",false],["c","SUCCESS",null,"","sha256:00","","",false],
		["d","FAILURE",null,"","","bad_row","row 7",true],5004,5000013]`)
	if r.PeakMemory > 4<<20 {
		t.Errorf("%d bytes: pages are kept", r.PeakMemory)
	}
	m.Run(t, "complete", &plugintest.Host{}).WantError(t, runtime.CodeHandlerError, true)
}

func testCErrors(t *testing.T, m *plugintest.Module) {
	run := func(params map[string]string) (plugintest.Result, *plugintest.Host) {
		t.Helper()
		text, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		h := &plugintest.Host{Params: text}
		return m.Run(t, "error", h), h
	}
	r, _ := run(map[string]string{"code": "busy", "message": "all \"lines\" \x01", "details": `{"a":[1]}`})
	r.WantError(t, "busy", true)
	if r.Message != "all \"lines\" \x01" || string(r.Details) != `{"a":[1]}` || r.NextTime != 0 {
		t.Errorf("%v %s %d", r, r.Details, r.NextTime)
	}
	r, _ = run(map[string]string{"message": strings.Repeat("é", 1500), "details": "no JSON"})
	r.WantError(t, runtime.CodeHandlerError, true)
	if r.Message != strings.Repeat("é", 1024) || string(r.Details) != `"no JSON"` {
		t.Errorf("%v %s", r, r.Details)
	}
	r, _ = run(map[string]string{"message": "x" + strings.Repeat("é", 1500)})
	if r.Message != "x"+strings.Repeat("é", 1023) {
		t.Error(r)
	}
	// What is over the channel's limit is the details, and a code that is none is not kept.
	r, _ = run(map[string]string{"code": strings.Repeat("c", 100), "message": strings.Repeat("\x01", 3000), "details": `"` + strings.Repeat("d", 8000) + `"`})
	r.WantError(t, runtime.CodeHandlerError, true)
	if r.Message != strings.Repeat("\x01", 2048) || len(r.Details) > 0 {
		t.Errorf("%v %s", r, r.Details)
	}
	_, h := run(map[string]string{"message": "m", "details": strings.Repeat(" ", 8193)})
	if len(h.Logs) != 1 {
		t.Errorf("the log is %v", h.Logs)
	}
	r, _ = run(map[string]string{}) // a success says nothing of an error
	r.WantKind(t, plugintest.Succeeded)
}
