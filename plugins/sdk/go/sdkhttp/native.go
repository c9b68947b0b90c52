//go:build !wasip1

package sdkhttp

import "github.com/taskrt/taskrt/plugins/sdk/go/internal/host"

func init() { host.Link() }

func request(head, body []byte) int32 { return host.Current().Request(head, body) }

func partLen(part int32) int32 { return host.Current().PartLen(part) }

func partRead(part, off int32, to []byte) int32 { return host.Current().PartRead(part, off, to) }
