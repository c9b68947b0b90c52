package task

import (
	"fmt"

	"github.com/taskrt/taskrt/task/names"
)

// maxRate bounds Quota.SubmitsPerSecond: a full bucket is counted in thousandths.
const maxRate = 1_000_000_000

func (c PutNamespace) apply(m *Machine) Result {
	n, refusal := c.check(m)
	if refusal.Code != OK {
		return refusal
	}
	next := Namespace{Name: c.Name, Status: NamespaceIsActive, CreatedAt: m.now}
	if n == nil {
		n = &namespaceRow{space: &Namespace{}}
		m.namespaces[c.Name] = n
		m.sum += hashNamespace(n.space)
	}
	if !c.Create {
		next = *n.space
	}
	c.settle(&next)
	if next == *n.space {
		return Result{Space: n.space}
	}
	m.putSpace(n, &next)
	return Result{Space: &next, Changed: true}
}

// settle gives next the settings of c. Another rate begins with a full bucket.
func (c *PutNamespace) settle(next *Namespace) {
	if c.Quota != nil {
		if c.Quota.SubmitsPerSecond != next.Quota.SubmitsPerSecond {
			next.Bucket, next.BucketAt = 0, 0
		}
		next.Quota = *c.Quota
	}
	if c.Retention != nil {
		next.Retention = *c.Retention
	}
	if c.Share != nil {
		next.Weight, next.MaxRunning = c.Share.Weight, c.Share.MaxRunning
	}
}

// check returns the row of the namespace, or nil if the machine knows no such name, or the refusal of the command.
func (c *PutNamespace) check(m *Machine) (*namespaceRow, Result) {
	n := m.namespaces[c.Name]
	exists := n != nil && n.space.Status != NamespaceIsPurged
	switch {
	case len(c.Name) > 0 && c.Name[0] == '_':
		return nil, Result{Code: NamespaceReserved, Field: "name", Message: "names that begin with _ are the system's"}
	case !names.IsNamespace(c.Name):
		return nil, invalid("name", "a namespace's name is 3 to 64 characters of a-z 0-9 - _, and begins with a letter")
	case c.Quota != nil && (c.Quota.MaxTasks < 0 || c.Quota.MaxBytes < 0):
		return nil, invalid("quota", "a quota is not negative; 0: no limit")
	case c.Quota != nil && (c.Quota.SubmitsPerSecond < 0 || c.Quota.SubmitsPerSecond > maxRate):
		return nil, invalid("quota.submits_per_second", fmt.Sprintf("0 (no limit) to %d", maxRate))
	case c.Share != nil && (c.Share.Weight < 0 || c.Share.Weight > MaxWeight):
		return nil, invalid("weight", fmt.Sprintf("1 to %d; 0: the default", MaxWeight))
	case c.Share != nil && c.Share.MaxRunning < 0:
		return nil, invalid("max_running", "a limit is not negative; 0: none")
	case c.Create && exists:
		return nil, Result{Code: NamespaceTaken, Field: "name", Message: "a namespace has this name", Space: n.space}
	case c.Create && n == nil && int64(len(m.namespaces)) >= m.limits.Namespaces:
		return nil, Result{Code: QuotaExceeded, Field: "namespaces", Message: fmt.Sprintf("there are %d namespaces, which is the limit", len(m.namespaces))}
	case c.Create:
		return n, Result{}
	}
	r, _ := m.writable(c.Name)
	return n, r
}
