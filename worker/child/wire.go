package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/upload"
	"github.com/taskrt/taskrt/worker"
)

// Kinds of messages. A call comes with a socket of its own. The answer goes over this socket, and closing it takes the
// call back.
const (
	// To the child:

	msgStart = 'S' // spec
	msgDrain = 'D'
	msgAsk   = 'Q' // asks for a report
	msgBegin = 'B' // the answer to msgUp: from now on the child may work

	// To the parent:

	msgUp       = 'u' // up
	msgHeld     = 'h' // worker.Held: guests may execute until its margin; Session 0: none executes, and this is a sign of life
	msgEnded    = 'e' // what OnEnd was told; see ended.go
	msgCompiled = 'c' // compiled
	msgReport   = 'r' // report
	msgSuspects = 's' // bool: whether suspects wait (SPEC L5)
	msgFailed   = 'f' // text: the child cannot do its work, and ends

	callDial    = '1' // dialCall; after the answer the socket is the stream to the leader
	callModule  = '2' // moduleCall; the answer comes with a file
	callBlob    = '3' // digest; the answer comes with a file
	callPut     = '4' // how many bytes follow on the call's socket; answered with the digest
	callCompile = '5' // moduleCall
	callSecret  = '6' // outsideCall; answered with the secret
	callTasks   = '7' // outsideCall
	callLimits  = '8' // outsideCall; answered with limits
	callHTTP    = '9' // outsideCall; the body follows on the call's socket; answered with head, and a file that is the body

	putBytes = 'b'

	answerDone   = '+'
	answerFailed = '-' // failure
)

// Limits of messages in bytes. A child's messages are bounded, because strangers' code runs in it.
const (
	maxMessage = 1 << 20
	maxPut     = 17 << 20 // a result or a checkpoint has 16 MiB at most
	maxContent = 1 << 30  // of a file that the parent hands over
)

// spec says what a child is to be.
type spec struct {
	ID, Node, Dir        string
	Slots                int
	DrainTime, CloseTime time.Duration
	PrepareWorkers       int
	Alone, Isolates      bool
	Traces               bool
	Settings             json.RawMessage
	Cgroup               *cgroupState // nil: nobody has asked for a cgroup
}

// cgroupState says whether a child is in a cgroup of its own.
type cgroupState struct {
	Lacks string // why it is not; "": it is
	Kills int64  // how often the kernel has ended a child for its memory
}

// up says that the child holds the lock of its directory.
type up struct {
	Proof  []byte
	Before uint64 // above the numbers of all Hellos that the child will ever say
	Wall   wall.State
}

type dialCall struct{ Redirect string }

type moduleCall struct {
	Digest string
	Size   int64
}

// report is the child's state at one moment.
type report struct {
	Worker worker.Status
	Engine runtime.Stats
}

// compiled is runtime.Compiled on its way to the parent.
type compiled struct {
	Digest string
	Took   time.Duration
	Cached bool
	Err    string
}

func (c compiled) value() runtime.Compiled {
	v := runtime.Compiled{Digest: c.Digest, Took: c.Took, Cached: c.Cached}
	if c.Err != "" {
		v.Err = errors.New(c.Err)
	}
	return v
}

// failure is an error on its way to the child.
type failure struct {
	Text    string
	NoBlob  bool          // the error wraps worker.ErrNoBlob
	Refused *upload.Error // why a module was not compiled, if it was refused
	Outside int           // number of an error of outsideErrors; 0: none
}

func failureOf(err error) failure {
	f := failure{Text: err.Error(), NoBlob: errors.Is(err, worker.ErrNoBlob)}
	f.Refused, _ = errors.AsType[*upload.Error](err)
	f.Outside = numberOf(err)
	return f
}

func (f failure) err() error {
	switch {
	case f.NoBlob:
		return fmt.Errorf("%w (%s)", worker.ErrNoBlob, f.Text)
	case f.Refused != nil:
		return f.Refused
	case f.Outside > 0 && f.Outside <= len(outsideErrors):
		return &outsideError{f.Text, outsideErrors[f.Outside-1]}
	}
	return errors.New(f.Text)
}

// send sends a value as JSON.
func send(c *subproc.Conn, kind byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	return c.Send(kind, body)
}

// decode reads a body that send wrote.
func decode[T any](m subproc.Message) (v T, err error) {
	if err = json.Unmarshal(m.Body, &v); err != nil {
		err = fmt.Errorf("child: message %q: %w", m.Kind, err)
	}
	return v, err
}
