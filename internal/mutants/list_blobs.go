package main

// blobMutants sabotage the records of blobs (SPEC M3).
var blobMutants = []mutant{
	{Name: "blobrec-drop-referenced", Dir: "task", In: "Machine.dropBlob", Old: "if r.Refs > 0 || r.Noted >= int64(before) {", New: "if r.Noted >= int64(before) {",
		Pkg: "./task", Run: "TestScripts$", Why: "a file that a task needs would be deleted (M3)"},
	{Name: "blobrec-drop-young", Dir: "task", In: "Machine.dropBlob", Old: "r.Noted >= int64(before) {", New: "r.Noted > int64(before) {",
		Pkg: "./task", Run: "TestScripts$", Why: "a file that was put while a run marked would be deleted (M3)"},
	{Name: "blobrec-drop-with-dead-token", Dir: "task", In: "DropBlobs.apply", Old: "if !m.maintenanceRun(c.Token) {", New: "if c.Token == 0 {",
		Pkg: "./task", Run: "TestScripts$", Why: "a run that was superseded would delete (M1, M3)"},
	{Name: "blobrec-half-stored-is-ready", Dir: "task", In: "Machine.stored", Old: "case r == nil || !r.Ready:", New: "case r == nil:",
		Pkg: "./task", Run: "TestScripts$", Why: "a command would refer to a file that one node has (H3)"},
	{Name: "blobrec-wrong-size", Dir: "task", In: "Machine.stored", Old: "case s == content && r.Size != size:", New: "case s == content && r.Size < 0 && size != 0:",
		Pkg: "./task", Run: "TestScripts$", Why: "a payload would say another length than its file has"},
	{Name: "blobrec-reference-does-not-refresh", Dir: "task/blobs", In: "Table.Refresh", Old: "r.Noted = at", New: "r.Noted += 0",
		Pkg: "./task", Run: "TestScripts$", Why: "a file with a new reference would be as old as its upload (M3)"},
	{Name: "blobrec-checkpoint-not-counted", Dir: "task", In: "Task.payloads", Old: "{ return [...]*Payload{&x.Params, &x.Result, &x.Checkpoint} }", New: "{ return [...]*Payload{&x.Params, &x.Result, &x.Result} }",
		Pkg: "./task", Run: "TestScripts$", Why: "the checkpoint of a long task would be deleted (M3)"},
	{Name: "blobrec-argument-not-counted", Dir: "task", In: "Operation.payloads", Old: "{ return [...]*Payload{&o.Arg, &o.Result} }", New: "{ return [...]*Payload{&o.Result, &o.Result} }",
		Pkg: "./task", Run: "TestScripts$", Why: "the argument of an operation would be deleted (M3)"},
	{Name: "blobrec-module-released-twice", Dir: "task", In: "Machine.releaseModule", Old: "m.blobs.Refer(d, -1)", New: "m.blobs.Refer(d, -2)",
		Pkg: "./task", Run: "TestScripts$", Why: "a module that is there would lose its file"},
	{Name: "blobrec-progress-refers", Dir: "task", In: "inline", Old: "case p.Blobs != nil: return invalid(field, \"only params, results, checkpoints and arguments refer to blobs\"", New: "case p.Blobs != nil && p.Encoding == None: return invalid(field, \"only params, results, checkpoints and arguments refer to blobs\"",
		Pkg: "./task", Run: "TestScripts$", Why: "progress would refer to files that nobody counts"},
	{Name: "blobrec-vouches-for-another-upload", Dir: "task", In: "NoteBlob.apply", Old: "r.Made > c.Since):", New: "r.Made > c.Since+1<<40):",
		Pkg: "./task", Run: "TestScripts$", Why: "an upload whose files were deleted would vouch for those of another (M3)"},
}
