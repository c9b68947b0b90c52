package main

// quotaMutants sabotage quotas (SPEC N1).
var quotaMutants = []mutant{
	{Name: "quota-tasks-off-by-one", Dir: "task", In: "Machine.charge", Old: "d.tasks > q.MaxTasks-have {", New: "d.tasks > q.MaxTasks-have+1 {",
		Pkg: "./task", Run: "TestScripts$", Why: "max_tasks is exact"},
	{Name: "quota-owed-free", Dir: "task", In: "Machine.charge", Old: "have := u.Tasks + u.Owed", New: "have := u.Tasks",
		Pkg: "./task", Run: "TestScripts$", Why: "partitions that are still to be made would be free"},
	{Name: "quota-bytes-off", Dir: "task", In: "Machine.charge", Old: "d.bytes > q.MaxBytes-u.Bytes {", New: "d.bytes > q.MaxBytes {",
		Pkg: "./task", Run: "TestScripts$", Why: "max_bytes counts what is there"},
	{Name: "quota-rate-never-spent", Dir: "task", In: "Machine.charge", Old: "level-1000*d.submits", New: "level-d.submits",
		Pkg: "./task", Run: "TestScripts$", Why: "submits_per_second would be no limit"},
	{Name: "quota-rate-never-refilled", Dir: "task/bounds", In: "Bucket", Old: "min(left+elapsed*rate, 1000*rate)", New: "min(left, 1000*rate)",
		Pkg: "./task", Run: "TestScripts$", Why: "a namespace would take submits once a second only"},
	{Name: "quota-burst-unbounded", Dir: "task/bounds", In: "Bucket", Old: "return min(left+elapsed*rate, 1000*rate)", New: "return left + elapsed*rate",
		Pkg: "./internal/sim", Run: "TestScripts$", Why: "a burst is one second's at most"},
	{Name: "quota-new-rate-old-bucket", Dir: "task", In: "PutNamespace.settle", Old: "next.Bucket, next.BucketAt = 0, 0", New: "next.Bucket += 0",
		Pkg: "./task", Run: "TestScripts$", Why: "a higher rate would wait for the bucket of the lower one"},
	{Name: "quota-rerun-free", Dir: "task", In: "Submit.demand", Old: "case (c.IfExists != Rerun || !m.task(r).Final()) && (", New: "case (",
		Pkg: "./task", Run: "TestScripts$", Why: "reruns are submits, too"},
	{Name: "quota-usage-of-finals-lost", Dir: "task", In: "Machine.countTask", Old: "n.usage.Bytes += sign * m.taskSize(t)", New: "n.usage.Bytes += max(sign, 0) * m.taskSize(t)",
		Pkg: "./task", Run: "TestScripts$", Why: "what was removed would count for ever"},
}
