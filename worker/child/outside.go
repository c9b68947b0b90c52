package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/runtime/fetch"
	"github.com/taskrt/taskrt/runtime/grants"
	"github.com/taskrt/taskrt/worker"
)

// outsideCall asks for something that a capability allows. The parent knows by the token whose attempt it is.
type outsideCall struct {
	Lease worker.Lease
	Name  string         `json:",omitempty"` // of a secret, or of the behavior of a child
	HTTP  *fetch.Request `json:",omitempty"` // without its body, which follows
}

// limits answers callLimits.
type limits struct{ Request, Response int64 }

// head answers callHTTP, with the body as a file.
type head struct {
	Status int
	Header map[string][]string
}

// outsideErrors are the errors of a call that guests can tell apart, in the order of their numbers on the wire, from 1.
var outsideErrors = []error{
	runtime.ErrLeaseLost, grants.ErrDenied, grants.ErrNotFound, grants.ErrInvalid, fetch.ErrDenied, fetch.ErrInvalid, fetch.ErrTooBig, fetch.ErrFailed,
}

// numberOf returns the number of the error in outsideErrors that err wraps; 0: it wraps none.
func numberOf(err error) int {
	return slices.IndexFunc(outsideErrors, func(e error) bool { return errors.Is(err, e) }) + 1
}

// outsideError is an error of outsideErrors with the text that it had in the parent.
type outsideError struct {
	text string
	is   error
}

func (e *outsideError) Error() string { return e.text }
func (e *outsideError) Unwrap() error { return e.is }

// httpMemory bounds the bodies of requests and responses under way for one child. A guest waits for its turn.
const httpMemory = 256 << 20

// outside answers a call of a capability. It does not send the error that it returns.
// A body follows a request; leaves is called when nothing more comes from the child but the end.
func (c *process) outside(ctx context.Context, m subproc.Message, conn *subproc.Conn, leaves func()) error {
	var call outsideCall
	if err := json.Unmarshal(m.Body, &call); err != nil {
		return fmt.Errorf("child: message %q: %w", m.Kind, err)
	}
	l, err := c.leases.find(call.Lease)
	if err != nil {
		return err
	}
	granted := c.p.cfg.Grants
	if m.Kind != callHTTP {
		leaves()
	}
	switch m.Kind {
	case callSecret:
		value, err := granted.Secret(l.key.Namespace, l.behavior, call.Name)
		if err != nil {
			return err
		}
		return send(conn, answerDone, value)
	case callTasks:
		if !granted.Tasks(l.key.Namespace, l.behavior, call.Name) {
			return grants.ErrDenied
		}
		return send(conn, answerDone, nil)
	}
	rules := granted.HTTP(l.key.Namespace, l.behavior)
	if len(rules) == 0 {
		return fmt.Errorf("%w: this worker grants %s in namespace %s no requests", fetch.ErrDenied, l.behavior, l.key.Namespace)
	}
	var most limits
	for _, r := range rules {
		most.Request, most.Response = max(most.Request, r.MaxRequestBytes), max(most.Response, r.MaxResponseBytes)
	}
	if m.Kind == callLimits {
		return send(conn, answerDone, most)
	}
	if call.HTTP == nil {
		return fmt.Errorf("%w: no request", fetch.ErrInvalid)
	}
	res, err := c.request(ctx, call, rules, most, conn, leaves)
	if err != nil {
		return err
	}
	return sendResponse(conn, res)
}

// request makes a guest's request, whose body comes over conn.
func (c *process) request(ctx context.Context, call outsideCall, rules []*fetch.Rule, most limits, conn *subproc.Conn, leaves func()) (*fetch.Response, error) {
	room := most.Request + most.Response
	if err := c.memory.Acquire(ctx, room); err != nil {
		return nil, err
	}
	defer c.memory.Release(room)
	more, err := conn.Recv(int(most.Request))
	if err != nil {
		return nil, err
	}
	more.CloseFiles()
	leaves()
	if _, err := c.leases.find(call.Lease); err != nil { // waiting took its time
		return nil, err
	}
	call.HTTP.Body = more.Body
	return c.p.fetch.Do(ctx, rules, call.HTTP)
}

func sendResponse(conn *subproc.Conn, res *fetch.Response) error {
	body, err := json.Marshal(head{res.Status, res.Header})
	if err != nil {
		return fmt.Errorf("child: %w", err)
	}
	f, err := subproc.Content(res.Body)
	if err != nil {
		return err
	}
	defer f.Close()
	return conn.Send(answerDone, body, f)
}
