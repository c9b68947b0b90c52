package api

import (
	"hash/fnv"
	"strconv"
)

// cursorOf is the kind of list that a cursor is of. A cursor is the place where a list goes on. It is opaque to clients, and
// good on every node for as long as the cluster exists. A cursor says of which list it is, and has a check. So a cursor that
// was cut, made up, or handed out by another list is refused, and does not show a page from anywhere.
type cursorOf byte

const (
	ofTasks      cursorOf = 't'
	ofOperations cursorOf = 'o'
	ofPartitions cursorOf = 'p'
)

// cursorCheck is how many characters at the end of a cursor are its check.
const cursorCheck = 4

// text is the cursor of a list that goes on behind place.
func (of cursorOf) text(place uint64) string {
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

// place returns the place that text made the cursor of. False means that no such list returned the cursor.
func (of cursorOf) place(cursor string) (uint64, bool) {
	n := len(cursor) - cursorCheck
	if n < 2 || cursor[0] != byte(of) {
		return 0, false
	}
	place, err := strconv.ParseUint(cursor[1:n], 36, 64)
	return place, err == nil && of.text(place) == cursor
}

// read returns the place of a cursor. "" is the beginning of the list. Only a Service calls it: to clients cursors are opaque.
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

// TasksCursor returns the cursor of a list of tasks that goes on behind the task with this creation rev; "" for 0.
func TasksCursor(after uint64) string { return cursorAfterRev(ofTasks, after) }

// OperationsCursor is TasksCursor for operations.
func OperationsCursor(after uint64) string { return cursorAfterRev(ofOperations, after) }

func cursorAfterRev(of cursorOf, after uint64) string {
	if after == 0 {
		return ""
	}
	return of.text(after)
}

// PartitionsCursor returns the cursor of a list of partitions that goes on with partition number from, counted from 0; "" for a
// negative number.
func PartitionsCursor(from int64) string {
	if from < 0 {
		return ""
	}
	return ofPartitions.text(uint64(from))
}

// After returns the creation rev behind which the page begins. The error is an *Error: the cursor is not one of this list.
func (r *ListRequest) After() (uint64, error) { return ofTasks.read(r.Cursor) }

// After returns the creation rev behind which the page begins. The error is an *Error: the cursor is not one of this list.
func (r *OperationsRequest) After() (uint64, error) { return ofOperations.read(r.Cursor) }

// From returns the partition, counted from 0, with which the page begins. The error is an *Error: the cursor is not one of this
// list.
func (r *PartitionsRequest) From() (int64, error) {
	from, err := ofPartitions.read(r.Cursor)
	return int64(min(from, MaxPartitions)), err
}
