package main

// backupMutants sabotage backups (SPEC C8).
var backupMutants = []mutant{
	{Name: "backup-flips-pass", Dir: "backup", In: "pieceReader.next", Old: "if checksum(p.number, head[:], b) != binary.BigEndian.Uint32(head[9:]) {", New: "if false {",
		Pkg: "./backup", Run: "TestFlipped$", Why: "C8: damage would show as something else, or not at all"},
	{Name: "backup-longer-passes", Dir: "backup", In: "Reader.finish", Old: "if err := b.pieces.ended(); err != nil {", New: "if err := b.pieces.ended(); err != nil && false {",
		Pkg: "./backup", Run: "TestCut$", Why: "C8: a file with something behind it would be taken for a backup"},
	{Name: "backup-foreign-blobs", Dir: "backup", In: "Verify", Old: "if i >= len(needed) || needed[i] != x.Blob {", New: "if i >= len(needed) {",
		Pkg: "./backup", Run: "TestForeignBlobs$", Why: "C8: a backup without a blob that a task needs would be verified"},
	{Name: "backup-few-blobs", Dir: "backup", In: "Verify", Old: "if v.Header.WithBlobs && i != len(needed) {", New: "if false {",
		Pkg: "./backup", Run: "TestForeignBlobs$", Why: "C8: a backup without a blob that a task needs would be verified"},
	{Name: "backup-other-state", Dir: "backup", In: "Reader.Machine", Old: "d.Index != b.header.Index || d.Sum != b.header.Digest || m.Level() != b.header.Level", New: "d.Index == 0",
		Pkg: "./backup", Run: "TestVerify$", Why: "C8: inspect would show another state than the file has"},
	{Name: "backup-later-level", Dir: "backup", In: "Reader.Known", Old: "case h.Level > task.KnownLevel:", New: "case false:",
		Pkg: "./backup", Run: "TestVerify$", Why: "C9: nobody would be told which version can read the file"},
	{Name: "backup-wrong-blob-written", Dir: "backup", In: "Writer.Blob", Old: "if size != b.Size || string(sum.Sum(nil)) != string(w.last[:]) {", New: "if size < 0 {",
		Pkg: "./backup", Run: "TestWriterRefuses$", Why: "C8: a backup would be finished that cannot be restored"},
}
