package stream

import (
	"bytes"

	"github.com/taskrt/taskrt/task"
)

// versions remembers the policies and modules that were read last, by their bytes. The next frame nearly always has the same ones.
type versions struct {
	list []version // the version that was read last comes first
}

type version struct {
	raw    []byte // of both fields, keys included
	policy *task.Policy
	module Module
}

// maxVersions bounds how many versions are remembered; maxVersion bounds the bytes of each.
const (
	maxVersions = 8
	maxVersion  = 64 << 10
)

// find returns the version whose fields b begins with, or nil if it is not known.
func (vs *versions) find(b []byte) *version {
	for i := range vs.list {
		if bytes.HasPrefix(b, vs.list[i].raw) {
			return &vs.list[i]
		}
	}
	return nil
}

// learn remembers the first unknown version in a frame, if it stands where this build writes it. The library has accepted
// the frame.
func (vs *versions) learn(c *codec, body []byte) {
	if len(body) < 2 || body[0] != mapOf1 || body[1] != keyAssign {
		return
	}
	r := reader{b: body[2:]}
	r.assignments(vs)
	raw := r.b // what begins where it had to give up
	if len(raw) == 0 || raw[0] != 2 {
		return
	}
	v := version{policy: &task.Policy{}}
	rest, err := c.dec.UnmarshalFirst(raw[1:], v.policy)
	if err != nil || len(rest) == 0 || rest[0] != 3 {
		return
	}
	if rest, err = c.dec.UnmarshalFirst(rest[1:], &v.module); err != nil || v.module.Digest == "" {
		return
	}
	if v.raw = bytes.Clone(raw[:len(raw)-len(rest)]); len(v.raw) > maxVersion {
		return
	}
	vs.list = append([]version{v}, vs.list[:min(len(vs.list), maxVersions-1)]...)
}
