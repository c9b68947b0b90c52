package queue

// Lane holds the tasks of one behavior and one pinned version that may be assigned, in T4 order: due, and not held up by the limit of their key.
// Suspects, which only some sessions may run, are in lanes of their own (SPEC L5). Whatever blocks one task of a lane (a pause, max_concurrent, a
// module that nobody has) blocks all of them. So planning skips a lane as a whole (SPEC L11).
type Lane struct {
	LaneName
	Behavior uint32 // Queues.Number
	Queue    Line
	index    int // in Board.Lanes while not empty
}

// LaneName tells the lanes of a behavior apart.
type LaneName struct {
	Version  string // pinned; "" for tasks that will take the active version
	Suspects bool
}

func (b *Board) enterLane(q *Queues, r *Row, x *Task) {
	l := q.Lanes[x.Lane]
	if l == nil {
		l = &Lane{LaneName: x.Lane, Behavior: q.Number, Queue: Line{t4: true}}
		q.Lanes[x.Lane] = l
	}
	if l.Queue.Len() == 0 {
		l.index = len(b.Lanes)
		b.Lanes = append(b.Lanes, l)
		if l.Suspects {
			b.suspects++
		}
	}
	r.InLane = true
	l.Queue.Push(b.rows, r, x.Created)
}

func (b *Board) leaveLane(q *Queues, r *Row, x *Task) {
	l := q.Lanes[x.Lane]
	l.Queue.Remove(b.rows, r)
	if r.InLane = false; l.Queue.Len() > 0 {
		return
	}
	last := len(b.Lanes) - 1
	b.Lanes[l.index] = b.Lanes[last]
	b.Lanes[l.index].index = l.index
	b.Lanes[last] = nil
	b.Lanes = b.Lanes[:last]
	if l.Suspects {
		b.suspects--
	}
	if l.LaneName != (LaneName{}) { // versions come and go
		delete(q.Lanes, l.LaneName)
	}
}

// Suspects reports whether a lane of suspects holds a task.
func (b *Board) Suspects() bool { return b.suspects > 0 }
