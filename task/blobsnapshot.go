package task

import "github.com/taskrt/taskrt/task/blobs"

func (f *Frozen) yieldBlobs(yield func(Record) bool) bool {
	for r := range f.blobs.All {
		if !yield(r.Blob()) {
			return false
		}
	}
	return true
}

// takeBlob is the restorer's part. Modules have been read before, tasks come after.
func (r *restorer) takeBlob(x *Blob) error {
	d, ok := blobs.Parse(x.Digest)
	switch {
	case !ok:
		return bad("a blob with the digest %q", x.Digest)
	case x.Size < 0:
		return bad("blob %s has a negative size", x.Digest)
	case r.m.blobs.Get(d) != nil:
		return bad("blob %s twice", x.Digest)
	}
	r.m.blobs.Add(blobs.Row{Digest: d, Size: x.Size, Noted: x.Noted, Made: x.Made, Ready: x.Ready})
	r.m.countFile(d)
	return nil
}

// known verifies that the blobs that the payloads of a record need are there.
func (r *restorer) known(k Key, payloads ...*Payload) error {
	for _, p := range payloads {
		if p.Blobs == nil {
			continue
		}
		if refusal, ok := r.m.admit("payload", p); !ok {
			return bad("%s/%s: %s", k.Namespace, k.ID, refusal.Message)
		}
	}
	return nil
}

// references verifies what the operations need, before they are entered and counted.
func (r *restorer) references() error {
	for k, o := range r.m.operations { // order-free: any violation will do
		payloads := o.operation.payloads()
		if err := r.known(k, payloads[:]...); err != nil {
			return err
		}
	}
	return nil
}

// blobs recounts references.
func (c *checker) blobs() {
	m, refs := c.m, map[string]int64{}
	count := func(k Key, payloads ...*Payload) {
		for _, p := range payloads {
			c.expect(p.wrong() == "", "%s/%s: %s", k.Namespace, k.ID, p.wrong())
			for s := range p.Digests() {
				refs[s]++
				r := m.blobs.Find(s)
				c.expect(r != nil && r.Ready, "M3: %s/%s needs the blob %s, which is not stored", k.Namespace, k.ID, s)
				c.expect(r == nil || s != p.content() || r.Size == p.Blobs.Size, "%s/%s: size of the blob %s", k.Namespace, k.ID, s)
			}
		}
	}
	for r := range m.store.From(0) {
		t := m.task(r)
		payloads := t.payloads()
		count(t.Key(), payloads[:]...)
		c.expect(t.Progress.Blobs == nil && (t.Error == nil || t.Error.Details.Blobs == nil), "%s/%s: progress or details need a blob", t.Namespace, t.ID)
	}
	for k, o := range m.operations { // order-free: counts commute, and any violation will do
		payloads := o.operation.payloads()
		count(k, payloads[:]...)
	}
	for ns, set := range m.records { // order-free: counts commute, and any violation will do
		for _, group := range set.Groups() {
			for r := range set.Group(group, true, 0) {
				x := storeRecord(ns, r)
				count(Key{ns, group}, &x.Blob)
			}
		}
	}
	for _, x := range m.jobs.Rows() {
		for _, s := range x.Blobs {
			refs[s]++
		}
	}
	for s := range m.modules { // order-free: counts commute
		refs[s]++
	}
	for r := range m.blobs.After("") {
		c.expect(r.Size >= 0 && r.Noted <= int64(m.now) && r.Made <= m.index, "blob %s: size, time or index", r.Digest)
	}
	err := m.blobs.Check(refs)
	c.expect(err == nil, "blobs: %v", err)
}
