package api

import (
	"hash/fnv"
	"strconv"
)

// A cursor is the place where a list goes on: opaque, good on every node and for as long as the cluster is there. It says
// which list it is of and has a check: one that was cut, made up, or handed out by another list is refused instead of
// showing a page from somewhere.
type cursorOf byte

const (
	ofTasks      cursorOf = 't'
	ofOperations cursorOf = 'o'
	ofPartitions cursorOf = 'p'
)

// cursorCheck is how many characters at the end are the check.
const cursorCheck = 4

// text is the cursor of a list that goes on behind place.
func (of cursorOf) text(place uint64) string {
	body := string(of) + strconv.FormatUint(place, 36)
	return body + checkOf(body)
}

// checkOf has 36^4 values.
func checkOf(body string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(body)) // never fails
	const values, digits = 36 * 36 * 36 * 36, "0000"
	s := strconv.FormatUint(h.Sum64()%values, 36)
	return digits[len(s):] + s
}

// place is what text was given; false: the cursor is not one that the list returned.
func (of cursorOf) place(cursor string) (uint64, bool) {
	n := len(cursor) - cursorCheck
	if n < 2 || cursor[0] != byte(of) {
		return 0, false
	}
	place, err := strconv.ParseUint(cursor[1:n], 36, 64)
	return place, err == nil && of.text(place) == cursor
}

// read reads a cursor, or "", the beginning. It is for whoever answers: to clients cursors are opaque.
func (of cursorOf) read(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	place, ok := of.place(cursor)
	if !ok {
		return 0, FieldError(CodeInvalidField, "cursor", "is not one that this list returned")
	}
	return place, nil
}

// TasksCursor is the cursor of a list of tasks that goes on behind the one with that creation rev; "" for 0.
func TasksCursor(after uint64) string { return cursorAfterRev(ofTasks, after) }

// OperationsCursor is TasksCursor for operations.
func OperationsCursor(after uint64) string { return cursorAfterRev(ofOperations, after) }

func cursorAfterRev(of cursorOf, after uint64) string {
	if after == 0 {
		return ""
	}
	return of.text(after)
}

// PartitionsCursor is the cursor of a list of partitions that goes on with the one of that number, counted from 0; "" for a
// negative one.
func PartitionsCursor(from int64) string {
	if from < 0 {
		return ""
	}
	return ofPartitions.text(uint64(from))
}

// After is the creation rev behind which the page begins; an *Error if the cursor is none of this list.
func (r *ListRequest) After() (uint64, error) { return ofTasks.read(r.Cursor) }

// After is the creation rev behind which the page begins; an *Error if the cursor is none of this list.
func (r *OperationsRequest) After() (uint64, error) { return ofOperations.read(r.Cursor) }

// From is the partition, counted from 0, that the page begins with; an *Error if the cursor is none of this list.
func (r *PartitionsRequest) From() (int64, error) {
	from, err := ofPartitions.read(r.Cursor)
	return int64(min(from, MaxPartitions)), err
}
