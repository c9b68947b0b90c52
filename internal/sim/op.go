package sim

import "github.com/taskrt/taskrt/task"

// Op is a command in symbolic form. Zero fields are left out of scripts.
type Op struct {
	Verb string `json:"-"`
	// Origin: process, seq, lowest (SPEC H4); all zero: no origin.
	Process uint64 `json:"process,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
	Lowest  uint64 `json:"lowest,omitempty"`
	Body    uint64 `json:"body,omitempty"` // an idempotency key

	NS       string        `json:"ns,omitempty"` // "": default
	ID       string        `json:"id,omitempty"`
	Behavior string        `json:"behavior,omitempty"`
	If       task.IfExists `json:"if,omitempty"`
	At       task.Time     `json:"at,omitempty"`
	Delay    task.Millis   `json:"delay,omitempty"`
	Deadline task.Time     `json:"deadline,omitempty"`
	Priority int8          `json:"priority,omitempty"`
	Label    string        `json:"label,omitempty"`
	Key      string        `json:"key,omitempty"`      // a concurrency key
	Existing bool          `json:"existing,omitempty"` // resubmit of a task that exists
	Valid    int           `json:"valid,omitempty"`    // with a BehaviorRev: 1 the present one, n the one n-1 changes before; note: since when the record is there, or since n-1 entries before

	// A token: of attempt Attempt of the task, or of the task Of. Attempt 0 is a token that never was.
	Attempt int64  `json:"attempt,omitempty"`
	Of      string `json:"of,omitempty"`
	Report  uint64 `json:"report,omitempty"`

	External bool        `json:"external,omitempty"` // a report over HTTP; assign: to an acceptor
	Lease    task.Millis `json:"lease,omitempty"`    // assign: the acceptor's; beat: extend
	Request  string      `json:"request,omitempty"`  // with At as max_not_before: the acceptor's
	Again    task.Time   `json:"again,omitempty"`
	Fuel     int64       `json:"fuel,omitempty"`   // of a report that ends a run
	Pages    int64       `json:"pages,omitempty"`  // as fuel, of memory
	Fresh    bool        `json:"fresh,omitempty"`  // assign: what the same entry has written
	InTxn    bool        `json:"in_txn,omitempty"` // finish
	Parent   string      `json:"parent,omitempty"` // submit
	Marks    bool        `json:"marks,omitempty"`  // submit: the label and the priority are given
	Trace    task.Time   `json:"trace,omitempty"`  // submit, start: number of a trace

	// Age is the age of a rev. 0: the record's current rev; n: its n-th rev before. In a transaction, 0 is no rev, and n+1 stands for n.
	Age int `json:"age,omitempty"`

	Version string `json:"version,omitempty"` // retry: a module's or policy's name, or "active"; rollback
	Keep    bool   `json:"keep,omitempty"`    // retry: keep the checkpoint
	On      bool   `json:"on,omitempty"`      // pause, drain; delete: purge; refound: without tokens
	Parts   []Part `json:"parts,omitempty"`   // of a transaction or a store update, and the depends of a claim

	// TaskStore: records are numbered in the order in which they were seen first, from 1.
	Client int64       `json:"client,omitempty"`
	Group  string      `json:"group,omitempty"`
	Data   string      `json:"data,omitempty"`
	Record int         `json:"record,omitempty"`
	For    task.Millis `json:"for,omitempty"` // claim
	Seed   uint64      `json:"seed,omitempty"`

	Worker string      `json:"worker,omitempty"` // with Nth: the n-th session of the worker, from 1
	Nth    int         `json:"nth,omitempty"`
	Node   string      `json:"node,omitempty"`
	Slots  int64       `json:"slots,omitempty"`
	TTL    task.Millis `json:"ttl,omitempty"`
	Proof  string      `json:"proof,omitempty"`
	Acked  uint64      `json:"acked,omitempty"`
	Hello  uint64      `json:"hello,omitempty"` // crash: before
	Alone  bool        `json:"alone,omitempty"`
	Apart  bool        `json:"apart,omitempty"` // open: it isolates

	// JSON payloads; nil: not given. "@b1" is the blob b1, "@!b1" says a wrong size, "#b1#b2" names two.
	Params     *string `json:"params,omitempty"`
	Result     *string `json:"result,omitempty"`
	Progress   *string `json:"progress,omitempty"`
	Checkpoint *string `json:"checkpoint,omitempty"`
	Error      string  `json:"error,omitempty"` // an error code
	Permanent  bool    `json:"permanent,omitempty"`

	// Operations.
	Target     string `json:"target,omitempty"`
	Object     string `json:"object,omitempty"`
	Partitions int64  `json:"partitions,omitempty"`
	Named      bool   `json:"named,omitempty"` // the partitions have names

	// Namespaces: NS is the name.
	Create    bool                 `json:"create,omitempty"`
	Quota     *task.Quota          `json:"quota,omitempty"`
	Retention *task.Retention      `json:"retention,omitempty"`
	Share     *task.Share          `json:"share,omitempty"`
	Status    task.NamespaceStatus `json:"status,omitempty"`

	From string `json:"from,omitempty"` // import: what the parts name of that namespace, as it was after the last entry

	// Blobs and maintenance. The attempt is the run's attempt.
	Blob  string   `json:"blob,omitempty"`
	Size  int64    `json:"size,omitempty"`
	Blobs []string `json:"blobs,omitempty"`
	Max   int64    `json:"max,omitempty"`
	Noted bool     `json:"noted,omitempty"` // activate: as a node does whose module is in the blob store

	// Access tokens: Size has the roles, Group a pattern, Delay a TTL or an overlap, Hello a number.
	Name   string `json:"name,omitempty"`
	Secret string `json:"secret,omitempty"` // "-": of a wrong length
	By     string `json:"by,omitempty"`     // the caller: an access token's name, "root", or somebody unknown
	Route  bool   `json:"route,omitempty"`  // the caller says from where and by which route
	Long   int    `json:"long,omitempty"`   // how often it says on what
	Look   bool   `json:"look,omitempty"`   // Apply decides whether the caller may

	// Bulk jobs are numbered in the order of their starts, from 1. The filter is Params, the rate or the count Size, the parts are the tasks of a step.
	Job    int    `json:"job,omitempty"`
	Action uint64 `json:"action,omitempty"`

	Module    string   `json:"module,omitempty"`
	Behaviors []Policy `json:"behaviors,omitempty"`
}

// Part is one part of a transaction or of a store update: submit, update, finish, delete, depend; add, change.
type Part struct {
	Kind string `json:"kind"`
	Op
}

// Policy is what a script says about a behavior; everything else is the default.
type Policy struct {
	Name            string      `json:"name"`
	MaxAttempts     int64       `json:"max_attempts"`
	InitialInterval task.Millis `json:"initial"`
	Multiplier      int64       `json:"multiplier"`
	MaxInterval     task.Millis `json:"max_interval"`
	Jitter          int64       `json:"jitter"`
	MaxLost         int64       `json:"max_lost"`
	KeepSuccess     task.Millis `json:"keep_success"`
	KeepFailure     task.Millis `json:"keep_failure"`
	Required        bool        `json:"required,omitempty"`

	RunTimeout    task.Millis `json:"run_timeout,omitempty"` // 0: the default
	FailOnTimeout bool        `json:"fail_on_timeout,omitempty"`
	CancelGrace   task.Millis `json:"cancel_grace,omitempty"` // 0: the default
	RepeatEvery   task.Millis `json:"repeat_every,omitempty"`
	RepeatAny     bool        `json:"repeat_any,omitempty"`
	MaxConcurrent int64       `json:"max_concurrent,omitempty"`
	MaxPerKey     int64       `json:"max_per_key,omitempty"`
	KeyStrict     bool        `json:"key_strict,omitempty"`
	Lease         task.Millis `json:"lease,omitempty"`

	Operation *task.OperationPolicy `json:"operation,omitempty"`
}

func (p Policy) policy() task.Policy {
	d := task.DefaultPolicy()
	d.Retry = task.Retry{
		MaxAttempts: p.MaxAttempts, InitialInterval: p.InitialInterval, MultiplierThousandth: p.Multiplier,
		MaxInterval: p.MaxInterval, JitterPercent: p.Jitter,
	}
	d.MaxLost, d.KeepSuccess, d.KeepFailure, d.ResultRequired = p.MaxLost, p.KeepSuccess, p.KeepFailure, p.Required
	if p.RunTimeout > 0 {
		d.RunTimeout = p.RunTimeout
	}
	if p.CancelGrace > 0 {
		d.CancelGrace = p.CancelGrace
	}
	if p.FailOnTimeout {
		d.OnTimeout = task.OnErrorFail
	}
	d.RepeatEvery, d.RepeatAny, d.MaxConcurrent, d.MaxPerKey = p.RepeatEvery, p.RepeatAny, p.MaxConcurrent, p.MaxPerKey
	if d.KeyStrict, d.Lease = p.KeyStrict, p.Lease; p.MaxPerKey > 0 {
		d.ConcurrencyKey = "/key"
	}
	d.Operation = p.Operation
	return d
}
