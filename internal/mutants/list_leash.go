package main

// leashMutants sabotage what ends the processes of tests that do not end them.
var leashMutants = []mutant{
	{Name: "leash-lets-go", Dir: "internal/leash", In: "watch", Old: "`trap '' HUP INT TERM; read -r _; kill -KILL 0`", New: "`trap '' HUP INT TERM; read -r _`",
		Pkg: "./internal/leash", Run: "TestNothingIsLeft$/killed", Why: "servers and guests of a test that was killed would go on"},
	{Name: "leash-hangs-up", Dir: "internal/leash", In: "watch", Old: "`trap '' HUP INT TERM; read -r _; kill -KILL 0`", New: "`read -r _; kill -KILL 0`",
		Pkg: "./internal/leash", Run: "TestNothingIsLeft$/killed", Why: "a stopped process would keep all others alive: the kernel hangs up on the watcher"},
}
