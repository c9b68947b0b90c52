package server

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskrt/taskrt/api"
)

// query is the query string of a request, read strictly: a parameter that is not in the table of routes is refused (SPEC H2). A method of the handler
// panics if it asks for a parameter that the table does not have, or forgets a parameter of the table, because the document would be wrong.
type query struct {
	values url.Values
	params []param
	read   []string
	err    error // the first error
}

// readQuery reads the query string by the parameters that the route has.
func readQuery(u *url.URL, params []param) *query {
	q := &query{params: params, read: make([]string, 0, len(params))}
	if u.RawQuery == "" {
		return q
	}
	values, err := url.ParseQuery(u.RawQuery)
	q.values = values
	if err != nil {
		q.err = api.NewError(api.CodeBadRequest, "the query string cannot be read: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p, known := q.find(name)
		switch {
		case !known:
			q.fail(api.FieldError(api.CodeUnknownField, name, "there is no such query parameter"))
		case len(values[name]) > 1 && !p.repeat:
			q.fail(api.FieldError(api.CodeInvalidField, name, "is given twice"))
		case !allValid(values[name]):
			q.fail(api.FieldError(api.CodeInvalidField, name, "is not valid UTF-8"))
		}
	}
	return q
}

func allValid(texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}

func (q *query) find(name string) (param, bool) {
	i := slices.IndexFunc(q.params, func(p param) bool { return p.name == name })
	if i < 0 {
		return param{}, false
	}
	return q.params[i], true
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// texts returns all values that are given for a parameter.
func (q *query) texts(name string) []string {
	if _, known := q.find(name); !known {
		panic("the route's table has no query parameter " + name)
	}
	q.read = append(q.read, name)
	return q.values[name]
}

// text returns a parameter, or "" if it is absent.
func (q *query) text(name string) string {
	if given := q.texts(name); len(given) > 0 {
		return given[0]
	}
	return ""
}

// flag reads true or false. An absent parameter is false.
func (q *query) flag(name string) bool {
	switch q.text(name) {
	case "", "false":
		return false
	case "true":
		return true
	}
	q.fail(api.FieldError(api.CodeInvalidField, name, "must be true or false"))
	return false
}

func (q *query) namespace() string {
	ns := q.text("namespace")
	if err := api.CheckNamespace(&ns); err != nil {
		q.fail(err)
	}
	return ns
}

func (q *query) duration(name string) time.Duration {
	s := q.text(name)
	if s == "" {
		return 0
	}
	d, err := api.ParseDuration(s)
	if err != nil {
		q.fail(api.FieldError(api.CodeInvalidField, name, "%v", err))
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
		q.fail(api.FieldError(api.CodeInvalidField, name, "must be a whole number"))
	}
	return n
}

// limit reads how many entries a page shall have; 0 if it is absent.
func (q *query) limit() int {
	n := q.number("limit")
	if q.values.Has("limit") && (n == 0 || n > api.MaxListLimit) {
		n = api.MaxListLimit + 1 // so that Check refuses it, in its own words
	}
	return int(n)
}

func (q *query) time(name string) *time.Time {
	s := q.text(name)
	if s == "" {
		return nil
	}
	t, err := api.ParseTime(s)
	if err != nil {
		q.fail(api.FieldError(api.CodeInvalidField, name, "%v", err))
	}
	return &t.Time
}

// timeRange reads name_from and name_to.
func (q *query) timeRange(name string) api.TimeRange {
	return api.TimeRange{From: q.time(name + "_from"), To: q.time(name + "_to")}
}

// either reads true or false. Nil: it is absent.
func (q *query) either(name string) *bool {
	if yes := q.flag(name); q.values.Has(name) {
		return &yes
	}
	return nil
}

// word reads one of the values that the table has for a parameter, or "".
func (q *query) word(name string) string {
	s := q.text(name)
	if p, _ := q.find(name); s != "" && !slices.Contains(p.values, s) {
		q.fail(api.FieldError(api.CodeInvalidField, name, "must be %s", strings.Join(p.values, " or ")))
	}
	return s
}

// stale reads consistency=strong|stale (SPEC W4).
func (q *query) stale() bool {
	switch q.text("consistency") {
	case "", "strong":
		return false
	case "stale":
		return true
	}
	q.fail(api.FieldError(api.CodeInvalidField, "consistency", "must be strong or stale"))
	return false
}

// done returns the first error. It must be called after the last parameter was read.
func (q *query) done() error {
	for _, p := range q.params {
		if !slices.Contains(q.read, p.name) {
			panic("the handler does not read the query parameter " + p.name)
		}
	}
	return q.err
}
