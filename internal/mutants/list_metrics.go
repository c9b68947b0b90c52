package main

// metricsMutants sabotage what is measured.
var metricsMutants = []mutant{
	{Name: "metrics-behaviors-unbounded", File: "metrics/behaviors.go", Old: "if len(b.sets) < b.limit {", New: "if b.limit > 0 {",
		Pkg: "./metrics", Run: "TestBehaviorsAreBounded$", Why: "whoever pushes many behaviors would fill the memory of nodes and of Prometheus"},
	{Name: "metrics-removed-behaviors-stay", File: "metrics/behaviors.go", Old: "if !has(n.namespace, n.behavior) {", New: "if has(n.namespace, n.behavior) && n.behavior == \"\" {",
		Pkg: "./metrics", Run: "TestBehaviorsAreBounded$", Why: "what was removed would be shown for ever, and take the place of others"},
	{Name: "metrics-of-what-never-ran", File: "metrics/behaviors.go", Old: "if !e.Ran {", New: "if e.Ran && e.Wall < 0 {",
		Pkg: "./metrics", Run: "TestAttempts$", Why: "attempts that were given back unrun would make the mean duration meaningless"},
	{Name: "metrics-sleep-counts-as-cpu", File: "runtime/sandbox.go", Old: "defer func() { g.waited += time.Since(begun) }()", New: "defer func() { g.waited += 0 * time.Since(begun) }()",
		Pkg: "./runtime", Run: "TestBusyLeavesOutWaits$", Why: "a guest that sleeps would seem to use a CPU"},
	{Name: "metrics-host-counts-as-cpu", File: "runtime/calls.go", Old: "g.waited += time.Since(begun)", New: "g.waited += 0 * time.Since(begun)",
		Pkg: "./runtime", Run: "TestBusyLeavesOutWaits$", Why: "a guest that waits for a durable checkpoint would seem to use a CPU"},
	{Name: "metrics-lost-lease-is-success", File: "worker/ended.go", Old: "case rep == nil:\n\t\treturn EndLost", New: "case rep == nil:\n\t\treturn EndSuccess",
		Pkg: "./worker", Run: "TestEndsOfRealGuests$", Why: "nobody would see that workers lose their leases"},
	{Name: "metrics-by-path", File: "api/server/handler.go", Old: "route = rec.route.path", New: "route = rec.route.id",
		Pkg: "./api/server", Run: "TestRequestsAreTold$", Why: "dashboards go by the routes of the document"},
}
