package wire

import (
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire/head"
)

// The commands that a busy log consists of are written here by hand: the very bytes that the library writes, without its
// reflection. Fields are in the order of their keys, and left out as their tags say. TestByHandIsTheLibrary and
// FuzzByHand hold both against each other; a new field of one of these structs fails them until it is written here.

// fields is a map with at most 23 fields under construction.
type fields struct {
	b     []byte
	start int // of the map's head, which holds the number of fields
}

func beginFields(b []byte) fields { return fields{append(b, head.Map), len(b)} }

// key begins the field k.
func (f *fields) key(k byte) {
	f.b[f.start]++
	if k >= 24 {
		f.b = append(f.b, head.Uint|24)
	}
	f.b = append(f.b, k)
}

func (f *fields) uint(k byte, n uint64) {
	f.key(k)
	f.b = head.AppendUint(f.b, n)
}

func (f *fields) int(k byte, n int64) {
	f.key(k)
	f.b = head.AppendInt(f.b, n)
}

func (f *fields) text(k byte, s string) {
	f.key(k)
	f.b = head.AppendText(f.b, s)
}

// The rest are of fields that are left out when they are empty.

func (f *fields) someUint(k byte, n uint64) {
	if n != 0 {
		f.uint(k, n)
	}
}

func (f *fields) someInt(k byte, n int64) {
	if n != 0 {
		f.int(k, n)
	}
}

func (f *fields) someText(k byte, s string) {
	if s != "" {
		f.text(k, s)
	}
}

func (f *fields) someTrue(k byte, yes bool) {
	if yes {
		f.key(k)
		f.b = append(f.b, head.True)
	}
}

func (f *fields) somePayload(k byte, p *task.Payload) {
	if p != nil && (p.Encoding != task.None || len(p.Data) > 0 || p.Blobs != nil) {
		f.payload(k, p)
	}
}

// payload writes *p even if it is empty: a pointer says that the payload is there.
func (f *fields) payload(k byte, p *task.Payload) {
	f.key(k)
	f.b = appendPayload(f.b, p)
}

func (f *fields) somePointer(k byte, p *task.Payload) {
	if p != nil {
		f.payload(k, p)
	}
}

func (f *fields) taskKey(k byte, key *task.Key) {
	f.key(k)
	g := beginFields(f.b)
	g.text(1, key.Namespace)
	g.text(2, key.ID)
	f.b = g.b
}

func appendPayload(b []byte, p *task.Payload) []byte {
	f := beginFields(b)
	f.someUint(1, uint64(p.Encoding))
	if len(p.Data) > 0 {
		f.key(2)
		f.b = head.AppendBytes(f.b, p.Data)
	}
	if p.Blobs != nil {
		f.key(3)
		f.b = appendBlobs(f.b, p.Blobs)
	}
	return f.b
}

func appendBlobs(b []byte, p *task.Blobs) []byte {
	f := beginFields(b)
	f.someText(1, p.Content)
	f.someInt(2, p.Size)
	if len(p.Named) > 0 {
		f.key(3)
		f.b = head.Append(f.b, head.Array, uint64(len(p.Named)))
		for _, s := range p.Named {
			f.b = head.AppendText(f.b, s)
		}
	}
	return f.b
}

func appendLabels(b []byte, labels []task.Label) []byte {
	b = head.Append(b, head.Array, uint64(len(labels)))
	for i := range labels {
		f := beginFields(b)
		f.text(1, labels[i].Name)
		f.text(2, labels[i].Value)
		b = f.b
	}
	return b
}

func appendError(b []byte, e *task.Error) []byte {
	f := beginFields(b)
	f.text(1, e.Code)
	f.someText(2, e.Message)
	f.someTrue(3, e.Retryable)
	f.somePayload(4, &e.Details)
	return f.b
}

// appendCommand appends the encoding of c. It returns false if c is a command that is not written here.
func appendCommand(b []byte, c task.Command) ([]byte, bool) {
	f := beginFields(b)
	switch c := c.(type) {
	case task.Submit:
		f.submit(&c)
	case task.Assign:
		f.assign(&c)
	case task.Finish:
		f.finish(&c)
	case task.Beat:
		f.beat(&c)
	case task.Snooze:
		f.snooze(&c)
	case task.GiveBack:
		f.taskKey(1, &c.Key)
		f.uint(2, c.Token)
		f.someTrue(3, c.External)
		f.someInt(4, c.Fuel)
	case task.RenewSession:
		f.uint(1, c.Session)
		f.someUint(2, c.Acked)
	case task.Tick:
	default:
		return b, false
	}
	return f.b, true
}

func (f *fields) submit(c *task.Submit) {
	f.text(1, c.Namespace)
	f.text(2, c.ID)
	f.text(3, c.Behavior)
	f.somePayload(4, &c.Params)
	f.someUint(5, uint64(c.IfExists))
	f.someInt(6, int64(c.NotBefore))
	f.someInt(7, int64(c.Delay))
	f.someInt(8, int64(c.Deadline))
	if len(c.Labels) > 0 {
		f.key(9)
		f.b = appendLabels(f.b, c.Labels)
	}
	f.int(10, int64(c.Priority))
	f.someTrue(11, c.HasParams)
	f.someUint(12, c.BehaviorRev)
	f.someText(13, c.ConcurrencyKey)
	f.someTrue(14, c.Existing)
	f.someText(15, c.Parent)
	f.someTrue(16, c.HasLabels)
	f.someTrue(17, c.HasPriority)
}

func (f *fields) assign(c *task.Assign) {
	f.taskKey(1, &c.Key)
	f.uint(2, c.Rev)
	f.uint(3, c.Session)
	if a := c.External; a != nil {
		f.key(4)
		g := beginFields(f.b)
		g.text(1, a.Worker)
		g.someInt(2, int64(a.Lease))
		g.someInt(3, int64(a.MaxNotBefore))
		g.someText(4, a.Request)
		f.b = g.b
	}
	f.someTrue(5, c.Fresh)
}

func (f *fields) finish(c *task.Finish) {
	f.taskKey(1, &c.Key)
	f.uint(2, c.Token)
	f.uint(3, c.Seq)
	f.somePayload(4, &c.Result)
	if c.Error != nil {
		f.key(5)
		f.b = appendError(f.b, c.Error)
	}
	f.someInt(6, int64(c.Again))
	f.someTrue(7, c.External)
	f.someInt(8, c.Fuel)
	f.someTrue(9, c.InTxn)
	f.somePointer(10, c.Progress)
}

func (f *fields) beat(c *task.Beat) {
	f.taskKey(1, &c.Key)
	f.uint(2, c.Token)
	f.uint(3, c.Seq)
	f.somePointer(4, c.Progress)
	f.somePointer(5, c.Checkpoint)
	f.someInt(6, int64(c.Extend))
	f.someTrue(7, c.External)
}

func (f *fields) snooze(c *task.Snooze) {
	f.taskKey(1, &c.Key)
	f.uint(2, c.Token)
	f.uint(3, c.Seq)
	f.someInt(4, int64(c.At))
	f.somePointer(5, c.Checkpoint)
	f.someTrue(6, c.External)
	f.someInt(7, c.Fuel)
	f.somePointer(8, c.Progress)
}
