package task

// Command is one change that can be proposed. The set is sealed: one struct, one file, one apply each.
// A command carries no time: Header does (SPEC C3). The commands are the value types of this package; package wire
// knows them all by number.
type Command interface {
	// apply decides and carries out the command. A refusal is a Result whose Code is not OK; it
	// changes nothing (but see Finish.late).
	apply(m *Machine) Result
}

var (
	_ Command = Submit{}
	_ Command = Assign{}
	_ Command = Finish{}
	_ Command = Beat{}
	_ Command = Snooze{}
	_ Command = GiveBack{}
	_ Command = Cancel{}
	_ Command = Remove{}
	_ Command = OpenSession{}
	_ Command = RenewSession{}
	_ Command = CloseSession{}
	_ Command = Activate{}
	_ Command = Tick{}
	_ Command = RetryTask{}
	_ Command = PutBehavior{}
	_ Command = ActivateVersion{}
	_ Command = DeleteBehavior{}
	_ Command = PauseBehavior{}
	_ Command = DrainNode{}
	_ Command = Txn{}
	_ Command = StoreUpdate{}
	_ Command = StoreClaim{}
	_ Command = StartOperation{}
	_ Command = CancelOperation{}
	_ Command = RetryOperation{}
	_ Command = RemoveOperation{}
	_ Command = PutNamespace{}
	_ Command = SetNamespaceStatus{}
	_ Command = ImportRecords{}
	_ Command = NoteBlob{}
	_ Command = DropBlobs{}
	_ Command = StartMaintenance{}
	_ Command = RecordRun{}
	_ Command = DropTasks{}
	_ Command = DropOperations{}
	_ Command = TrimBehavior{}
	_ Command = PurgeNamespace{}
	_ Command = EndPurge{}
	_ Command = RaiseLevel{}
	_ Command = CrashSession{}
)

// refuse returns the Result of a command that changes nothing.
func refuse(c Code, message string) Result { return Result{Code: c, Message: message} }

// invalid returns the Result of a command whose field is wrong in a way that its proposer should have seen.
func invalid(field, message string) Result {
	return Result{Code: InvalidCommand, Field: field, Message: message}
}
