package hash

// Kinds of hashed things. They are part of the replicated contract: New takes one.
const (
	OfTask uint64 = iota + 1
	OfBehavior
	OfModule
	OfSession
	OfProcess
	OfAnswer
	OfEntry
	OfFinish
	OfStoreRecord
	OfDrained
	OfClientKey
	OfNamespace
	OfOperation
	OfInstance
	OfBlob
	OfRun
	OfOperationState
	OfAccessToken
	OfAccess // of what is known besides the tokens: package access knows that it follows
	OfAudit
	OfAuditScalars // as OfAccess, of package audit
	OfMember
	OfHold
	OfJob
)
