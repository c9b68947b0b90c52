package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// These are limits of the TaskStore API (SPEC X2). Data may be as large as a body may be. Still an update must fit into one log
// entry: if it does not, its longest data is kept as blobs, and the entry has their digests.
const (
	MaxStoreParts = 4_000     // adds, updates, deletes and depends of one update, depends of one claim, IDs of one read
	MaxStoreData  = MaxBody   // bytes of the data of one update
	MaxStoreBytes = 512 << 10 // of one update in the log: group names, data that is not a blob, and the sizes below
	MaxStoreGroup = 256       // bytes of a group's name
	MaxStoreList  = 64 << 20  // of the records of one answer: group names, data, and StoreRecordBytes for each

	StoreRecordBytes = 128 // for how many bytes a record counts in a list, besides its group and data
	StoreBlobBytes   = 128 // bytes that data takes in the log if it is a blob

	storeBase = 256 // bytes that an update takes by itself
	storePart = 32  // bytes of an add or a change, besides group and data
	storeID   = 9   // bytes of a delete or a depend
)

// LogBytes returns how much of a log entry the request takes, if data of more than inline bytes is kept as blobs.
func (r *StoreUpdateRequest) LogBytes(inline int) int {
	size := storeBase + storePart*(len(r.Adds)+len(r.Updates)) + storeID*(len(r.Deletes)+len(r.Depends))
	data := func(text string) int {
		if len(text) > inline {
			return StoreBlobBytes
		}
		return len(text)
	}
	for i := range r.Adds {
		size += len(r.Adds[i].Group) + data(r.Adds[i].Data)
	}
	for i := range r.Updates {
		size += data(r.Updates[i].Data)
	}
	return size
}

// Check tells what is wrong with the request by itself and fills in the namespace; nil or an *Error.
func (r *StoreUpdateRequest) Check() error { return r.check().orNil() }

func (r *StoreUpdateRequest) check() *Error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	changes := len(r.Adds) + len(r.Updates) + len(r.Deletes)
	if changes == 0 {
		return NewError(CodeBadRequest, "the update is empty: it has no adds, updates or deletes")
	}
	if n := changes + len(r.Depends); n > MaxStoreParts {
		return LimitError("update", MaxStoreParts, "%d adds, updates, deletes and depends, at most %d", n, MaxStoreParts)
	}
	data := 0
	for i := range r.Adds {
		if err := checkGroup(fmt.Sprintf("adds[%d].group", i), r.Adds[i].Group); err != nil {
			return err
		}
		if err := checkData(fmt.Sprintf("adds[%d].data", i), r.Adds[i].Data); err != nil {
			return err
		}
		data += len(r.Adds[i].Data)
	}
	for i := range r.Updates {
		if err := checkData(fmt.Sprintf("updates[%d].data", i), r.Updates[i].Data); err != nil {
			return err
		}
		data += len(r.Updates[i].Data)
	}
	if data > MaxStoreData {
		return LimitError("update", MaxStoreData, "%d bytes of data, at most %d", data, MaxStoreData)
	}
	if size := r.LogBytes(StoreBlobBytes); size > MaxStoreBytes {
		return LimitError("update", MaxStoreBytes, "%d bytes besides long data, at most %d: send it in several", size, MaxStoreBytes)
	}
	return r.checkIDs()
}

// checkIDs refuses an ID that stands twice in updates and deletes together. It may also stand among the depends.
func (r *StoreUpdateRequest) checkIDs() *Error {
	seen := make(map[uint64]bool, len(r.Updates)+len(r.Deletes))
	for i := range r.Updates {
		id, field := r.Updates[i].ID, fmt.Sprintf("updates[%d].id", i)
		switch {
		case id == 0:
			return FieldError(CodeInvalidField, field, "is required")
		case seen[id]:
			return FieldError(CodeInvalidField, field, "%d stands twice in updates and deletes", id)
		}
		seen[id] = true
	}
	for i, id := range r.Deletes {
		if seen[id] {
			return FieldError(CodeInvalidField, fmt.Sprintf("deletes[%d]", i), "%d stands twice in updates and deletes", id)
		}
		seen[id] = true
	}
	return nil
}

// Check tells what is wrong with the request by itself and fills in the namespace; nil or an *Error.
func (r *StoreClaimRequest) Check() error {
	var err *Error
	if r.Namespace, err = userNamespace(r.Namespace); err != nil {
		return err
	}
	if err := checkGroup("group", r.Group); err != nil {
		return err
	}
	if n := len(r.Depends); n > MaxStoreParts {
		return LimitError("depends", MaxStoreParts, "%d IDs, at most %d", n, MaxStoreParts)
	}
	return nil
}

// CheckStoreGroup checks a group's name, and fills in the namespace; nil or an *Error.
func CheckStoreGroup(namespace *string, group string) error {
	var err *Error
	if *namespace, err = checkNamespace(*namespace); err != nil {
		return err
	}
	return checkGroup("group", group).orNil()
}

// CheckStoreIDs bounds the IDs of one read, and fills in the namespace; nil or an *Error.
func CheckStoreIDs(namespace *string, ids []uint64) error {
	var err *Error
	if *namespace, err = checkNamespace(*namespace); err != nil {
		return err
	}
	if len(ids) > MaxStoreParts {
		return LimitError("ids", MaxStoreParts, "%d IDs, at most %d", len(ids), MaxStoreParts)
	}
	return nil
}

func checkGroup(field, group string) *Error {
	switch {
	case group == "":
		return FieldError(CodeInvalidField, field, "is required")
	case len(group) > MaxStoreGroup:
		e := FieldError(CodeInvalidField, field, "%d bytes, at most %d", len(group), MaxStoreGroup)
		e.Limit = MaxStoreGroup
		return e
	case !utf8.ValidString(group) || strings.ContainsFunc(group, unicode.IsControl):
		return FieldError(CodeInvalidField, field, "must be valid UTF-8 without control characters")
	}
	return nil
}

func checkData(field, data string) *Error {
	if n := len(data); n > MaxStoreData {
		return LimitError(field, MaxStoreData, "%d bytes, at most %d", n, MaxStoreData)
	}
	if !utf8.ValidString(data) {
		return FieldError(CodeInvalidField, field, "must be valid UTF-8")
	}
	return nil
}
