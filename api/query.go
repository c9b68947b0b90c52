package api

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// query is the query string of a request, strictly: what is not asked for by name is refused by done (SPEC H2).
type query struct {
	values url.Values
	known  []string
	err    *Error // the first that went wrong
}

func queryOf(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.err = NewError(CodeBadRequest, "the query string cannot be read: %v", err)
	}
	return q
}

func (q *query) fail(err *Error) {
	if q.err == nil {
		q.err = err
	}
}

// text returns a parameter, "" if it is not there.
func (q *query) text(name string) string {
	q.known = append(q.known, name)
	if len(q.values[name]) > 1 {
		q.fail(FieldError(CodeInvalidField, name, "is given twice"))
	}
	return q.values.Get(name)
}

func (q *query) namespace() string {
	ns, err := checkNamespace(q.text("namespace"))
	if err != nil {
		q.fail(err)
	}
	return ns
}

func (q *query) duration(name string) time.Duration {
	s := q.text(name)
	if s == "" {
		return 0
	}
	d, err := ParseDuration(s)
	if err != nil {
		q.fail(FieldError(CodeInvalidField, name, "%v", err))
	}
	return d
}

func (q *query) number(name string) uint64 {
	s := q.text(name)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		q.fail(FieldError(CodeInvalidField, name, "must be a whole number"))
	}
	return n
}

func (q *query) time(name string) *time.Time {
	s := q.text(name)
	if s == "" {
		return nil
	}
	t, err := ParseTime(s)
	if err != nil {
		q.fail(FieldError(CodeInvalidField, name, "%v", err))
	}
	return &t.Time
}

// stale reads consistency=strong|stale (SPEC W4).
func (q *query) stale() bool {
	switch q.text("consistency") {
	case "", "strong":
		return false
	case "stale":
		return true
	}
	q.fail(FieldError(CodeInvalidField, "consistency", "must be strong or stale"))
	return false
}

// done returns the first error, or names a parameter that nobody asked for.
func (q *query) done() error {
	for name := range q.values {
		if !slices.Contains(q.known, name) {
			q.fail(FieldError(CodeUnknownField, name, "there is no such query parameter"))
		}
	}
	if q.err != nil {
		return q.err
	}
	return nil
}
