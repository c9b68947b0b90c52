// Package snapfile is the form of a snapshot in a node's directory: a head, and then what task/wire writes. The head has the applied index,
// because raft's own metadata do not reach a state machine that restores, and the machine does not see entries about members.
package snapfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/wire"
)

// A snapshot begins with a magic text, the version, and the applied index (uint64, big-endian).
const (
	magic   = "taskrt\x00"
	version = wire.Format
	size    = len(magic) + 9
	buffer  = 256 << 10
)

// Write writes a snapshot.
func Write(to io.Writer, applied uint64, f *task.Frozen) error {
	w := bufio.NewWriterSize(to, buffer)
	var head [size]byte
	copy(head[:], magic)
	head[len(magic)] = version
	binary.BigEndian.PutUint64(head[len(magic)+1:], applied)
	_, err := w.Write(head[:])
	if err == nil {
		err = wire.WriteSnapshot(w, f)
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}

// Read reads a snapshot, and returns the index that Write was told.
func Read(from io.Reader, options ...task.Option) (applied uint64, m *task.Machine, err error) {
	r := bufio.NewReaderSize(from, buffer)
	var head [size]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, fmt.Errorf("raftstore: read snapshot: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return 0, nil, errors.New("raftstore: not a snapshot of taskrt")
	}
	if v := head[len(magic)]; v != version {
		return 0, nil, fmt.Errorf("raftstore: snapshot has version %d, this build reads %d", v, version)
	}
	m, err = wire.ReadSnapshot(r, options...)
	if err != nil {
		return 0, nil, fmt.Errorf("raftstore: read snapshot: %w", err)
	}
	return binary.BigEndian.Uint64(head[len(magic)+1:]), m, nil
}
