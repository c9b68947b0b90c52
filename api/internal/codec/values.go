package codec

import (
	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/internal/scan"
)

// values reads the values of this API that are strings in JSON, if they are plain.
type values struct{ scan.Scanner }

func (s *values) time(to *api.Time) bool {
	text, ok := s.Plain()
	if !ok {
		return false
	}
	t, err := api.ParseTime(string(text))
	*to = t
	return err == nil
}

func (s *values) timeOrNil(to **api.Time) bool {
	*to = new(api.Time)
	return s.time(*to)
}

func (s *values) duration(to **api.Duration) bool {
	text, ok := s.Plain()
	if !ok {
		return false
	}
	d, err := api.ParseDuration(string(text))
	*to = new(api.Duration(d))
	return err == nil
}

func (s *values) int(to *int) bool {
	var n int64
	ok := s.Int(&n)
	*to = int(n)
	return ok
}

func (s *values) intOrNil(to **int) bool {
	*to = new(int)
	return s.int(*to)
}
