package task

import "github.com/taskrt/taskrt/task/blobs"

// Blob is a file of the blob store as the log knows it (SPEC M3).
type Blob = blobs.Blob

// Blob returns a blob with its references, or nil.
func (m *Machine) Blob(digest string) *Blob {
	if r := m.blobs.Find(digest); r != nil {
		return r.View()
	}
	return nil
}

// BlobReady reports whether a command may refer to the digest. It allocates nothing.
func (m *Machine) BlobReady(digest string) bool {
	r := m.blobs.Find(digest)
	return r != nil && r.Ready
}

// Blobs yields the blobs after the given digest, in the order of digests, with their references. If after is no digest, it yields all blobs.
func (m *Machine) Blobs(after string) func(yield func(*Blob) bool) {
	return func(yield func(*Blob) bool) {
		for r := range m.blobs.After(after) {
			if !yield(r.View()) {
				return
			}
		}
	}
}
