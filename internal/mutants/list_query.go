package main

// queryMutants sabotage the index of tasks (SPEC Q1).
var queryMutants = []mutant{
	{Name: "query-labels-of-a-resubmit", Dir: "node/query", In: "Index.change", Old: "prev != nil && slices.Equal(prev.Labels, t.Labels)", New: "prev != nil",
		Pkg: "./node/query", Run: "TestFindsWhatIsThere", Why: "a task whose labels changed is found by the new ones"},
	{Name: "query-postings-move", Dir: "node/query", In: "joined", Old: "uint64(n-1)", New: "uint64(n)",
		Pkg: "./node/query", Run: "TestFindsWhatIsThere", Why: "labels belong to the same tasks after a segment was written anew"},
	{Name: "query-workers-leave", Dir: "node/query", In: "places.join", Old: "x.leave(from)", New: "",
		Pkg: "./node/query", Run: "TestFindsWhatIsThere", Why: "the numbers of workers that are gone are given again"},
	{Name: "query-behind-the-look", Dir: "node/query", In: "Index.build", Old: "x.horizon = next", New: "x.horizon = next + 2",
		Pkg: "./node/query", Run: "TestFindsWhatIsThere", Why: "an index that is made anew has all tasks"},
	{Name: "query-caught-up", Dir: "node/query", In: "Index.List", Old: "x.CatchUp(ctx)", New: "error(nil)",
		Pkg: "./node", Run: "TestListsSeeWhatWasAcknowledged", Why: "a list has what was acknowledged before it was asked for"},
}
