package main

// namespaceMutants sabotage namespaces and imports (SPEC N1, M5).
var namespaceMutants = []mutant{
	{Name: "ns-inactive-takes-work", Dir: "task", In: "Machine.accepting", Old: "space.Status != NamespaceIsActive { return", New: "space.Status == NamespaceIsPurged { return",
		Pkg: "./task", Run: "TestScripts$", Why: "an INACTIVE namespace takes no submits (N1)"},
	{Name: "ns-inactive-runs", Dir: "task", In: "behaviorRow.allowance", Old: "&& b.space.space.Status == NamespaceIsActive", New: "&& b.space.space.Status <= NamespaceIsInactive",
		Pkg: "./internal/sim", Run: "TestSim$", Why: "tasks of an INACTIVE namespace would start (N1)"},
	{Name: "ns-status-leaves-lanes", Dir: "task", In: "SetNamespaceStatus.apply", Old: "m.policyChanged(b)", New: "_ = b",
		Pkg: "./internal/sim", Run: "TestSim$", Why: "a namespace that is ACTIVE again would not go on (N1)"},
	{Name: "ns-purge-undone", Dir: "task", In: "SetNamespaceStatus.apply", Old: "if r, ok := m.writable(c.Name); !ok {", New: "if r, ok := m.writable(c.Name); !ok && r.Code == \"\" {",
		Pkg: "./task", Run: "TestScripts$", Why: "half of a namespace that is being purged would come back (N1)"},
	{Name: "ns-purge-leaves-running", Dir: "task", In: "SetNamespaceStatus.apply", Old: "if c.Status == NamespaceIsPurging {", New: "if c.Status == NamespaceIsPurged {",
		Pkg: "./task", Run: "TestScripts$", Why: "what runs would hold up a purge (N1)"},
	{Name: "ns-default-purged", Dir: "task", In: "SetNamespaceStatus.apply", Old: "c.Name == DefaultNamespace && c.Status == NamespaceIsPurging", New: "c.Name == \"\" && c.Status == NamespaceIsPurging",
		Pkg: "./task", Run: "TestDefaultNamespaceIsNotPurged$", Why: "everybody needs the default namespace (N1)"},
	{Name: "ns-purged-with-records", Dir: "task", In: "EndPurge.apply", Old: "left > 0 { return", New: "left > 1000 { return",
		Pkg: "./task", Run: "TestScripts$", Why: "a namespace is PURGED only when nothing is left (N1)"},
	{Name: "ns-purge-of-the-living", Dir: "task", In: "PurgeNamespace.apply", Old: "case !m.purging(c.Namespace):", New: "case c.Namespace == \"\":",
		Pkg: "./task", Run: "TestScripts$", Why: "maintenance would empty a namespace that nobody purges (N1)"},
	{Name: "ns-name-not-free", Dir: "task", In: "PutNamespace.check", Old: "exists := n != nil && n.space.Status != NamespaceIsPurged", New: "exists := n != nil",
		Pkg: "./task", Run: "TestScripts$", Why: "the name of a PURGED namespace may be created again (N1)"},
	{Name: "ns-import-keeps-lease", Dir: "task", In: "importer.rest", Old: "n.Status, n.NotBefore, n.DueSince = Created, max(x.m.now, 1), 0", New: "n.Status, n.NotBefore, n.DueSince = Created, n.NotBefore, 0",
		Pkg: "./task", Run: "TestScripts$", Why: "what ran when it was exported is due now (M5)"},
	{Name: "ns-import-overwrites", Dir: "task", In: "Machine.importTask", Old: "if m.find(t.Key()) != nil || !m.importable(t) {", New: "if !m.importable(t) {",
		Pkg: "./internal/sim", Run: "TestSim$", Why: "an import would put a second task under an ID (M5)"},
	{Name: "ns-import-half", Dir: "task", In: "ImportRecords.apply", Old: "if r := m.charge(c.Namespace, x.demand); r.Code != OK {", New: "if r := m.charge(c.Namespace, demand{}); r.Code != OK {",
		Pkg: "./task", Run: "TestScripts$", Why: "an import would pass the quotas (M5, N1)"},
}
