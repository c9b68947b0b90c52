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
	OfAccess // of the Scalars besides the tokens: package access relies on its place after the kind of tokens
	OfAudit
	OfAuditScalars // as OfAccess, of package audit
	OfMember
	OfHold
	OfJob
)
