package bulk

import (
	"encoding/binary"
	"errors"

	"github.com/taskrt/taskrt/task/jobs"
)

// writer makes the blobs of a selection: numbers that rise, as differences.
type writer struct {
	put   func(data []byte) (digest string, err error)
	blobs []string
	count int64

	data []byte
	last uint64
}

// add adds a number, which is greater than the last one.
func (w *writer) add(number uint64) error {
	w.data = binary.AppendUvarint(w.data, number-w.last)
	w.last = number
	if w.count++; w.count%jobs.PerBlob == 0 {
		return w.flush()
	}
	return nil
}

// flush ends a blob. Each begins with a whole number, so that it can be read alone.
func (w *writer) flush() error {
	if len(w.data) == 0 {
		return nil
	}
	digest, err := w.put(w.data)
	w.blobs, w.data, w.last = append(w.blobs, digest), nil, 0
	return err
}

var errDamaged = errors.New("bulk: a blob of a selection is damaged")

// numbers reads a blob.
func numbers(data []byte) ([]uint64, error) {
	var all []uint64
	last := uint64(0)
	for len(data) > 0 {
		d, n := binary.Uvarint(data)
		if n <= 0 || d == 0 || last+d < last || len(all) == jobs.PerBlob {
			return nil, errDamaged
		}
		data, last = data[n:], last+d
		all = append(all, last)
	}
	return all, nil
}
