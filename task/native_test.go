package task

import "testing"

// TestNative: a version that is built in has no module, and the state is sound without one.
func TestNative(t *testing.T) {
	t.Parallel()
	m := NewMachine()
	rs, _ := m.Apply(Header{Index: 1, Term: 1, Now: 1, LeaseNow: 1}, []Proposal{{Command: Activate{
		Namespace: SystemNamespace, Module: Module{Digest: NativeMaintenance, Version: "v"},
		Behaviors: []Activated{{Name: MaintenanceBehavior, Policy: DefaultPolicy()}},
	}}})
	if rs[0].Code != OK || m.Module(NativeMaintenance) != nil || len(m.Modules()) != 0 {
		t.Fatalf("%+v, modules %v", rs[0], m.Modules())
	}
	if v := m.Version(SystemNamespace, MaintenanceBehavior, ""); v == nil || v.Module != NativeMaintenance {
		t.Fatalf("version %+v", v)
	}
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if Native("0f") || !Native(NativeMaintenance) {
		t.Error("Native")
	}
}
