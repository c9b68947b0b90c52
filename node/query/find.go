package query

import (
	"context"

	"github.com/taskrt/taskrt/task"
)

// Search is a page that is asked for.
type Search struct {
	Filter Filter
	Desc   bool
	After  Place // of the last task of the page before; the zero Place: the first page
	Limit  int   // tasks of the page, > 0
}

// Page is how a page ended.
type Page struct {
	Next     Place // the After of the next page; the zero Place: there is none
	Examined int   // records that were read
}

// MaxExamined bounds the records that a page reads.
const MaxExamined = 100_000

// verifiedAt is how many records are read while the machine holds still.
const verifiedAt = 128

// Find gives take the records of a page, in order and a few at a time, while the machine holds still. take returns how many of them it took, at least
// one. If it took fewer than it was given, the page ends before the next record.
func (x *Index) Find(ctx context.Context, s Search, take func(*task.Machine, []*task.Task) int) (Page, error) {
	sc := newScan(&s.Filter, s.Desc, s.After)
	if x.none(sc) {
		return Page{}, nil
	}
	p := pager{search: &s, by: sc.by, take: take, last: s.After}
	batch := min(s.Limit+1, verifiedAt)
	for {
		found := x.candidates(sc, batch)
		for at := 0; at < len(found) && !p.full; at += verifiedAt {
			if err := ctx.Err(); err != nil {
				return p.page, err
			}
			some := found[at:min(at+verifiedAt, len(found))]
			x.cfg.Local(func(m *task.Machine) { p.verify(m, some) })
		}
		if p.full || len(found) < batch {
			return p.page, ctx.Err()
		}
		batch = min(8*batch, 32*verifiedAt) // the columns leave much open
	}
}

// pager makes a page of candidates.
type pager struct {
	search *Search
	by     int
	take   func(*task.Machine, []*task.Task) int
	taken  int
	last   Place // everything up to it was looked at
	page   Page
	full   bool
}

func (p *pager) verify(m *task.Machine, some []Place) {
	var tasks []*task.Task
	var places []Place
	end := func(next Place) { p.full, p.page.Next = true, next }
	for _, at := range some {
		if p.page.Examined >= MaxExamined {
			end(p.last)
			break
		}
		p.page.Examined++
		t := task.NumberedTask(m, at.Rev)
		if t != nil && p.search.Filter.Matches(t) && timeOf(t, p.by) == at.Time {
			if p.taken+len(tasks) == p.search.Limit {
				end(p.last)
				break
			}
			tasks, places = append(tasks, t), append(places, at)
		}
		p.last = at
	}
	if len(tasks) == 0 {
		return
	}
	n := p.take(m, tasks)
	p.taken += n
	if n < len(tasks) {
		end(places[n-1])
	}
}

// timeOf returns the time of a record that is the order.
func timeOf(t *task.Task, by int) int64 {
	switch by {
	case startedAt:
		return int64(t.StartedAt)
	case finishedAt:
		return int64(t.FinishedAt)
	}
	return 0
}
