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

	// The hold.
	{Name: "hold-ignored", Dir: "task", In: "DropBlobs.apply", Old: "if m.blobs.Holds.Len() > 0 {", New: "if m.blobs.Holds.Len() > 99 {",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C8: maintenance would drop what a backup is about to read"},
	{Name: "hold-for-ever", Dir: "task", In: "Tick.apply", Old: "m.tickChange = m.blobs.Holds.Expire(int64(m.leaseNow)) || m.tickChange", New: "",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C8: a saver that died would keep the disks filling"},
	{Name: "hold-renewed-late", Dir: "task/holds", In: "Table.Carry", Old: "case !lives && (renew || x.TTL == 0):", New: "case !lives && x.TTL == 0:",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C8: a backup would be finished of which blobs may be gone"},
	{Name: "hold-below-the-level", Dir: "task", In: "HoldBlobs.level", Old: "return MembersLevel", New: "return FirstLevel",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C9: the former build could not come back"},
	{Name: "hold-lost-in-snapshots", Dir: "task", In: "restorer.take", Old: "m.blobs.Holds.Restore(h.Holds)", New: "",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C8: a node that restarts would drop what a backup reads"},
	{Name: "hold-outlives-its-cluster", Dir: "task", In: "Refound.apply", Old: "m.blobs.Holds.Restore(nil)", New: "",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C8: a new cluster would wait for the saver of its own backup"},
	{Name: "hold-ends-without-a-leader", Dir: "task", In: "Machine.extendSessions", Old: "m.blobs.Holds.Extend(int64(m.leaseNow))", New: "",
		Pkg: "./task", Run: "TestScripts$/hold", Why: "C8: an election would end a backup of hours"},
	{Name: "hold-not-told", Dir: "node/maintain", In: "Run.dropBlobs", Old: "r.kept += res.Left", New: "",
		Pkg: "./node/maintain", Run: "TestHeldBlobsStay$", Why: "C8: nobody would know why the disks stay full"},

	// Saving.
	{Name: "saving-hold-over-goes-on", Dir: "node/saving", In: "saving.renew", Old: "x.cancel(errHoldOver)", New: "",
		Pkg: "./node/saving", Run: "TestHoldOver$", Why: "C8: a backup would be read for hours that cannot be finished"},
	{Name: "saving-hold-not-renewed", Dir: "node/saving", In: "saving.begin", Old: "x.work.Go(func() { x.renew(ctx) })", New: "",
		Pkg: "./node/saving", Run: "TestRateAndRenewal$", Why: "C8: no backup of more than a minute would succeed"},
	{Name: "saving-missing-silently", Dir: "node/saving", In: "saving.blob", Old: "case errors.Is(err, blob.ErrNotFound) && x.request.AllowMissing && ctx.Err() == nil:", New: "case errors.Is(err, blob.ErrNotFound) && ctx.Err() == nil:",
		Pkg: "./node/saving", Run: "TestMissing$", Why: "C8: a backup would lack what tasks need, and nobody would know"},
	{Name: "saving-holds-on", Dir: "node/saving", In: "saving.end", Old: "if x.hold != \"\" {", New: "if x.hold == \"?\" {",
		Pkg: "./node/saving", Run: "TestClose$", Why: "C8: blobs would stay for a minute more, and sixteen who go away would keep everybody out"},
	{Name: "saving-without-a-rate", Dir: "node/saving", In: "saving.write", Old: "w.Pace = func(bytes int) error { return x.limit.WaitN(ctx, bytes) }", New: "_ = w.Pace",
		Pkg: "./node/saving", Run: "TestRateAndRenewal$", Why: "C8: a backup would take the disk away from the log"},

	// Restoring.
	{Name: "restore-not-empty", Dir: "node/restoring", In: "Plan.room", Old: "if e.Name() != \"lost+found\" {", New: "if e.Name() == \"lost+found\" {",
		Pkg: "./node/restoring", Run: "TestRefused$", Why: "C8: a backup would be restored over a node that there is"},
	{Name: "restore-half-a-node", Dir: "node/restoring", In: "Plan.begin", Old: "_, err := members.Rebegin(p.raft(), p.Node, \"\", task.KnownLevel, p.again())", New: "_, err := task.KnownLevel, error(nil)",
		Pkg: "./node/restoring", Run: "TestInterrupted$", Why: "C8: a server would start an empty cluster where a restore was interrupted"},
	{Name: "restore-missing-silently", Dir: "node/restoring", In: "Restore", Old: "if r.Missing > 0 && !p.AllowMissing {", New: "if r.Missing > 1 && !p.AllowMissing {",
		Pkg: "./node/restoring", Run: "TestRefused$", Why: "C8: tasks would fail for want of files, and nobody would know why"},
	{Name: "restore-keeps-tokens", Dir: "node/restoring", In: "Plan.found", Old: "DropTokens: p.DropTokens,", New: "DropTokens: false,",
		Pkg: "./node/restoring", Run: "TestRestore$", Why: "C8: tokens would hold that the operator wanted dropped"},
}
