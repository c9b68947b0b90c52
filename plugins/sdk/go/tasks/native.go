//go:build !wasip1

package tasks

import "github.com/taskrt/taskrt/plugins/sdk/go/internal/host"

func init() { host.Link() }

func submit(child []byte) int32 { return host.Current().Submit(child) }
