package compiler

import (
	"context"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
)

// silent is the host of a guest that nobody listens to.
type silent struct{}

func (silent) Beat(int64, int64, []byte) abi.Signals                { return 0 }
func (silent) Signals() abi.Signals                                 { return 0 }
func (silent) Checkpoint(context.Context, []byte) error             { return runtime.ErrDenied }
func (silent) Log(int, []byte)                                      {}
func (silent) Call(context.Context, abi.Op, []byte) ([]byte, error) { return nil, runtime.ErrDenied }
