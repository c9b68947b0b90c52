package wire

import (
	"fmt"

	"github.com/taskrt/taskrt/task"
)

// These are the numbers of commands in the log. Never reuse or renumber one; a new command gets the next number.
const (
	kindSubmit uint64 = iota + 1
	kindAssign
	kindFinish
	kindBeat
	kindSnooze
	kindGiveBack
	kindCancel
	kindRemove
	kindOpenSession
	kindRenewSession
	kindCloseSession
	kindActivate
	kindTick
	kindRetryTask
	kindPutBehavior
	kindActivateVersion
	kindDeleteBehavior
	kindPauseBehavior
	kindDrainNode
	kindTxn
	kindStoreUpdate
	kindStoreClaim
	kindStartOperation
	kindCancelOperation
	kindRetryOperation
	kindRemoveOperation
	kindPutNamespace
	kindSetNamespaceStatus
	kindImportRecords
	kindNoteBlob
	kindDropBlobs
	kindStartMaintenance
	kindRecordRun
	kindDropTasks
	kindDropOperations
	kindTrimBehavior
	kindPurgeNamespace
	kindEndPurge
	kindRaiseLevel
	kindCrashSession
)

func kindOf(c task.Command) (uint64, error) {
	switch c.(type) {
	case task.Submit:
		return kindSubmit, nil
	case task.Assign:
		return kindAssign, nil
	case task.Finish:
		return kindFinish, nil
	case task.Beat:
		return kindBeat, nil
	case task.Snooze:
		return kindSnooze, nil
	case task.GiveBack:
		return kindGiveBack, nil
	case task.Cancel:
		return kindCancel, nil
	case task.Remove:
		return kindRemove, nil
	case task.OpenSession:
		return kindOpenSession, nil
	case task.RenewSession:
		return kindRenewSession, nil
	case task.CloseSession:
		return kindCloseSession, nil
	case task.Activate:
		return kindActivate, nil
	case task.Tick:
		return kindTick, nil
	case task.RetryTask:
		return kindRetryTask, nil
	case task.PutBehavior:
		return kindPutBehavior, nil
	case task.ActivateVersion:
		return kindActivateVersion, nil
	case task.DeleteBehavior:
		return kindDeleteBehavior, nil
	case task.PauseBehavior:
		return kindPauseBehavior, nil
	case task.DrainNode:
		return kindDrainNode, nil
	case task.Txn:
		return kindTxn, nil
	case task.StoreUpdate:
		return kindStoreUpdate, nil
	case task.StoreClaim:
		return kindStoreClaim, nil
	case task.StartOperation:
		return kindStartOperation, nil
	case task.CancelOperation:
		return kindCancelOperation, nil
	case task.RetryOperation:
		return kindRetryOperation, nil
	case task.RemoveOperation:
		return kindRemoveOperation, nil
	case task.PutNamespace:
		return kindPutNamespace, nil
	case task.SetNamespaceStatus:
		return kindSetNamespaceStatus, nil
	case task.ImportRecords:
		return kindImportRecords, nil
	case task.NoteBlob:
		return kindNoteBlob, nil
	case task.DropBlobs:
		return kindDropBlobs, nil
	case task.StartMaintenance:
		return kindStartMaintenance, nil
	case task.RecordRun:
		return kindRecordRun, nil
	case task.DropTasks:
		return kindDropTasks, nil
	case task.DropOperations:
		return kindDropOperations, nil
	case task.TrimBehavior:
		return kindTrimBehavior, nil
	case task.PurgeNamespace:
		return kindPurgeNamespace, nil
	case task.EndPurge:
		return kindEndPurge, nil
	case task.RaiseLevel:
		return kindRaiseLevel, nil
	case task.CrashSession:
		return kindCrashSession, nil
	}
	return 0, fmt.Errorf("%w: %T (commands are values, not pointers)", ErrUnknownCommand, c)
}

func decodeCommand(kind uint64, b []byte) (task.Command, []byte, error) {
	switch kind {
	case kindSubmit:
		return decode[task.Submit](b)
	case kindAssign:
		return decode[task.Assign](b)
	case kindFinish:
		return decode[task.Finish](b)
	case kindBeat:
		return decode[task.Beat](b)
	case kindSnooze:
		return decode[task.Snooze](b)
	case kindGiveBack:
		return decode[task.GiveBack](b)
	case kindCancel:
		return decode[task.Cancel](b)
	case kindRemove:
		return decode[task.Remove](b)
	case kindOpenSession:
		return decode[task.OpenSession](b)
	case kindRenewSession:
		return decode[task.RenewSession](b)
	case kindCloseSession:
		return decode[task.CloseSession](b)
	case kindActivate:
		return decode[task.Activate](b)
	case kindTick:
		return decode[task.Tick](b)
	case kindRetryTask:
		return decode[task.RetryTask](b)
	case kindPutBehavior:
		return decode[task.PutBehavior](b)
	case kindActivateVersion:
		return decode[task.ActivateVersion](b)
	case kindDeleteBehavior:
		return decode[task.DeleteBehavior](b)
	case kindPauseBehavior:
		return decode[task.PauseBehavior](b)
	case kindDrainNode:
		return decode[task.DrainNode](b)
	case kindTxn:
		return decode[task.Txn](b)
	case kindStoreUpdate:
		return decode[task.StoreUpdate](b)
	case kindStoreClaim:
		return decode[task.StoreClaim](b)
	case kindStartOperation:
		return decode[task.StartOperation](b)
	case kindCancelOperation:
		return decode[task.CancelOperation](b)
	case kindRetryOperation:
		return decode[task.RetryOperation](b)
	case kindRemoveOperation:
		return decode[task.RemoveOperation](b)
	case kindPutNamespace:
		return decode[task.PutNamespace](b)
	case kindSetNamespaceStatus:
		return decode[task.SetNamespaceStatus](b)
	case kindImportRecords:
		return decode[task.ImportRecords](b)
	case kindNoteBlob:
		return decode[task.NoteBlob](b)
	case kindDropBlobs:
		return decode[task.DropBlobs](b)
	case kindStartMaintenance:
		return decode[task.StartMaintenance](b)
	case kindRecordRun:
		return decode[task.RecordRun](b)
	case kindDropTasks:
		return decode[task.DropTasks](b)
	case kindDropOperations:
		return decode[task.DropOperations](b)
	case kindTrimBehavior:
		return decode[task.TrimBehavior](b)
	case kindPurgeNamespace:
		return decode[task.PurgeNamespace](b)
	case kindEndPurge:
		return decode[task.EndPurge](b)
	case kindRaiseLevel:
		return decode[task.RaiseLevel](b)
	case kindCrashSession:
		return decode[task.CrashSession](b)
	}
	return nil, nil, fmt.Errorf("%w: number %d", ErrUnknownCommand, kind)
}

func decode[C task.Command](b []byte) (task.Command, []byte, error) {
	var c C
	rest, err := cborModes.strict.UnmarshalFirst(b, &c)
	if err != nil {
		return nil, nil, malformed(err)
	}
	return c, rest, nil
}

// longest returns the length of the longest list in c. Everything that is committed must be readable, so a list that
// decoding would refuse must not be encoded.
func longest(c task.Command) int {
	switch c := c.(type) {
	case task.Submit:
		return len(c.Labels)
	case task.Activate:
		n := len(c.Behaviors)
		for i := range c.Behaviors {
			n = max(n, len(c.Behaviors[i].Policy.IDFrom))
		}
		return n
	case task.PutBehavior:
		return len(c.Policy.IDFrom)
	case task.Txn:
		n := max(len(c.Depends), len(c.Submits), len(c.Updates), len(c.Finishes), len(c.Deletes))
		for i := range c.Submits {
			n = max(n, len(c.Submits[i].Labels))
		}
		for i := range c.Updates {
			n = max(n, len(c.Updates[i].Labels))
		}
		return n
	case task.StoreUpdate:
		return max(len(c.Adds), len(c.Changes), len(c.Deletes), len(c.Depends))
	case task.StoreClaim:
		return len(c.Depends)
	case task.StartOperation:
		return max(len(c.Names), len(c.Labels))
	case task.DropBlobs:
		return len(c.Digests)
	case task.CrashSession:
		return len(c.Tokens)
	case task.DropTasks:
		return len(c.Tasks)
	case task.DropOperations:
		return len(c.Operations)
	case task.RecordRun:
		return len(c.Run.Objects)
	case task.ImportRecords:
		return max(len(c.Modules), len(c.Behaviors), len(c.Operations), len(c.Tasks), len(c.Records))
	}
	return 0
}
