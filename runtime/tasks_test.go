package runtime

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/runtime/manifest"
	"github.com/taskrt/taskrt/runtime/upload"
)

// checkChild is Config.CheckChild of these tests: {"behavior": NAME}.
func checkChild(doc []byte) (string, error) {
	var c struct{ Behavior string }
	if err := json.Unmarshal(doc, &c); err != nil || c.Behavior == "" {
		return "", fmt.Errorf("behavior: missing in %q", doc)
	}
	return c.Behavior, nil
}

// submitting returns an engine whose operator lets "submits*" in namespace "default" submit tasks of "word*".
func submitting(t *testing.T) *Engine {
	t.Helper()
	g, err := grants.Parse([]byte(`{"grants":[{"namespace":"default","behavior":"submits*","tasks":["word*","submits"]}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	return newEngine(t, Config{Grants: g, CheckChild: checkChild})
}

// statuses4 reads the result of the guest submits.
func statuses4(out Outcome) (list []int32) {
	for b := range slices.Chunk(out.Result, 4) {
		list = append(list, int32(binary.LittleEndian.Uint32(b)))
	}
	return list
}

func child(behavior string) string { return fmt.Sprintf(`{"behavior":%q}`, behavior) }

// TestChildrenOfASuccess: children belong to a success, in their order, and to no other outcome (SPEC B6).
func TestChildrenOfASuccess(t *testing.T) {
	m := load(t, submitting(t), guestFile(t, "submits"))
	for mark, kind := range map[string]Kind{"=": Succeeded, "!": Failed, "?": Failed, "~": Yielded} {
		params := mark + child("words") + "\n" + child("wordcount") + "\n"
		out := m.Run(t.Context(), Attempt{Params: []byte(params), Info: infoOf(t, "default", "submits")}, &fakeHost{})
		if out.Kind != kind {
			t.Fatalf("%s: %+v", mark, out)
		}
		if kind != Succeeded {
			if out.Children != nil {
				t.Errorf("%s has children: %s", mark, out.Children)
			}
			continue
		}
		if got := fmt.Sprintf("%s %d", out.Children, statuses4(out)); got != `[{"behavior":"words"} {"behavior":"wordcount"}] [0 1]` {
			t.Errorf("%s: %s", mark, got)
		}
	}
}

// TestChildrenAreGranted: children are granted by namespace and behavior of the parent, and by the child's behavior.
func TestChildrenAreGranted(t *testing.T) {
	e := submitting(t)
	m := load(t, e, guestFile(t, "submits"))
	host := &fakeHost{}
	for _, tt := range []struct {
		namespace, behavior, doc string
		want                     int32
		naming                   string
	}{
		{"default", "submits", child("words"), 0, ""},
		{"default", "submits", child("submits"), 0, ""},
		{"default", "submits", child("mail"), int32(abi.EDENIED), "mail"},
		{"default", "mail", child("words"), int32(abi.EDENIED), "words"},
		{"tenant", "submits", child("words"), int32(abi.EDENIED), "words"},
		{"default", "submits", `{}`, int32(abi.EINVAL), "behavior: missing"},
		{"default", "submits", ` `, int32(abi.EINVAL), "behavior: missing"},
	} {
		host.logs = nil
		out := m.Run(t.Context(), Attempt{Params: []byte("=" + tt.doc), Info: infoOf(t, tt.namespace, tt.behavior), LogBytes: 1000}, host)
		kept := 0
		if tt.want == 0 {
			kept = 1
		}
		if s := statuses4(out); out.Kind != Succeeded || len(s) != 1 || s[0] != tt.want || len(out.Children) != kept {
			t.Errorf("%+v: %v, %+v", tt, s, out)
		}
		if told := fmt.Sprint(host.logs); tt.naming != "" && (!strings.Contains(told, "a child was refused") || !strings.Contains(told, tt.naming)) {
			t.Errorf("%+v: logged %s", tt, told)
		}
	}
	a := Attempt{Params: []byte("=" + child("words")), Info: infoOf(t, "default", "submits")}
	if s := statuses4(load(t, newEngine(t, Config{CheckChild: checkChild}), guestFile(t, "submits")).Run(t.Context(), a, host)); s[0] != int32(abi.EDENIED) {
		t.Errorf("without grants: %d", s)
	}
	a.Tasks = func(behavior string) bool { return behavior == "words" }
	if s := statuses4(load(t, newEngine(t, Config{}), guestFile(t, "submits")).Run(t.Context(), a, host)); s[0] != int32(abi.EDENIED) {
		t.Errorf("on a host that has no children: %d", s)
	}
	a.Info = nil
	if s := statuses4(load(t, newEngine(t, Config{CheckChild: checkChild}), guestFile(t, "submits")).Run(t.Context(), a, host)); s[0] != 0 {
		t.Errorf("granted by the attempt: %d", s)
	}
	asks := &manifest.Manifest{Requires: []string{abi.CapabilityTasks}, Behaviors: []manifest.Behavior{{Name: "submits"}}}
	if err := e.CheckGranted("default", asks); err != nil {
		t.Error(err)
	}
	if bad, ok := errors.AsType[*upload.Error](e.CheckGranted("tenant", asks)); !ok || bad.Code != upload.CapabilityNotGranted {
		t.Errorf("granted in another namespace: %v", bad)
	}
}

// TestChildrenMisused: wrong pointers, lengths and counts are refused, and so are children before the attempt and
// after a lost lease.
func TestChildrenMisused(t *testing.T) {
	m := load(t, submitting(t), guestFile(t, "submits"))
	run := func(behavior int32, params string, host *fakeHost) Outcome {
		return m.Run(t.Context(), Attempt{Behavior: behavior, Params: []byte(params), Info: infoOf(t, "default", "submits"), LogBytes: 1 << 20}, host)
	}
	for _, n := range []int32{1, 2} {
		if out := run(n, "", &fakeHost{}); out.Code != CodeTrap || !strings.Contains(out.Message, "submit") {
			t.Errorf("misuse %d: %+v", n, out)
		}
	}
	for n, want := range map[int32]int32{3: int32(abi.E2BIG), 4: int32(abi.EDENIED)} {
		if s := statuses4(run(n, "", &fakeHost{})); len(s) != 1 || s[0] != want {
			t.Errorf("misuse %d: %d, want %d", n, s, want)
		}
	}
	out := run(5, child("words"), &fakeHost{})
	if s := statuses4(out); s[0] != abi.MaxChildren || s[1] != int32(abi.E2BIG) || len(out.Children) != abi.MaxChildren {
		t.Errorf("too many: %d, %d kept", s, len(out.Children))
	}
	long := `{"behavior":"words","x":"` + strings.Repeat("x", abi.MaxChild-100) + `"}`
	out = run(5, long, &fakeHost{})
	if s := statuses4(out); s[0] != 8 || s[1] != int32(abi.E2BIG) || len(out.Children) != 8 {
		t.Errorf("too much: %d, %d kept", s, len(out.Children))
	}
	lost := &fakeHost{signals: func() abi.Signals { return abi.SignalLeaseLost }}
	if s := statuses4(run(0, "="+child("words"), lost)); s[0] != int32(abi.ECONFLICT) {
		t.Errorf("without the lease: %d", s)
	}
	if out := run(0, "=", &fakeHost{}); out.Children != nil {
		t.Errorf("those of an earlier attempt: %s", out.Children)
	}
}
