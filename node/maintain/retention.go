package maintain

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/taskrt/taskrt/task"
)

// retention says how long, and how many, final tasks and operations of a behavior are kept (SPEC T9, M2).
type retention struct {
	success, failure task.Millis // < 0: for ever
	count            int64       // 0: no limit

	// What the behavior itself keeps for ever: no count takes it away, not the behavior's own nor the namespace's.
	everSuccess, everFailure bool
}

// ever reports whether the behavior itself keeps for ever what ended with this success.
func (a retention) ever(success bool) bool {
	return success && a.everSuccess || !success && a.everFailure
}

// byDefault is the retention of tasks that would be kept for ever if there were not too many (task.Task.Excess).
var byDefault = retention{success: task.DefaultKeepSuccess, failure: task.DefaultKeepFailure}

// covers reports whether what ended at the time finished is young enough to stay.
func (a retention) covers(success bool, finished, now task.Time) bool {
	keep := a.failure
	if success {
		keep = a.success
	}
	return keep < 0 || int64(finished) > math.MaxInt64-int64(keep) || finished+task.Time(keep) > now
}

// retentions looks up each behavior once, so that the policy by which a run decides does not change meanwhile.
type retentions struct {
	run   *Run
	known map[task.Key]retention
}

func (rs *retentions) of(namespace, behavior string) retention {
	k := task.Key{Namespace: namespace, ID: behavior}
	if a, ok := rs.known[k]; ok {
		return a
	}
	var a retention
	rs.run.cluster.Local(func(m *task.Machine) {
		a.success, a.failure, a.count = m.Retention(namespace, behavior)
		a.everSuccess, a.everFailure = m.Keeps(namespace, behavior)
	})
	if rs.known == nil {
		rs.known = map[task.Key]retention{}
	}
	rs.known[k] = a
	return a
}

// ever reports whether a final task is kept for ever.
func (rs *retentions) ever(t *task.Task) bool {
	return !t.Excess && rs.of(t.Namespace, t.Behavior).ever(t.Status == task.Success)
}

// young reports whether a final task is not older than its retention.
func (rs *retentions) young(t *task.Task) bool {
	a := rs.of(t.Namespace, t.Behavior)
	if t.Excess {
		a = byDefault
	}
	return a.covers(t.Status == task.Success, t.FinishedAt, rs.run.Now)
}

// ending is when something ended. Of what ended in the same millisecond, the lower creation rev comes first.
type ending struct {
	at  task.Time
	rev uint64
}

func (e ending) compare(f ending) int {
	return cmp.Or(cmp.Compare(e.at, f.at), cmp.Compare(e.rev, f.rev))
}

// newest remembers the limit newest of the endings that it is shown. It takes at most twice their room.
type newest struct {
	limit int
	ends  []ending
}

// slack is how many endings beyond twice its limit a newest may hold before it is trimmed: a small limit is not trimmed
// at every add.
const slack = 1_000

func (n *newest) add(e ending) {
	n.ends = append(n.ends, e)
	if len(n.ends) >= 2*n.limit+slack {
		n.trim()
	}
}

func (n *newest) trim() {
	slices.SortFunc(n.ends, func(a, b ending) int { return b.compare(a) })
	n.ends = n.ends[:min(len(n.ends), n.limit)]
}

// beyond reports whether e is older than the limit newest endings. trim must have been called after the last add.
func (n *newest) beyond(e ending) bool {
	return len(n.ends) == n.limit && e.compare(n.ends[n.limit-1]) < 0
}

// crowds hold the endings that retention by count keeps. They are kept by behavior; the behavior "" stands for the
// whole namespace.
type crowds map[task.Key]*newest

// limit adds a crowd with a bound. A count of 0 means that there is no bound.
func (c crowds) limit(namespace, behavior string, count int64) {
	if k := (task.Key{Namespace: namespace, ID: behavior}); count > 0 && c[k] == nil {
		c[k] = &newest{limit: int(min(count, math.MaxInt32))}
	}
}

func (c crowds) add(namespace, behavior string, e ending) {
	for _, name := range [...]string{behavior, ""} {
		if n := c[task.Key{Namespace: namespace, ID: name}]; n != nil {
			n.add(e)
		}
	}
}

func (c crowds) trim() {
	for _, n := range c {
		n.trim()
	}
}

func (c crowds) over(namespace, behavior string, e ending) bool {
	for _, name := range [...]string{behavior, ""} {
		if n := c[task.Key{Namespace: namespace, ID: name}]; n != nil && n.beyond(e) {
			return true
		}
	}
	return false
}

func (c crowds) beyond(t *task.Task) bool {
	return c.over(t.Namespace, t.Behavior, ending{t.FinishedAt, t.CreatedRev})
}

// behaviorCrowds makes empty crowds for the behaviors whose policy has a count.
func (r *Run) behaviorCrowds(ctx context.Context, ages *retentions) (crowds, error) {
	c := crowds{}
	err := eachBehavior(ctx, r, func(b *task.Behavior) error {
		c.limit(b.Namespace, b.Name, ages.of(b.Namespace, b.Name).count)
		return nil
	})
	return c, err
}

// taskCrowds looks at all final tasks, if retention by count keeps any.
func (r *Run) taskCrowds(ctx context.Context, ages *retentions) (crowds, error) {
	c, err := r.behaviorCrowds(ctx, ages)
	if err != nil {
		return nil, err
	}
	err = eachNamespace(ctx, r, func(n *task.Namespace) error {
		c.limit(n.Name, "", n.Retention.Count)
		return nil
	})
	if err != nil || len(c) == 0 {
		return c, err
	}
	err = eachTask(ctx, r, func(t *task.Task) error {
		if sweepable(t) && !ages.ever(t) {
			c.add(t.Namespace, t.Behavior, ending{t.FinishedAt, t.CreatedRev})
		}
		return nil
	})
	c.trim()
	return c, err
}
