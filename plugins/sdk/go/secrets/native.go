//go:build !wasip1

package secrets

import "github.com/taskrt/taskrt/plugins/sdk/go/internal/host"

func init() { host.Link() }

func get(name string, to []byte) int32 { return host.Current().Secret(name, to) }
