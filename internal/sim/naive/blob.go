package naive

import (
	"slices"

	"github.com/taskrt/taskrt/task"
)

// digests returns the blobs that the payload needs: the blob that it is, and the blobs that it names.
func digests(p task.Payload) []string {
	if p.Blobs == nil {
		return nil
	} else if p.Blobs.Content == "" {
		return p.Blobs.Named
	}
	return append([]string{p.Blobs.Content}, p.Blobs.Named...)
}

// admit refuses a payload that needs a blob that is not stored (M3). The payload's shape is right, except for the size of a blob.
func (m *Model) admit(p task.Payload) task.Code {
	for _, d := range digests(p) {
		if b := m.Blobs[d]; b == nil || !b.Ready {
			return task.BlobGone
		} else if d == p.Blobs.Content && b.Size != p.Blobs.Size {
			return task.InvalidCommand
		}
	}
	return task.OK
}

// content returns the blob that the payload is, or "".
func content(p task.Payload) string {
	if p.Blobs == nil {
		return ""
	}
	return p.Blobs.Content
}

// refresh makes the blobs that p needs as young as if they were just put, if p needs other blobs than was did.
func (m *Model) refresh(was, p task.Payload) {
	if !slices.Equal(digests(was), digests(p)) || content(was) != content(p) {
		for _, d := range digests(p) {
			b := *m.Blobs[d]
			b.Noted = int64(m.Now)
			m.Blobs[d] = &b
		}
	}
}

func payloads(t *task.Task) []task.Payload {
	if t == nil {
		return make([]task.Payload, 3)
	}
	return []task.Payload{t.Params, t.Result, t.Checkpoint}
}

// Refs counts the records that need the blob.
func (m *Model) Refs(digest string) (n int64) {
	count := func(p task.Payload) {
		for _, d := range digests(p) {
			if d == digest {
				n++
			}
		}
	}
	for _, t := range m.Tasks {
		for _, p := range payloads(t) {
			count(p)
		}
	}
	for _, o := range m.Operations {
		count(o.Arg)
		count(o.Result)
	}
	for _, r := range m.Records {
		count(r.Blob)
	}
	for i := range m.Nameless {
		count(m.Nameless[i].Blob)
	}
	for _, x := range m.Jobs { // while they act (Q3)
		count(task.Payload{Blobs: &task.Blobs{Named: x.Blobs}})
	}
	if m.Modules[digest] != nil {
		n++
	}
	return n
}

func (m *Model) noteBlob(c task.NoteBlob) task.Result {
	b := m.Blobs[c.Digest]
	switch {
	case len(c.Digest) != 64 || c.Size < 0:
		return task.Result{Code: task.InvalidCommand}
	case b == nil && c.Ready, c.Ready && !b.Ready && c.Since > 0 && b.Made > c.Since:
		return task.Result{Code: task.BlobGone}
	case b != nil && b.Size != c.Size && (b.Ready || c.Ready):
		return task.Result{Code: task.InvalidCommand}
	}
	made := m.index
	if b != nil {
		made = b.Made
	}
	m.Blobs[c.Digest] = &task.Blob{Digest: c.Digest, Size: c.Size, Ready: c.Ready || b != nil && b.Ready, Noted: int64(m.Now), Made: made}
	return task.Result{Changed: true}
}

// dropBlobs is M3's delete. It is refused if the token is dead. Blobs that are needed or young stay.
func (m *Model) dropBlobs(c task.DropBlobs) task.Result {
	if !m.runs(c.Token) {
		return task.Result{Code: task.Halt}
	} else if len(c.Digests) > 1000 || slices.ContainsFunc(c.Digests, func(d string) bool { return len(d) != 64 }) {
		return task.Result{Code: task.InvalidCommand}
	}
	if len(m.Holds) > 0 { // C8
		return task.Result{Left: int64(len(c.Digests))}
	}
	dropped := map[string]bool{}
	for _, d := range c.Digests {
		if b := m.Blobs[d]; m.Refs(d) == 0 && (b == nil || b.Noted < int64(c.Before)) {
			delete(m.Blobs, d)
			dropped[d], m.Dropped[d] = true, true
		}
	}
	m.deleted(c.Token, "blob", "", len(dropped))
	return task.Result{Count: int64(len(dropped)), Changed: len(dropped) > 0}
}

// holdBlobs is C8: a backup keeps blobs until it ends its hold, or has not renewed it in time.
func (m *Model) holdBlobs(c task.HoldBlobs) task.Result {
	if c.ID == "" || c.TTL > 600_000 {
		return task.Result{Code: task.InvalidCommand}
	}
	x, lives := m.Holds[c.ID]
	switch {
	case !lives && (c.Renew || c.TTL == 0):
		return task.Result{Code: task.Halt}
	case c.TTL == 0:
		delete(m.Holds, c.ID)
		return task.Result{Changed: true}
	case !lives:
		x = task.Hold{ID: c.ID, Holder: c.Holder}
	}
	x.TTL, x.Until = int64(c.TTL), int64(m.LeaseNow)+int64(c.TTL)
	m.Holds[c.ID] = x
	return task.Result{Changed: true}
}

// tickHolds is C8: a hold that nobody renews ends.
func (m *Model) tickHolds() {
	for id, x := range m.Holds {
		if x.Until <= int64(m.LeaseNow) {
			delete(m.Holds, id)
			m.struck = true
		}
	}
}

// moduleFile refuses a module whose file is not stored. Without noted, the uploader brings the record.
func (m *Model) moduleFile(digest string, noted bool) task.Code {
	switch b := m.Blobs[digest]; {
	case noted && len(digest) != 64:
		return task.InvalidCommand
	case b == nil && noted, b != nil && !b.Ready:
		return task.BlobGone
	}
	return task.OK
}

// putModule stores the record of a module; a new one needs its file from now on.
func (m *Model) putModule(x task.Module) {
	if m.Modules[x.Digest] == nil && len(x.Digest) == 64 {
		b := task.Blob{Digest: x.Digest, Size: x.Size, Ready: true, Made: m.index}
		if old := m.Blobs[x.Digest]; old != nil {
			b = *old
		}
		b.Noted = int64(m.Now)
		m.Blobs[x.Digest] = &b
	}
	m.Modules[x.Digest] = &x
}
