package naive

import "github.com/taskrt/taskrt/task"

// apply carries out a command.
func (m *Model) apply(c task.Command, got task.Result) task.Result {
	switch c := c.(type) {
	case task.Submit: // I1-I5
		return m.submit(c, got)
	case task.RetryTask: // T1, T8, B2
		return m.retry(c, got)
	case task.Assign: // L1, T3, B2, J2, L10, L11
		return m.assign(c, got)
	case task.Finish: // L3, R1, R2, R4, L8, I3, J4
		return m.finish(c, got)
	case task.Beat: // L3, T8, J3
		return m.beat(c, got)
	case task.Snooze: // R5
		return m.snooze(c, got)
	case task.GiveBack: // R3
		return m.report(c.Key, c.Token, 0, c.External, used{c.Fuel, c.Pages}, got, func(t *task.Task) task.Code {
			return m.waitAgain(t, "GIVEN_BACK", m.Now, 0)
		})
	case task.Cancel: // L8
		return m.cancel(c, got)
	case task.Remove: // L9
		return m.removeTask(c.Key, got)
	case task.OpenSession: // L2, L5, L6
		return m.open(c, got)
	case task.RenewSession: // L2, L4
		return m.renew(c)
	case task.CloseSession: // R3
		return m.endSessionAs(c.Session, "GIVEN_BACK")
	case task.CrashSession: // L5
		return m.crash(c)
	case task.Activate, task.PutBehavior, task.ActivateVersion, task.DeleteBehavior, task.PauseBehavior: // B2, B7, B8, L10
		return m.behavior(c, got)
	case task.DrainNode: // L10
		return m.drain(c)
	case task.SetMember: // C2
		return m.setMember(c)
	case task.Refound: // C2, C8
		return m.refound(c)
	case task.Txn: // X1
		return m.txn(c, got)
	case task.StoreUpdate: // X2
		return m.storeUpdate(c, got)
	case task.StoreClaim: // X2
		return m.storeClaim(c, got)
	case task.StartOperation: // O1, O2
		return m.start(c, got)
	case task.CancelOperation: // O3
		return m.cancelOp(c.Key, got)
	case task.RetryOperation: // O3
		return m.retryOp(c.Key, got)
	case task.RemoveOperation: // O6
		return m.removeOp(c.Key)
	case task.Tick: // L4, L7, R1, T9, B8, H4
		return m.tick()
	}
	return m.keepHouse(c, got)
}

// keepHouse carries out a command of access tokens, bulk jobs, namespaces, blobs and maintenance.
func (m *Model) keepHouse(c task.Command, got task.Result) task.Result {
	switch c := c.(type) {
	case task.CreateToken: // A4
		return m.createToken(c, got)
	case task.RotateToken: // A4
		return m.rotateToken(c, got)
	case task.RevokeToken: // A4
		return m.revokeToken(c)
	case task.SetRoot: // A4
		return m.setRoot(c)
	case task.SetSignIn: // A7
		return m.setSignIn(c)
	case task.NoteRefusals: // A8
		return m.noteRefusals(c)
	case task.StartJob: // Q3
		return m.startJob(c, got)
	case task.SelectJob: // Q3
		return m.selectJob(c, got)
	case task.StepJob: // Q3
		return m.stepJob(c, got)
	case task.EndJob: // Q3
		return m.endJob(c, got)
	case task.NoteBlob: // M3
		return m.noteBlob(c)
	case task.HoldBlobs: // C8
		return m.holdBlobs(c)
	case task.DropBlobs: // M3
		return m.dropBlobs(c)
	case task.ImportRecords: // M5
		return m.importRecords(c, got)
	case task.PutNamespace: // N1
		return m.putNamespace(c, got)
	case task.SetNamespaceStatus: // N1
		return m.setStatus(c, got)
	case task.StartMaintenance: // M1
		return m.startMaintenance(c, got)
	case task.RecordRun: // M4
		return m.recordRun(c)
	case task.DropTasks: // M2
		return m.dropTasks(c)
	case task.DropOperations: // M2
		return m.dropOperations(c)
	case task.TrimBehavior: // M2, B8
		return m.trimBehavior(c)
	case task.PurgeNamespace: // M2, N1
		return m.purge(c)
	case task.EndPurge: // M2, N1
		return m.endPurge(c, got)
	}
	panic("naive: unknown command")
}
