package task

import (
	"encoding/binary"

	"github.com/taskrt/taskrt/task/table"
)

// nameTable gives numbers to texts that many packed records have in common: versions, error codes, workers, nodes and
// outcomes. A text stays as long as a record that names it.
type nameTable struct {
	numbers map[string]uint32
	pages   table.Pages[names]
	refs    []uint32
	gone    []uint32
}

const pageNames = 256

type names [pageNames]string

// use returns the number of a text that one more record names.
func (t *nameTable) use(text string) uint32 {
	n, ok := t.numbers[text]
	if ok {
		t.refs[n]++
		return n
	}
	if last := len(t.gone) - 1; last >= 0 {
		n = t.gone[last]
		t.gone = t.gone[:last]
	} else {
		n = uint32(len(t.refs))
		t.refs = append(t.refs, 0)
		if n%pageNames == 0 {
			t.pages.Put(t.pages.Len())
		}
	}
	if t.numbers == nil {
		t.numbers = map[string]uint32{}
	}
	t.numbers[text] = n
	t.refs[n] = 1
	*t.edit(n) = text
	return n
}

// drop gives up the names of a packed record.
func (t *nameTable) drop(record []byte) {
	rest := record[idLength(record):]
	count, n := binary.Uvarint(rest)
	rest = rest[n:]
	for range count {
		number, n := binary.Uvarint(rest)
		rest = rest[n:]
		t.dropNumber(uint32(number))
	}
}

func (t *nameTable) dropNumber(n uint32) {
	if t.refs[n]--; t.refs[n] > 0 {
		return
	}
	text := t.edit(n)
	delete(t.numbers, *text)
	*text = ""
	t.gone = append(t.gone, n)
}

// freeze returns the texts as they are and will stay.
func (t *nameTable) freeze() nameTable { return nameTable{pages: t.pages.Freeze()} }

func (t *nameTable) text(n uint64) string { return t.pages.At(int(n / pageNames))[n%pageNames] }

// edit returns the text of a number to be written before the next freeze.
func (t *nameTable) edit(n uint32) *string { return &t.pages.Edit(int(n / pageNames))[n%pageNames] }
