package sim

import (
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// Op is a command in symbolic form. Zero fields are left out of scripts.
type Op struct {
	Verb string `json:"-"`
	// Origin: process, seq, lowest (SPEC H4); all zero: none.
	Process uint64 `json:"process,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
	Lowest  uint64 `json:"lowest,omitempty"`

	NS       string        `json:"ns,omitempty"` // "": default
	ID       string        `json:"id,omitempty"`
	Behavior string        `json:"behavior,omitempty"`
	If       task.IfExists `json:"if,omitempty"`
	At       task.Time     `json:"at,omitempty"`
	Delay    task.Millis   `json:"delay,omitempty"`
	Deadline task.Time     `json:"deadline,omitempty"`
	Priority int8          `json:"priority,omitempty"`
	Label    string        `json:"label,omitempty"`

	// A token: of attempt Attempt of the task, or of the task Of. Attempt 0 is a token that never was.
	Attempt int64  `json:"attempt,omitempty"`
	Of      string `json:"of,omitempty"`
	Report  uint64 `json:"report,omitempty"`

	Age int `json:"age,omitempty"` // assign: 0 the record's current rev, n: its n-th rev before

	Worker string      `json:"worker,omitempty"` // with Nth: the n-th session of the worker, from 1
	Nth    int         `json:"nth,omitempty"`
	Node   string      `json:"node,omitempty"`
	Slots  int64       `json:"slots,omitempty"`
	TTL    task.Millis `json:"ttl,omitempty"`
	Proof  string      `json:"proof,omitempty"`
	Acked  uint64      `json:"acked,omitempty"`

	// JSON payloads; nil: not given.
	Params     *string `json:"params,omitempty"`
	Result     *string `json:"result,omitempty"`
	Progress   *string `json:"progress,omitempty"`
	Checkpoint *string `json:"checkpoint,omitempty"`
	Error      string  `json:"error,omitempty"` // an error code
	Permanent  bool    `json:"permanent,omitempty"`

	Module    string   `json:"module,omitempty"`
	Behaviors []Policy `json:"behaviors,omitempty"`
}

// Policy is what a script says of a behavior; all else is the default.
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
}

func (p Policy) activated() task.Activated {
	d := task.DefaultPolicy()
	d.Retry = task.Retry{
		MaxAttempts: p.MaxAttempts, InitialInterval: p.InitialInterval, MultiplierThousandth: p.Multiplier,
		MaxInterval: p.MaxInterval, JitterPercent: p.Jitter,
	}
	d.MaxLost, d.KeepSuccess, d.KeepFailure, d.ResultRequired = p.MaxLost, p.KeepSuccess, p.KeepFailure, p.Required
	return task.Activated{Name: p.Name, Policy: d}
}

// symbols resolves what operations name to the machine's numbers.
type symbols struct {
	tokens   map[task.Key]map[int64]uint64
	revs     map[task.Key][]uint64
	sessions map[string][]uint64
	seen     map[uint64]bool
}

func newSymbols() *symbols {
	return &symbols{map[task.Key]map[int64]uint64{}, map[task.Key][]uint64{}, map[string][]uint64{}, map[uint64]bool{}}
}

// observe learns the numbers of the machine's present state.
func (s *symbols) observe(m *task.Machine) {
	for _, t := range allTasks(m) {
		k := task.Key{Namespace: t.Namespace, ID: t.ID}
		if n := len(s.revs[k]); n == 0 || s.revs[k][n-1] != t.Rev {
			s.revs[k] = append(s.revs[k], t.Rev)
		}
		if t.Lease != nil {
			if s.tokens[k] == nil {
				s.tokens[k] = map[int64]uint64{}
			}
			s.tokens[k][t.Attempt] = t.Lease.Token
		}
	}
	for _, x := range m.Sessions() {
		if !s.seen[x.ID] {
			s.seen[x.ID] = true
			s.sessions[x.Worker] = append(s.sessions[x.Worker], x.ID)
		}
	}
}

const never = 1 << 62 // a token, rev or session that no machine has given

func (s *symbols) token(o Op) uint64 {
	k := o.key()
	if o.Of != "" {
		k.ID = o.Of
	}
	if t, ok := s.tokens[k][o.Attempt]; ok {
		return t
	}
	return never
}

func (s *symbols) rev(o Op) uint64 {
	revs := s.revs[o.key()]
	if o.Age < len(revs) {
		return revs[len(revs)-1-o.Age]
	}
	return never
}

func (s *symbols) session(o Op) uint64 {
	if ids := s.sessions[o.Worker]; o.Nth >= 1 && o.Nth <= len(ids) {
		return ids[o.Nth-1]
	}
	return never
}

// name is the inverse of session.
func (s *symbols) name(session uint64) (worker string, nth int) {
	for w, ids := range s.sessions {
		if i := slices.Index(ids, session); i >= 0 {
			return w, i + 1
		}
	}
	return "", 0
}

func (o Op) key() task.Key {
	if o.NS == "" {
		return task.Key{Namespace: task.DefaultNamespace, ID: o.ID}
	}
	return task.Key{Namespace: o.NS, ID: o.ID}
}

func payload(s *string) task.Payload {
	if s == nil {
		return task.Payload{}
	}
	return task.Payload{Encoding: task.JSON, Data: []byte(*s)}
}

func payloadRef(s *string) *task.Payload {
	if s == nil {
		return nil
	}
	p := payload(s)
	return &p
}

// resolve makes the proposal that the operation stands for.
func (s *symbols) resolve(o Op) task.Proposal {
	return task.Proposal{Origin: task.Origin{Process: o.Process, Seq: o.Seq, Lowest: o.Lowest}, Command: s.command(o)}
}

func (s *symbols) command(o Op) task.Command {
	k := o.key()
	switch o.Verb {
	case "submit":
		c := task.Submit{
			Namespace: k.Namespace, ID: k.ID, Behavior: o.Behavior, Params: payload(o.Params), IfExists: o.If,
			NotBefore: o.At, Delay: o.Delay, Deadline: o.Deadline, Priority: o.Priority, HasParams: o.Params != nil,
		}
		if o.Label != "" {
			c.Labels = []task.Label{{Name: "l", Value: o.Label}}
		}
		return c
	case "assign":
		return task.Assign{Key: k, Rev: s.rev(o), Session: s.session(o)}
	case "finish":
		c := task.Finish{Key: k, Token: s.token(o), Seq: o.Report, Result: payload(o.Result)}
		if o.Error != "" {
			c.Error = &task.Error{Code: o.Error, Retryable: !o.Permanent}
		}
		return c
	case "beat":
		return task.Beat{Key: k, Token: s.token(o), Seq: o.Report, Progress: payloadRef(o.Progress), Checkpoint: payloadRef(o.Checkpoint)}
	case "snooze":
		return task.Snooze{Key: k, Token: s.token(o), Seq: o.Report, At: o.At, Checkpoint: payloadRef(o.Checkpoint)}
	case "giveback":
		return task.GiveBack{Key: k, Token: s.token(o)}
	case "cancel":
		return task.Cancel{Key: k}
	case "remove":
		return task.Remove{Key: k}
	case "open":
		return task.OpenSession{Worker: o.Worker, Node: o.Node, Slots: o.Slots, TTL: o.TTL, Proof: []byte(o.Proof)}
	case "renew":
		return task.RenewSession{Session: s.session(o), Acked: o.Acked}
	case "close":
		return task.CloseSession{Session: s.session(o)}
	case "activate":
		c := task.Activate{Namespace: k.Namespace, Module: module(o.Module)}
		for _, b := range o.Behaviors {
			c.Behaviors = append(c.Behaviors, b.activated())
		}
		return c
	case "tick":
		return task.Tick{}
	}
	panic(fmt.Sprintf("sim: unknown verb %q", o.Verb))
}

// module makes up the module that a script calls name.
func module(name string) task.Module {
	return task.Module{Digest: "digest-of-" + name, Size: int64(len(name)), Manifest: []byte(`{"name":"` + name + `"}`), Version: "version-" + name}
}
