package worker

import (
	"context"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// Call answers what a guest asks besides checkpoints.
func (h host) Call(ctx context.Context, op abi.Op, payload []byte) ([]byte, error) {
	return nil, runtime.ErrUnsupported
}
