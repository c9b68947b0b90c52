package runtime

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/taskrt/taskrt/abi"
)

// maxPayload is the longest payload that a call with op may bring; 0: this host does not know op.
func (g *guest) maxPayload(op abi.Op) int64 {
	switch op {
	case abi.OpCheckpointSave:
		return g.attempt.CheckpointBytes
	case abi.OpRandom, abi.OpPartitions, abi.OpBlobSize, abi.OpBlobRead, abi.OpSpanBegin, abi.OpSpanEnd:
		return abi.MaxRequest
	}
	return 0
}

// call is a request to the host whose op is known. The payload is a copy, unless it is too long.
func (g *guest) call(op abi.Op, payload []byte) abi.Errno {
	g.response = nil
	if int64(len(payload)) > g.maxPayload(op) {
		return abi.E2BIG
	}
	switch op {
	case abi.OpCheckpointSave:
		return g.saveCheckpoint(payload)
	case abi.OpRandom:
		return g.random(payload)
	case abi.OpSpanBegin, abi.OpSpanEnd:
		errno := g.openSpans.Call(op, payload, g.log.hide, g.attempt.Spans)
		if errno == 0 {
			g.response = []byte{}
		}
		return errno
	}
	return g.ask(op, payload)
}

func (g *guest) random(payload []byte) abi.Errno {
	if len(payload) != 4 {
		return abi.EINVAL
	}
	n := uint32(payload[0]) | uint32(payload[1])<<8 | uint32(payload[2])<<16 | uint32(payload[3])<<24
	if n > MaxRandom {
		return abi.E2BIG
	}
	response := make([]byte, n)
	if _, err := io.ReadFull(g.rand, response); err != nil {
		panic(fmt.Errorf("read randomness: %w", err))
	}
	g.response = response
	return abi.Errno(n)
}

func (g *guest) saveCheckpoint(data []byte) abi.Errno {
	var err error
	g.outside(func() { err = g.host.Checkpoint(g.ctx, data) })
	if err != nil {
		return Errno(err)
	}
	g.checkpoint = content{data: data}
	g.response = []byte{}
	return 0
}

// ask passes a request on to the host.
func (g *guest) ask(op abi.Op, payload []byte) abi.Errno {
	if err := checkRequest(op, payload); err != nil {
		return Errno(err)
	}
	var response []byte
	var err error
	g.outside(func() { response, err = g.host.Call(g.ctx, op, payload) })
	switch {
	case err != nil:
		return Errno(err)
	case len(response) > abi.MaxResponse:
		return abi.E2BIG
	case response == nil:
		response = []byte{}
	}
	g.response = response
	return abi.Errno(len(response))
}

// outside does what takes the host's time: no heartbeat is expected meanwhile.
func (g *guest) outside(f func()) {
	g.arm()
	g.inCall.Store(true)
	begun := time.Now()
	f()
	g.waited += time.Since(begun)
	g.beaten()
	g.inCall.Store(false)
	g.alive()
}

// statuses are the errors of a Host of which a guest is told by a status of their own.
var statuses = [...]struct {
	err    error
	status abi.Errno
}{
	{ErrLeaseLost, abi.ECONFLICT}, {ErrDenied, abi.EDENIED}, {ErrInvalid, abi.EINVAL}, {ErrTooBig, abi.E2BIG},
	{ErrNotFound, abi.ENOENT}, {ErrUnsupported, abi.ENOSYS},
}

// Errno is what a guest hears of an error of the Host.
func Errno(err error) abi.Errno {
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			return s.status
		}
	}
	return abi.EAGAIN
}

var errAgain = errors.New("runtime: not possible now")

// ErrorOf returns an error that Errno turns into status again.
func ErrorOf(status abi.Errno) error {
	for _, s := range statuses {
		if s.status == status {
			return s.err
		}
	}
	return errAgain
}
