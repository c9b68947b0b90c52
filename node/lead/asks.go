package lead

import (
	"encoding/json"
	"sync"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/node/view"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// askPump answers what a worker's guests ask the leader, one question after the other. It runs beside the stream's
// reader, because a page takes longer to write than a renewal may wait.
type askPump struct {
	w *workerStream

	mu      sync.Mutex
	pending []stream.Ask
	busy    bool
}

// maxAsks bounds the unanswered questions of one worker. Each guest asks one at a time.
const maxAsks = 1 << 12

func (p *askPump) add(q stream.Ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) >= maxAsks {
		p.w.send(stream.Frame{Answer: &stream.Answer{ID: q.ID, Status: int32(abi.EAGAIN)}})
		return
	}
	p.pending = append(p.pending, q)
	if !p.busy {
		p.busy = true
		p.w.term.hub.wg.Go(p.run)
	}
}

// run answers until no question is left. Each answer leaves before the next is made. So for a worker that reads slowly, one answer is kept here, not
// thousands.
func (p *askPump) run() {
	sent := error(nil)
	for q, ok := p.next(sent); ok; q, ok = p.next(sent) {
		p.w.send(stream.Frame{Answer: p.w.answer(&q)})
		sent = p.w.conn.Flush(p.w.term.ctx)
	}
}

// next takes a question. After an error it takes none, because the stream ends with it.
func (p *askPump) next(sent error) (q stream.Ask, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 || sent != nil {
		p.pending, p.busy = nil, false
		return q, false
	}
	q, p.pending = p.pending[0], p.pending[1:]
	return q, true
}

// answer answers one question.
func (w *workerStream) answer(q *stream.Ask) *stream.Answer {
	a := &stream.Answer{ID: q.ID}
	var status abi.Errno
	switch abi.Op(q.Op) {
	case abi.OpPartitions:
		a.Payload, status = w.partitions(q)
	default:
		status = abi.ENOSYS // a newer worker asks what this leader does not know
	}
	a.Status = int32(status)
	return a
}

// Shapes of abi.OpPartitions (abi/README.md).
type (
	partitionsPage struct {
		Partitions []json.RawMessage `json:"partitions"`
		Next       int64             `json:"next"`
	}
	partitionOutcome struct {
		Index        int64           `json:"index"`
		Partition    string          `json:"partition"`
		Status       string          `json:"status"`
		Result       json.RawMessage `json:"result,omitempty"`
		ResultBase64 []byte          `json:"result_base64,omitempty"`
		Blob         string          `json:"blob,omitempty"`
		Error        *partitionError `json:"error,omitempty"`
	}
	partitionError struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	}
)

// partitions answers abi.OpPartitions from this leader's state (SPEC O3). The run that asks holds a lease in this very
// state. So the state has all partitions that were final when a completion began, and no page is older than its
// beginning.
func (w *workerStream) partitions(q *stream.Ask) ([]byte, abi.Errno) {
	r, err := runtime.ParsePartitions(q.Payload)
	if err != nil {
		return nil, abi.EINVAL
	}
	var tasks []*task.Task
	next, status := int64(-1), abi.Errno(0)
	w.term.hub.cfg.Store.Local(func(m *task.Machine) {
		switch t := m.Task(q.Key); {
		case t == nil || t.Lease == nil || t.Lease.Token != q.Token || t.Lease.Session != w.session:
			status = abi.ECONFLICT
		case t.Role == task.RoleNone:
			status = abi.EDENIED
		default:
			tasks, next = m.OperationTasks(task.Key{Namespace: t.Namespace, ID: t.Parent}, r.From, int(r.Limit), 0)
		}
	})
	if status != 0 {
		return nil, status
	}
	return partitionsOf(tasks, next), 0
}

// maxPage bounds the partitions of a page. It leaves room in a response for the rest of the page.
const maxPage = abi.MaxResponse - 64

// partitionsOf writes a page with as many of the tasks as fit into a response. next is where to go on after all of
// them.
func partitionsOf(tasks []*task.Task, next int64) []byte {
	page := partitionsPage{Partitions: []json.RawMessage{}, Next: next}
	size := 0
	for _, t := range tasks {
		index := task.PartitionOf(t)
		entry := view.Compact(outcomeOf(t, index))
		if size += len(entry) + 1; size > maxPage && len(page.Partitions) > 0 {
			page.Next = index
			break
		}
		page.Partitions = append(page.Partitions, entry)
	}
	return view.Compact(page)
}

func outcomeOf(t *task.Task, index int64) partitionOutcome {
	o := partitionOutcome{Index: index, Partition: t.Partition, Status: t.Status.String()}
	if b := t.Result.Blobs; b != nil && b.Content != "" {
		o.Blob = "sha256:" + b.Content
	} else {
		o.Result, o.ResultBase64 = view.Payload(t.Result)
	}
	if t.Error != nil {
		o.Error = &partitionError{Code: t.Error.Code, Message: t.Error.Message, Retryable: t.Error.Retryable}
	}
	return o
}
