package task

import "github.com/taskrt/taskrt/task/blobs"

// A module's file is a blob, too. Two kinds of modules have no record of a blob. Logs from before there were such records have modules without one;
// their digests are counted when somebody puts the file again. Tests give names that are no digests.

// admitModule refuses a module whose file is not stored. A module that was not noted needs no record, because it brings its own. But if there is a
// record, it must say that the file has arrived.
func (m *Machine) admitModule(s string, noted bool) (Result, bool) {
	d, ok := blobs.Parse(s)
	r := m.blobs.Get(d)
	switch {
	case Native(s):
	case noted && !ok:
		return invalid("module", "a digest is 64 characters of 0-9 a-f"), false
	case noted && r == nil, r != nil && !r.Ready:
		return blobGone("module", s), false
	}
	return Result{}, true
}

// referModule counts the need of a new module for its file.
func (m *Machine) referModule(x *Module) {
	d, ok := blobs.Parse(x.Digest)
	switch {
	case !ok:
	case m.blobs.Get(d) != nil:
		m.blobs.Refer(d, 1)
		m.blobs.Refresh(d, int64(m.now))
	default:
		m.noteBlob(d, max(x.Size, 0), true)
	}
}

// releaseModule notes that a module no longer needs its file.
func (m *Machine) releaseModule(x *Module) {
	if d, ok := blobs.Parse(x.Digest); ok && m.blobs.Get(d) != nil {
		m.blobs.Refer(d, -1)
	}
}
