package task

import (
	"iter"
	"slices"

	"github.com/taskrt/taskrt/task/blobs"
)

// MaxNamed bounds the blobs that one Payload names, besides the blob that it is.
const MaxNamed = blobs.MaxNamed

// Digests yields the blobs that the payload needs: the blob that it is, and the blobs that it names.
func (p *Payload) Digests() iter.Seq[string] {
	if p.Blobs == nil {
		return blobs.Each("", nil)
	}
	return blobs.Each(p.Blobs.Content, p.Blobs.Named)
}

// Len returns how many bytes the payload has, wherever they are.
func (p *Payload) Len() int64 {
	if p.Blobs != nil && p.Blobs.Content != "" {
		return p.Blobs.Size
	}
	return int64(len(p.Data))
}

// wrong says what is wrong with the shape of the payload, or "".
func (p *Payload) wrong() string {
	if p.Encoding > Bytes {
		return "unknown encoding"
	}
	if b := p.Blobs; b != nil {
		return blobs.Wrong(b.Content, b.Size, b.Named, len(p.Data), p.Encoding == None)
	}
	return ""
}

// InBlob returns the payload in the form of records and the log when its bytes are the blob with this digest.
func (p Payload) InBlob(digest string) Payload {
	of := Blobs{Content: digest, Size: int64(len(p.Data))}
	if p.Blobs != nil {
		of.Named = p.Blobs.Named
	}
	p.Data, p.Blobs = nil, &of
	return p
}

// sameBlobs reports whether both payloads need the same blobs for the same purpose.
func (p *Payload) sameBlobs(q *Payload) bool {
	a, b := p.Blobs, q.Blobs
	return a == b || a != nil && b != nil && a.Content == b.Content && slices.Equal(a.Named, b.Named)
}

// admit returns the refusal of a command that brings p as a field, if p's shape is wrong or p needs a blob that is not
// stored. The proposer puts the bytes again and proposes again (SPEC M3).
func (m *Machine) admit(field string, p *Payload) (Result, bool) {
	switch what := p.wrong(); {
	case what != "":
		return invalid(field, what), false
	case p.Blobs != nil:
		return m.stored(field, p)
	}
	return Result{}, true
}

// stored is admit for payloads that need blobs. It stands apart, because what its loop captures is allocated: the payload must not be.
func (m *Machine) stored(field string, p *Payload) (Result, bool) {
	content, size := p.content(), p.Blobs.Size
	for s := range p.Digests() {
		r := m.blobs.Find(s)
		switch {
		case r == nil || !r.Ready:
			return blobGone(field, s), false
		case s == content && r.Size != size:
			return invalid(field, "the blob has another size"), false
		}
	}
	return Result{}, true
}

// inline returns the refusal of a payload that may not name blobs: progress, and the details of errors.
func inline(field string, p *Payload) (Result, bool) {
	switch {
	case p.Encoding > Bytes:
		return invalid(field, "unknown encoding"), false
	case p.Blobs != nil:
		return invalid(field, "only params, results, checkpoints and arguments refer to blobs"), false
	}
	return Result{}, true
}

// naming returns progress in its form as a result, with the blobs that it names.
func naming(p Payload) Payload {
	if p.Encoding != JSON {
		return p
	}
	if named := blobs.Named(p.Data); len(named) > 0 {
		p.Blobs = &Blobs{Named: named}
	}
	return p
}

// inlineError is inline for the details of an error, if there is one.
func inlineError(field string, e *Error) (Result, bool) {
	if e == nil {
		return Result{}, true
	}
	return inline(field, &e.Details)
}

func blobGone(field, digest string) Result {
	return Result{Code: BlobGone, Field: field, Message: "the blob sha256:" + digest + " is not stored"}
}
