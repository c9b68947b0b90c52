package main

// formerMutants sabotage what later versions owe to what earlier ones wrote (SPEC C9).
var formerMutants = []mutant{
	{Name: "former-digest", Dir: "task", In: "hashTask", Old: "h.Word(has<<16 | uint64(t.Status)<<8 | uint64(uint8(t.Priority)))", New: "h.Word(has<<16 | uint64(t.Status) | uint64(uint8(t.Priority))<<8)",
		Pkg: "./internal/corpus/corpustest", Run: "TestVersions$", Why: "C9: in a cluster of two versions one of them would stop"},
	{Name: "former-barred-late", Dir: "raftstore/members", In: "vet", Old: "if why := levelError(\"this build\", self.Level, f.Level); why != \"\" {", New: "if why := levelError(\"this build\", self.Level, f.Level); why == \"?\" {",
		Pkg: "./raftstore", Run: "TestDirectoriesOfFormerVersions$", Why: "C9: a former build would read a log that it does not know"},
	{Name: "former-level-skips", Dir: "raftstore/members", In: "Members.RaiseLevel", Old: "clear(since)", New: "_ = since",
		Pkg: "./raftstore", Run: "TestDirectoriesOfFormerVersions$", Why: "C9: the second of two levels would be raised without its ten minutes"},
	{Name: "former-corpus-unlisted", Dir: "internal/corpus", In: "Read", Old: "} else if got := Sum(text); got != want {", New: "} else if got := Sum(text); got == \"\" {",
		Pkg: "./internal/corpus", Run: "TestRead$", Why: "C9: what a version wrote could be changed until the tests pass"},
}
