package main

// jobMutants sabotage bulk jobs (SPEC Q3).
var jobMutants = []mutant{
	{Name: "job-step-from-anywhere", Dir: "task/jobs", In: "Table.Step", Old: "x.State != Acting || x.Position != from", New: "x.State != Acting || from < 0", Pkg: "./task/jobs", Run: "TestStep$", Why: "Q3: of two leaders each would give a task a turn"},
	{Name: "job-acts-on-changed", Dir: "task", In: "Machine.turn", Old: "case !Matches(t, x.Filter()):", New: "case t.ID == \"\":", Pkg: "./task", Run: "TestScripts$/job$", Why: "Q3: a task that is no longer what was asked for would be cancelled"},
	{Name: "job-beyond-rights", Dir: "task", In: "Machine.turn", Old: "s.Refusal().Code != \"\"", New: "s.Refusal().Code == \"?\"", Pkg: "./task", Run: "TestScripts$/job$", Why: "A5: who may start a job could cancel everybody's tasks"},
	{Name: "job-outlives-its-token", Dir: "task", In: "StepJob.apply", Old: "!m.access.Speaks(x.By, int64(m.now))", New: "!m.access.Speaks(x.By, int64(m.now)) && x.Rate == 0", Pkg: "./task", Run: "TestScripts$/job$", Why: "A4: a revoked token would go on with ten million tasks"},
	{Name: "job-without-its-namespace", Dir: "task", In: "StepJob.apply", Old: "no, ok := m.writable(x.Namespace)", New: "no, ok := m.writable(SystemNamespace)", Pkg: "./task", Run: "TestScripts$/job$", Why: "N1: a job would go on in a namespace that is being purged"},
	{Name: "job-blobs-never-released", Dir: "task/jobs", In: "Job.End", Old: "max(now, 1), nil", New: "max(now, 1), x.Blobs", Pkg: "./task/jobs", Run: "TestEnd$", Why: "M3: the blobs of a selection would stay for ever"},
	{Name: "job-blobs-not-needed", Dir: "task", In: "putJob", Old: "m.countPayload(1, blobsOf(x))", New: "_ = x.Blobs", Pkg: "./task", Run: "TestScripts$/job$", Why: "M3: maintenance would delete the selection of a job that acts"},
	{Name: "job-blobs-forgotten-by-snapshots", Dir: "task", In: "restorer.finish", Old: "m.countPayload(1, blobsOf(x))", New: "_ = x.Blobs", Pkg: "./task", Run: "TestScripts$/job$", Why: "M3: after a restart maintenance would delete the selection of a job that acts"},
	{Name: "job-blobs-not-ready", Dir: "task", In: "SelectJob.apply", Old: "!m.BlobReady(c.Blobs[i])", New: "c.Blobs[i] == \"\"", Pkg: "./task", Run: "TestScripts$/job$", Why: "Q3: a new leader would look for a selection that is nowhere"},
	{Name: "job-five", Dir: "task/jobs", In: "Table.Start", Old: "t.Active() >= MaxActive", New: "t.Active() > MaxActive", Pkg: "./task/jobs", Run: "TestMaxActive$", Why: "Q3: there are four at a time"},
	{Name: "job-selected-before-its-start", Dir: "task/jobs", In: "Table.Select", Old: "index < x.Index ||", New: "index < 1 ||", Pkg: "./task/jobs", Run: "TestSelect$", Why: "Q3: a leader that lags would leave out tasks that the caller has seen"},
	{Name: "job-later-is-never", Dir: "task/jobs", In: "Table.Step", Old: "if o == Later {", New: "if o == Later && from < 0 {", Pkg: "./task/jobs", Run: "TestStep$", Why: "Q3, N1: a task that a quota keeps back would have no turn at all"},
	{Name: "job-of-a-null", Dir: "task/match", In: "Parse", Old: "bytes.Equal(bytes.TrimSpace(text), []byte(\"null\"))", New: "len(text) == 0", Pkg: "./task/match", Run: "TestParseRefuses$", Why: "Q3: a filter that is not there would mean all tasks"},
}
