package query

import (
	"strings"

	"github.com/taskrt/taskrt/api/cursor"
)

// list returns which list of tasks a search is, as far as its cursors are concerned: one goes on in its own order and direction only.
func (s *Search) list() cursor.Of {
	all := map[int][2]cursor.Of{
		createdAt: {cursor.Tasks, cursor.TasksDesc}, startedAt: {cursor.ByStart, cursor.ByStartDesc}, finishedAt: {cursor.ByEnd, cursor.ByEndDesc},
	}
	if s.Desc {
		return all[s.Filter.by()][1]
	}
	return all[s.Filter.by()][0]
}

// betweenParts stands between the time and the creation rev of a place in an order by time.
const betweenParts = "-"

// cursorAt returns the cursor of what is behind a place; "" for the zero Place.
func (s *Search) cursorAt(p Place) string {
	switch {
	case p == Place{}:
		return ""
	case s.Filter.by() == createdAt:
		return s.list().Text(p.Rev)
	}
	return s.list().Text(uint64(p.Time)) + betweenParts + s.list().Text(p.Rev)
}

// placeOf returns the place of a cursor. The error is an *api.Error.
func (s *Search) placeOf(text string) (p Place, err error) {
	if s.Filter.by() == createdAt || text == "" {
		p.Rev, err = s.list().Read(text)
		return p, err
	}
	at, rev, _ := strings.Cut(text, betweenParts)
	if at == "" || rev == "" {
		return Place{}, cursor.Wrong()
	}
	ms, err := s.list().Read(at)
	if err == nil {
		p.Rev, err = s.list().Read(rev)
	}
	p.Time = int64(ms)
	return p, err
}
