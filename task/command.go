package task

// Command is one change that can be proposed. The set is sealed: each command has one struct, one file and one apply. A command carries no time,
// because Header does (SPEC C3). The commands are value types of this package. Package wire knows them all by number.
type Command interface {
	// apply decides and carries out the command. A refusal is a Result whose Code is not OK. It changes nothing (but see Finish.late).
	apply(m *Machine) Result
}

// The commands by their numbers in the log: never reuse or renumber one. A new command gets the next number here; package wire is generated from it.
//
//fields:commands
var (
	_ Command = Submit{}             // 1
	_ Command = Assign{}             // 2
	_ Command = Finish{}             // 3
	_ Command = Beat{}               // 4
	_ Command = Snooze{}             // 5
	_ Command = GiveBack{}           // 6
	_ Command = Cancel{}             // 7
	_ Command = Remove{}             // 8
	_ Command = OpenSession{}        // 9
	_ Command = RenewSession{}       // 10
	_ Command = CloseSession{}       // 11
	_ Command = Activate{}           // 12
	_ Command = Tick{}               // 13
	_ Command = RetryTask{}          // 14
	_ Command = PutBehavior{}        // 15
	_ Command = ActivateVersion{}    // 16
	_ Command = DeleteBehavior{}     // 17
	_ Command = PauseBehavior{}      // 18
	_ Command = DrainNode{}          // 19
	_ Command = Txn{}                // 20
	_ Command = StoreUpdate{}        // 21
	_ Command = StoreClaim{}         // 22
	_ Command = StartOperation{}     // 23
	_ Command = CancelOperation{}    // 24
	_ Command = RetryOperation{}     // 25
	_ Command = RemoveOperation{}    // 26
	_ Command = PutNamespace{}       // 27
	_ Command = SetNamespaceStatus{} // 28
	_ Command = ImportRecords{}      // 29
	_ Command = NoteBlob{}           // 30
	_ Command = DropBlobs{}          // 31
	_ Command = StartMaintenance{}   // 32
	_ Command = RecordRun{}          // 33
	_ Command = DropTasks{}          // 34
	_ Command = DropOperations{}     // 35
	_ Command = TrimBehavior{}       // 36
	_ Command = PurgeNamespace{}     // 37
	_ Command = EndPurge{}           // 38
	_ Command = RaiseLevel{}         // 39
	_ Command = CrashSession{}       // 40
	_ Command = CreateToken{}        // 41
	_ Command = RevokeToken{}        // 42
	_ Command = RotateToken{}        // 43
	_ Command = SetRoot{}            // 44
	_ Command = NoteRefusals{}       // 45
	_ Command = SetSignIn{}          // 46
	_ Command = SetMember{}          // 47
	_ Command = Refound{}            // 48
	_ Command = HoldBlobs{}          // 49
	_ Command = StartJob{}           // 50
	_ Command = SelectJob{}          // 51
	_ Command = StepJob{}            // 52
	_ Command = EndJob{}             // 53
)

// refuse returns the Result of a command that changes nothing.
func refuse(c Code, message string) Result { return Result{Code: c, Message: message} }

// invalid returns the Result of a command whose field is wrong in a way that its proposer should have seen.
func invalid(field, message string) Result {
	return Result{Code: InvalidCommand, Field: field, Message: message}
}
