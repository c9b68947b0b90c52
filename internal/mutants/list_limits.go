package main

// limitMutants sabotage limits, external leases, pauses and plans of package task.
var limitMutants = []mutant{
	// Limits (L11).
	{Name: "task-max-concurrent-off-by-one", Dir: "task", In: "behaviorRow.full", Old: "b.running >= b.limits.concurrent", New: "b.running > b.limits.concurrent",
		Pkg: "./task", Run: "TestScripts$", Why: "one task too many of a behavior would run (L11)"},
	{Name: "task-plan-over-max-concurrent", Dir: "task/plan", In: "Plan.Take", Old: "*budget--", New: "",
		Pkg: "./task", Run: "TestScripts$", Why: "plans would be refused in part, and planned again at once (L11)"},
	{Name: "task-key-slots-off-by-one", Dir: "task/queue", In: "Key.slots", Old: "free := max(perKey-k.Running, 0)", New: "free := max(perKey-k.Running, 1)",
		Pkg: "./task", Run: "TestScripts$", Why: "one task too many of a key would run (L11)"},
	{Name: "task-key-not-held", Dir: "task/queue", In: "Key.slots", Old: "return free, max(free-k.Held, 0)", New: "return free, free",
		Pkg: "./task", Run: "TestScripts$", Why: "with strict order a retry would be overtaken (L11)"},
	{Name: "task-key-always-held", Dir: "task", In: "behaviorRow.allowance", Old: "a.Strict = v.Policy.KeyStrict && a.PerKey > 0", New: "a.Strict = a.PerKey > 0",
		Pkg: "./task", Run: "TestScripts$", Why: "a task that waits for its retry would block its key (L11)"},
	{Name: "task-key-order-of-arrival", Dir: "task/queue", In: "Board.fill", Old: "if best.Key > -worst.Key ||", New: "if best.Key > -worst.Key || best.Key < -worst.Key ||",
		Pkg: "./task", Run: "TestScripts$", Why: "the first of a key in T4 order would wait for a later one"},
	{Name: "task-limits-of-the-former-version", Dir: "task/queue", In: "Board.SetLimits", Old: "q.Limits = next; clear(q.Keys)", New: "clear(q.Keys)",
		Pkg: "./task", Run: "TestScripts$", Why: "a new limit would not hold for the tasks that are there (L11)"},
	{Name: "task-key-of-the-removed-kept", Dir: "task", In: "Machine.drop", Old: "m.dequeue(r); m.board.Settle(&b.Queues, key); m.store.Remove(r, t)", New: "m.dequeue(r); _ = key; m.store.Remove(r, t)",
		Pkg: "./task", Run: "TestScripts$", Why: "a removed task would keep its key for ever (L11)"},
	{Name: "task-early-over-the-key", Dir: "task", In: "stops", Old: "|| r.Kind == queue.Future && b.Spare(", New: "|| b == nil && b.Spare(",
		Pkg: "./task", Run: "TestScripts$", Why: "a task taken early would break the limit of its key (L11, J2)"},
	{Name: "task-plan-early-twice-of-a-key", Dir: "task/plan", In: "Plan.Early", Old: "taken[k]++", New: "",
		Pkg: "./task", Run: "TestScripts$", Why: "two tasks of a key would be planned for its one slot (L11, J2)"},

	// Pauses and drained nodes (L10).
	{Name: "task-pause-not-planned", Dir: "task", In: "behaviorRow.mayStart", Old: "return b.limits.open && !b.full() && !b.space.full()", New: "return !b.full() && !b.space.full()",
		Pkg: "./task", Run: "TestScripts$", Why: "the leader would propose refused assignments for ever"},
	{Name: "task-pause-ignored", Dir: "task", In: "behaviorRow.allowance", Old: "open: !b.behavior.Paused &&", New: "open:",
		Pkg: "./task", Run: "TestScripts$", Why: "a paused behavior's tasks would be planned (L10)"},
	{Name: "task-drain-ignored", Dir: "task", In: "Assign.apply", Old: "if m.Drained(s.session.Node) {", New: "if m.Drained(\"\") {",
		Pkg: "./task", Run: "TestScripts$", Why: "a drained node would get tasks (L10)"},
	{Name: "task-drain-lost-in-snapshots", Dir: "task/roster", In: "Table.Restore", Old: "t.Drain(node, true)", New: "_ = node",
		Pkg: "./task", Run: "TestScripts$", Why: "a restored node would plan for drained ones"},

	// External leases (section 8).
	{Name: "task-lease-ends-early", Dir: "task", In: "Machine.endLeases", Old: "n := m.losses.Head(); if n == nil || n.Key > int64(m.leaseNow)", New: "n := m.losses.Head(); if n == nil || n.Key-1 > int64(m.leaseNow)",
		Pkg: "./task", Run: "TestScripts$", Why: "a lease would end while its worker may still renew it (L4)"},
	{Name: "task-lease-term-extends-nothing", Dir: "task", In: "Machine.Apply", Old: "m.extendLeases()", New: "",
		Pkg: "./task", Run: "TestScripts$", Why: "an election would cost external workers their leases (C3)"},
	{Name: "task-floor-not-kept", Dir: "task", In: "restorer.take", Old: ", floor: h.Floor,", New: ",",
		Pkg: "./task", Run: "TestScripts$", Why: "a restored node would end leases earlier than the others (C3, C4)"},
	{Name: "task-grace-prolonged", Dir: "task", In: "Machine.leaseEnd", Old: "end = min(end, l.GraceEnd)", New: "_ = end",
		Pkg: "./task", Run: "TestScripts$", Why: "a worker that renews would never be cancelled (L8)"},
	{Name: "task-renewal-writes", Dir: "task", In: "Beat.apply", Old: "m.replace(r, &n)", New: "m.put(r, &n)",
		Pkg: "./task", Run: "TestScripts$", Why: "every heartbeat would wake everybody who watches (L2)"},
	{Name: "task-report-from-anywhere", Dir: "task", In: "Machine.reported", Old: "case external && !m.task(r).Lease.External():", New: "case external && m.task(r).Lease == nil:",
		Pkg: "./task", Run: "TestScripts$", Why: "an HTTP client could end a session's run"},
	{Name: "task-progress-is-no-result", Dir: "task", In: "Finish.byProgress", Old: "return c.External && c.Result.Encoding == None", New: "return c.External && c.Result.Encoding == JSON",
		Pkg: "./task", Run: "TestScripts$", Why: "the last progress is the result of an external run without one (J4)"},
	{Name: "task-acceptor-keeps-its-turn", Dir: "task/plan", In: "Ring.Next", Old: "r.seats = r.seats[1:]; if s.Slots--; s.Slots > 0 { r.seats = append(r.seats, s) }", New: "if r.seats[0].Slots--; r.seats[0].Slots <= 0 { r.seats = r.seats[1:] }",
		Pkg: "./task", Run: "TestScripts$", Why: "one acceptor would get everything while others wait"},

	// L7's backstop.
	{Name: "task-overrun-never", Dir: "task", In: "Machine.endLeases", Old: "m.endLease(n.Item, m.timeOut)", New: "break",
		Pkg: "./task", Run: "TestScripts$", Why: "a run whose worker hangs but renews would last for ever (L7)"},
	{Name: "task-overrun-not-retried", Dir: "task", In: "Machine.timeOut", Old: "p.OnTimeout != OnErrorFail", New: "p.OnTimeout == OnErrorRetry",
		Pkg: "./task", Run: "TestScripts$", Why: "on_timeout defaults to retry (R2)"},
}
