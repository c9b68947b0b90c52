package task

import (
	"strings"
	"testing"
)

// later3 is a command of a level that no build knows yet.
type later3 struct{}

func (later3) level() uint64           { return 3 }
func (later3) apply(m *Machine) Result { return Result{Changed: true} }

// TestFeatureLevel: commands of a level are refused below it, by all alike; it is raised by one, never back, and not by a build
// that does not know it (SPEC C9).
func TestFeatureLevel(t *testing.T) {
	m := NewMachine(WithKnownLevel(4))
	index := uint64(0)
	apply := func(c Command) Result {
		index++
		rs, _ := m.Apply(Header{Index: index, Term: 1, Now: 1, LeaseNow: 1}, []Proposal{{Command: c}})
		return rs[0]
	}
	before := m.Digest()
	if r := apply(later3{}); r.Code != LevelTooLow || LevelOf(later3{}) != 3 || LevelOf(Tick{}) != FirstLevel {
		t.Errorf("below its level: %+v", r)
	}
	for _, c := range []struct {
		to      uint64
		code    Code
		changed bool
	}{{3, InvalidCommand, false}, {1, OK, false}, {2, OK, true}, {2, OK, false}, {1, OK, false}, {4, InvalidCommand, false}, {3, OK, true}, {4, OK, true}} {
		if r := apply(RaiseLevel{c.to}); r.Code != c.code || r.Changed != c.changed {
			t.Errorf("raised to %d: %+v", c.to, r)
		}
	}
	if m.Level() != 4 || m.Digest() == before {
		t.Error("the level is state")
	}
	if r := apply(later3{}); !r.Changed {
		t.Errorf("at its level: %+v", r)
	}
	restored := func(known uint64) (*Machine, error) {
		f := m.Freeze()
		return Restore(func(yield func(Record, error) bool) { f.Records(func(r Record) bool { return yield(r, nil) }) }, WithKnownLevel(known))
	}
	if r, err := restored(4); err != nil || r.Level() != 4 || r.Digest() != m.Digest() {
		t.Errorf("restored: %v", err)
	}
	if _, err := restored(3); err == nil || !strings.Contains(err.Error(), "feature level 4; this build knows 1 to 3") {
		t.Errorf("restored by a build that does not know the level: %v", err)
	}
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, "start a newer one") {
			t.Errorf("a level that this build does not know: %v", p)
		}
	}()
	apply(RaiseLevel{5})
}

// TestCreatorsNeedTheLevel: an import that names creators is for builds that know them (SPEC C9, A5).
func TestCreatorsNeedTheLevel(t *testing.T) {
	for _, c := range []ImportRecords{{Tasks: []*Task{nil, {Creator: 2}}}, {Operations: []*Operation{nil, {}, {Creator: 2}}}} {
		if LevelOf(c) != 2 {
			t.Errorf("%+v is of level %d", c, LevelOf(c))
		}
	}
	if c := (ImportRecords{Tasks: []*Task{nil, {}}, Operations: []*Operation{nil, {}}}); LevelOf(c) != FirstLevel {
		t.Errorf("an import without creators is of level %d", LevelOf(c))
	}
}

// TestTracesNeedTheLevel: a command that brings a traceparent, or the memory that an attempt used, is for builds that know it (SPEC C9, U1, U2).
func TestTracesNeedTheLevel(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, c := range []Command{
		Submit{Trace: trace}, Txn{Submits: []Submit{{}, {Trace: trace}}}, StartOperation{Trace: trace},
		Finish{Pages: 1}, Snooze{Pages: 1}, GiveBack{Pages: 1}, Txn{Finishes: []Finish{{}, {Pages: 1}}}, ImportRecords{Tasks: []*Task{{History: []Attempt{{}, {Pages: 1}}}}},
		ImportRecords{Tasks: []*Task{nil, {Creator: 2, Trace: trace}, {Creator: 1}}}, ImportRecords{Operations: []*Operation{nil, {}, {Trace: trace}}},
	} {
		if LevelOf(c) != TraceLevel {
			t.Errorf("%+v is of level %d", c, LevelOf(c))
		}
	}
	for _, c := range []Command{Finish{Fuel: 1}, Snooze{}, GiveBack{}, Submit{}, Txn{Submits: []Submit{{}}}, StartOperation{}} {
		if LevelOf(c) != FirstLevel {
			t.Errorf("%+v is of level %d", c, LevelOf(c))
		}
	}
}
