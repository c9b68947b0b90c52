package main

// metricsMutants sabotage what is measured.
var metricsMutants = []mutant{
	{Name: "metrics-behaviors-unbounded", Dir: "metrics", In: "behaviors.add", Old: "if len(b.sets) < b.limit {", New: "if b.limit > 0 {",
		Pkg: "./metrics", Run: "TestBehaviorsAreBounded$", Why: "whoever pushes many behaviors would fill the memory of nodes and of Prometheus"},
	{Name: "metrics-removed-behaviors-stay", Dir: "metrics", In: "behaviors.gone", Old: "if !has(n.namespace, n.behavior) {", New: "if has(n.namespace, n.behavior) && n.behavior == \"\" {",
		Pkg: "./metrics", Run: "TestBehaviorsAreBounded$", Why: "what was removed would be shown for ever, and take the place of others"},
	{Name: "metrics-of-what-never-ran", Dir: "metrics", In: "Metrics.Ended", Old: "if !e.Ran {", New: "if e.Ran && e.Wall < 0 {",
		Pkg: "./metrics", Run: "TestAttempts$", Why: "attempts that were given back unrun would make the mean duration meaningless"},
	{Name: "metrics-sleep-counts-as-cpu", Dir: "runtime", In: "guest.Wait", Old: "defer func() { g.waited += time.Since(begun) }()", New: "defer func() { g.waited += 0 * time.Since(begun) }()",
		Pkg: "./runtime", Run: "TestBusyLeavesOutWaits$", Why: "a guest that sleeps would seem to use a CPU"},
	{Name: "metrics-host-counts-as-cpu", Dir: "runtime", In: "guest.outside", Old: "g.waited += time.Since(begun)", New: "g.waited += 0 * time.Since(begun)",
		Pkg: "./runtime", Run: "TestBusyLeavesOutWaits$", Why: "a guest that waits for a durable checkpoint would seem to use a CPU"},
	{Name: "metrics-lost-lease-is-success", Dir: "worker", In: "endOf", Old: "case rep == nil: return EndLost", New: "case rep == nil: return EndSuccess",
		Pkg: "./worker", Run: "TestEndsOfRealGuests$", Why: "nobody would see that workers lose their leases"},
	{Name: "metrics-by-path", Dir: "api/server", In: "handler.tell", Old: "rec.route.path, r.Method", New: "rec.route.id, r.Method",
		Pkg: "./api/server", Run: "TestRequestsAreTold$", Why: "dashboards go by the routes of the document"},
}
