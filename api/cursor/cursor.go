// Package cursor makes the texts that say where a list goes on.
package cursor

import (
	"hash/fnv"
	"strconv"

	"github.com/taskrt/taskrt/api"
)

// Of is the kind of list that a cursor is of. A cursor is the place where a list goes on. It is opaque to clients, and
// good on every node for as long as the cluster exists. A cursor says of which list it is, and has a check. So a cursor that
// was cut, made up, or handed out by another list is refused, and does not show a page from anywhere.
type Of byte

// The lists. Those of tasks are of one order and one direction each.
const (
	Tasks       Of = 't'
	TasksDesc   Of = 'd'
	ByStart     Of = 's'
	ByStartDesc Of = 'u'
	ByEnd       Of = 'f'
	ByEndDesc   Of = 'g'
	Operations  Of = 'o'
	Partitions  Of = 'p'
)

// checkLength is how many characters at the end of a cursor are its check.
const checkLength = 4

// Text is the cursor of a list that goes on behind place.
func (of Of) Text(place uint64) string {
	body := string(of) + strconv.FormatUint(place, 36)
	return body + checkOf(body)
}

// checkOf returns the check of a cursor's body. It has 36^4 values.
func checkOf(body string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(body)) // never fails
	const values, digits = 36 * 36 * 36 * 36, "0000"
	s := strconv.FormatUint(h.Sum64()%values, 36)
	return digits[len(s):] + s
}

// Read returns the place that Text made the cursor of, 0 for "": the beginning of the list. The error is an *api.Error: no such list returned the
// cursor.
func (of Of) Read(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	n := len(cursor) - checkLength
	if n < 2 || cursor[0] != byte(of) {
		return 0, Wrong()
	}
	place, err := strconv.ParseUint(cursor[1:n], 36, 64)
	if err != nil || of.Text(place) != cursor {
		return 0, Wrong()
	}
	return place, nil
}

// Wrong is the answer to a cursor that is not one of the list.
func Wrong() *api.Error {
	return api.FieldError(api.CodeInvalidField, "cursor", "is not one that this list returned")
}
