package main

// lifecycleMutants sabotage repeats, retries by hand, behaviors' lives, transactions and idempotency keys.
var lifecycleMutants = []mutant{
	// Repeats and runs that say when (R4).
	{Name: "task-again-no-better-than-repeat", Dir: "task", In: "Finish.succeeded", Old: "case c.Again > 0: next = c.Again", New: "case c.Again > 0 && v == nil: next = c.Again",
		Pkg: "./task", Run: "TestScripts$", Why: "again_at beats repeat_every (R4)"},

	// Retries by hand (T1, B2).
	{Name: "task-retry-of-running", Dir: "task", In: "RetryTask.apply", Old: "if t.Status == Running {", New: "if t.Status == Running && t.Lease == nil {",
		Pkg: "./task", Run: "TestScripts$", Why: "a running task has no retry (T1)"},
	{Name: "task-checkpoint-of-another-version", Dir: "task", In: "RetryTask.pin", Old: "if version != n.Version && !c.KeepCheckpoint {", New: "if version == \"never\" && !c.KeepCheckpoint {",
		Pkg: "./task", Run: "TestScripts$", Why: "a version would read what another one wrote (B2)"},

	// Behaviors (B2, B7, B8).
	{Name: "task-kinds-mixed-by-rollback", Dir: "task", In: "ActivateVersion.apply", Old: "if (found.Module == \"\") != old.External {", New: "if found.Version == \"\" {",
		Pkg: "./task", Run: "TestScripts$", Why: "a rollback would change the kind of a behavior (B7)"},
	{Name: "task-pinned-version-dropped", Dir: "task", In: "behaviorRow.kept", Old: "b.pins[v.Version] > 0 ||", New: "",
		Pkg: "./task", Run: "TestPinnedVersionsStay$", Why: "a task would wait for a version that is gone (B2)"},
	{Name: "task-delete-drops-pinned", Dir: "task", In: "DeleteBehavior.apply", Old: "b.kept(slices.Clone(b.behavior.Versions), 0)", New: "slices.Clone(b.behavior.Versions[:0])",
		Pkg: "./task", Run: "TestPinnedVersionsStay$", Why: "running tasks finish by their version's policy (B8)"},
	{Name: "task-revived-paused", Dir: "task", In: "Machine.activate", Old: "old.Paused && !old.Deleted", New: "old.Paused || old.Deleted",
		Pkg: "./task", Run: "TestScripts$", Why: "a behavior that is there again would not run (B8)"},
	{Name: "task-deleted-still-submitted", Dir: "task", In: "behaviorRow.live", Old: "b.behavior == nil || b.behavior.Deleted {", New: "b.behavior == nil {",
		Pkg: "./task", Run: "TestScripts$", Why: "submits to a deleted behavior are 404 (B8)"},
	{Name: "task-purge-forgets-waiting", Dir: "task", In: "Machine.idle", Old: "&b.Failure, &b.Due}", New: "&b.Failure}",
		Pkg: "./task", Run: "TestScripts$", Why: "a purge removes waiting tasks too (B8)"},
	{Name: "task-purge-unbounded", Dir: "task", In: "Machine.idle", Old: "c.Row != nil && int64(len(keys)) < limit", New: "c.Row != nil && limit > 0",
		Pkg: "./task", Run: "TestPurgeIsBounded$", Why: "one log entry would remove a million tasks (B8)"},
	{Name: "task-purge-waits-for-chance", Dir: "task", In: "TrimBehavior.apply", Old: "Left: b.tasks + int64(len(m.operationsWith(b))),", New: "Left: int64(len(m.operationsWith(b))),",
		Pkg: "./task", Run: "TestPurgeIsBounded$", Why: "a purge would go on only when something else asks for a Tick"},

	// What the proposer validated with.

	// Transactions (X1).
	{Name: "task-txn-in-part", Dir: "task", In: "Txn.check", Old: "if len(k.reasons) > 0 {", New: "if len(k.reasons) > 1 {",
		Pkg: "./task", Run: "TestTxnIsAllOrNothing$", Why: "a transaction happens as a whole or not at all (X1)"},
	{Name: "task-txn-takes-running", Dir: "task", In: "txnChecker.idle", Old: "k.m.task(r).Status == Running {", New: "k.m.task(r).Status == Running && k.m.task(r).Lease == nil {",
		Pkg: "./task", Run: "TestScripts$|TestTxnIsAllOrNothing$", Why: "a leased task is not updated or deleted (X1)"},
	{Name: "task-txn-changes-twice", Dir: "task", In: "Txn.namesTwice", Old: "return len(ids) <", New: "return len(ids)+1 <",
		Pkg: "./task", Run: "TestScripts$", Why: "parts of one task would be checked against a state that they change (X1)"},
	{Name: "task-txn-off-by-one", Dir: "task", In: "Txn.checkShape", Old: "> MaxTxnParts {", New: "> MaxTxnParts+1 {",
		Pkg: "./task", Run: "TestTxnBound$", Why: "a transaction has at most 1,000 parts (X1)"},
	{Name: "task-txn-answers-fat", Dir: "task", In: "lean", Old: "n.Params, n.Result, n.Progress, n.Checkpoint = Payload{}, Payload{}, Payload{}, Payload{}", New: "n.Progress = Payload{}",
		Pkg: "./task", Run: "TestTxnAnswersAreLean$", Why: "a thousand small parts would have an answer of 64 MiB"},

	// Idempotency keys (H4).
	{Name: "task-key-any-body", Dir: "task/answers", In: "Table.Kept", Old: "k.body != body", New: "k.body == 0",
		Pkg: "./task", Run: "TestScripts$", Why: "another request would be answered with the first one's result (H4)"},
	{Name: "task-keys-unbounded", Dir: "task/answers", In: "Table.Open", Old: "int64(len(t.keys)) >= t.Limit.Keys,", New: "int64(len(t.keys)) > 2*t.Limit.Keys,",
		Pkg: "./task", Run: "TestKeysAreBounded$", Why: "keys would fill the memory of every node (H4)"},
	{Name: "task-key-bytes-unbounded", Dir: "task/answers", In: "Table.Open", Old: "t.keyBytes >= t.Limit.KeyBytes:", New: "t.keyBytes >= 2*t.Limit.KeyBytes:",
		Pkg: "./task", Run: "TestKeysAreBoundedInBytes$", Why: "answers under keys would fill the memory of every node (H4)"},
	{Name: "task-key-keeps-behavior-changed", Dir: "task", In: "passing", Old: "return c == BehaviorWasChanged || c == BlobGone", New: "return c == BlobGone",
		Pkg: "./task", Run: "TestKeyOfChangedBehavior$", Why: "a request that met an activation would never succeed under its key"},
	{Name: "task-keys-kept-for-ever", Dir: "task/answers", In: "Table.Expire", Old: "t.forgetKey(n.Item)", New: "break",
		Pkg: "./task", Run: "TestScripts$", Why: "keys are kept for an hour (H4)"},
	{Name: "task-keys-lost-in-snapshots", Dir: "task/answers", In: "Table.AddKey", Old: "t.expiries.Push(later(first, t.Limit.Idle), id, &k.expiry, k)", New: "_ = first",
		Pkg: "./task", Run: "TestScripts$", Why: "a restored node would keep keys that the others forget (C4)"},
	{Name: "store-keyed-chunks-restart", Dir: "raftstore", In: "Store.ProposeKeyed", Old: "next = next[len(these):]", New: "",
		Pkg: "./raftstore", Run: "TestKeyedBatch$", Why: "the second piece of a batch would get the answers of the first (H4)"},
	{Name: "wire-commands-weigh-nothing", Dir: "task/wire", In: "body.size", Old: "return maxEnvelope + int(b.to-b.from)", New: "return maxEnvelope",
		Pkg: "./task/wire", Run: "TestPartsAreWeighed$", Why: "one entry would hold many large transactions and delay heartbeats"},

	// What grows without an end, and times that nobody can read.
	{Name: "task-deleted-kept", Dir: "task", In: "Machine.forgetBehavior", Old: "case b.needed() || m.behaviors", New: "case !b.needed() || m.behaviors",
		Pkg: "./task", Run: "TestDeletedBehaviorsAreForgotten$", Why: "who creates and deletes names would fill the memory (B8)"},
	{Name: "task-again-unreadable", Dir: "task", In: "Finish.apply", Old: "c.Again = min(c.Again, MaxTime)", New: "c.Again = max(c.Again, 0)",
		Pkg: "./task", Run: "TestTimesThatNobodyCanRead$", Why: "a guest could make every list that shows its task unreadable (H2)"},
	{Name: "task-snooze-unreadable", Dir: "task", In: "Snooze.apply", Old: "min(c.At, MaxTime)", New: "c.At",
		Pkg: "./task", Run: "TestTimesThatNobodyCanRead$", Why: "a guest could make every list that shows its task unreadable (H2)"},
	{Name: "task-long-answers-uncounted", Dir: "task", In: "payloadBytes", Old: "n += taskOverhead + taskBytes(t)", New: "n += taskBytes(t)",
		Pkg: "./task", Run: "TestLongAnswersCount$", Why: "ten thousand keys could keep ten million records (H4)"},
}
