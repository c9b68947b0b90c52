package names_test

import (
	"testing"

	"github.com/taskrt/taskrt/task/names"
)

func TestOfParams(t *testing.T) {
	got := names.OfParams("default", "wordcount", []byte(`{"text":"a b a"}`))
	if want := "mwx52adtsbsqawfl2qcezxjducfsrvww"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if names.OfParams("a", "bc", []byte("1")) == names.OfParams("ab", "c", []byte("1")) {
		t.Error("lengths are not in the hash")
	}
}

func TestNames(t *testing.T) {
	long := string(make([]byte, 0, 129))
	for range 128 {
		long += "x"
	}
	for s, want := range map[string][2]bool{
		"":           {},
		"ab":         {},
		"abc":        {true, true},
		"A.b_c:d-9":  {true, false},
		"a.b_c-9":    {true, true},
		"a/b":        {},
		"a b":        {},
		"äbc":        {},
		long:         {true, true},
		long + "x":   {},
		"abc\n":      {},
		"018f-4:_.Z": {true, false},
	} {
		if got := names.IsTask(s); got != want[0] {
			t.Errorf("IsTask(%q) = %t", s, got)
		}
		if got := names.IsBehavior(s); got != want[1] {
			t.Errorf("IsBehavior(%q) = %t", s, got)
		}
	}
}
