package main

// cMutants sabotage the C SDK as a new plugin gets it: the overlay reaches what the binary embeds. They need its toolchain.
var cMutants = []mutant{
	{Name: "c-cancel-not-seen", File: "plugins/sdk/c/taskrt.h", Old: "return (signals & (TASKRT_CANCEL | TASKRT_LEASE_LOST)) != 0;", New: "return (signals & TASKRT_LEASE_LOST) != 0;",
		Pkg: "./cmd/taskrt", Run: "TestNewC$", Real: true, Why: "guests would be killed that could have cleaned up"},
	{Name: "c-multiplication-cut", File: "plugins/sdk/c/taskrt.h", Old: "uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);", New: "uint64_t high = a1 * b1 + (middle >> 32);",
		Pkg: "./plugins/sdk", Run: "TestCProducts$", Real: true, Why: "a loop that clang makes a formula would compute something else"},
	{Name: "c-json-depth-unbounded", File: "plugins/sdk/c/taskrt.h", Old: "if (depth == TASKRT_JSON_DEPTH) return", New: "if (depth == TASKRT_JSON_DEPTH + 1) return",
		Pkg: "./plugins/sdk", Run: "TestCJSON$", Real: true, Why: "params could write behind the array of what is open"},
	{Name: "c-json-ties-to-even-always", File: "plugins/sdk/c/taskrt.h", Old: "(tail == half && (rest || (m & 1) != 0))", New: "(tail == half && ((rest && m == 0) || (m & 1) != 0))",
		Pkg: "./plugins/sdk", Run: "TestCJSON$", Real: true, Why: "numbers would be read as the double next to the nearest"},
	{Name: "c-pages-kept", File: "plugins/sdk/c/taskrt.h", Old: "all->arena.at = all->arena.begin;", New: "",
		Pkg: "./plugins/sdk", Run: "TestCFeatures$", Real: true, Why: "a completion of many partitions would run out of memory"},
}
