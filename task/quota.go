package task

import (
	"fmt"

	"github.com/taskrt/taskrt/task/bounds"
)

// Quotas (SPEC N1) are decided in the log. A command that would take its namespace over a quota is refused, whatever its proposer saw. A command that
// ends a run is never refused for a quota, because its outcome is worth more, but it counts. What is over a lowered quota stays.

// demand is what a command would add to its namespace.
type demand struct {
	tasks   int64 // records, and partitions of operations
	bytes   int64
	submits int64 // tasks created, rerun or resubmitted, and operations started
}

func (d *demand) add(o demand) {
	d.tasks += o.tasks
	d.bytes += o.bytes
	d.submits += o.submits
}

// charge refuses a command that is over a quota of the namespace, and otherwise takes its submits from the rate. It is
// the last check of a command, so a command that is refused elsewhere has used up nothing.
func (m *Machine) charge(namespace string, d demand) Result {
	n := m.namespaces[namespace]
	q, u := n.space.Quota, n.usage
	if have := u.Tasks + u.Owed; q.MaxTasks > 0 && d.tasks > 0 && d.tasks > q.MaxTasks-have {
		return n.overQuota("max_tasks", fmt.Sprintf("max_tasks of the namespace %s is %d: it has %d, %d more were asked for", namespace, q.MaxTasks, have, d.tasks))
	}
	if q.MaxBytes > 0 && d.bytes > 0 && d.bytes > q.MaxBytes-u.Bytes {
		return n.overQuota("max_bytes", fmt.Sprintf("max_bytes of the namespace %s is %d: it holds %d, %d more were asked for", namespace, q.MaxBytes, u.Bytes, d.bytes))
	}
	if q.SubmitsPerSecond <= 0 || d.submits <= 0 {
		return Result{}
	}
	level := n.space.level(m.now)
	if d.submits > level/1000 {
		return n.overQuota("submits_per_second", fmt.Sprintf("submits_per_second of the namespace %s is %d: %d are left now, %d were asked for", namespace, q.SubmitsPerSecond, level/1000, d.submits))
	}
	next := *n.space
	next.Bucket, next.BucketAt = level-1000*d.submits, max(m.now, 1)
	m.replaceSpace(n, &next)
	return Result{}
}

// overQuota names the quota. It also returns the namespace, which shows the quota's size.
func (n *namespaceRow) overQuota(field, message string) Result {
	return Result{Code: QuotaExceeded, Field: field, Message: message, Space: n.space}
}

// level returns what is in the bucket of submits_per_second at a time, in thousandths of a submit.
func (n *Namespace) level(at Time) int64 {
	return bounds.Bucket(n.Quota.SubmitsPerSecond, n.Bucket, int64(n.BucketAt), int64(at))
}

// OverRate says whether a submit would be refused for the submits_per_second of its namespace. It is asked before the submit is proposed, so that
// refused submits do not fill the log. at is the time of the log's clock, and before is the number of submits that come earlier. over is the name of
// the namespace if the submit would be refused. submits is how many submits it counts as: 0 if it meets a task and changes nothing.
func (m *Machine) OverRate(c *Submit, before int64, at Time) (submits int64, over *Namespace) {
	n := m.namespaces[c.Namespace]
	if n == nil || n.space.Quota.SubmitsPerSecond <= 0 {
		return 0, nil
	}
	d := c.demand(m, m.find(Key{c.Namespace, c.ID}))
	if d.submits > 0 && before+d.submits > n.space.level(max(at, m.now))/1000 {
		over = n.space
	}
	return d.submits, over
}
