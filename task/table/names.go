package table

import "fmt"

// Names gives numbers to texts that many records have in common. A text stays as long as there is a record that names
// it. The zero value is empty.
type Names struct {
	numbers map[string]uint32
	texts   Pages[[pageNames]string] // by number
	refs    []uint32                 // by number, how many records name the text
	gone    []uint32                 // numbers that no text has
}

const pageNames = 256

// Use returns the number of a text that one more record names.
func (t *Names) Use(text string) uint32 {
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
			t.texts.Put(int(n / pageNames))
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

// Drop says that one record fewer names the text with this number.
func (t *Names) Drop(n uint32) {
	if t.refs[n]--; t.refs[n] > 0 {
		return
	}
	text := t.edit(n)
	delete(t.numbers, *text)
	*text = ""
	t.gone = append(t.gone, n)
}

// Text returns the text of a number.
func (t *Names) Text(n uint64) string { return t.texts.At(int(n / pageNames))[n%pageNames] }

func (t *Names) edit(n uint32) *string { return &t.texts.Edit(int(n / pageNames))[n%pageNames] }

// Freeze returns the texts for reading, as they are and will stay.
func (t *Names) Freeze() Names { return Names{texts: t.texts.Freeze()} }

// Check verifies the table, given the numbers in all records.
func (t *Names) Check(named func(yield func(n uint64) bool)) error {
	refs := make([]uint32, len(t.refs))
	for n := range named {
		if n >= uint64(len(refs)) {
			return fmt.Errorf("names: %d has no text", n)
		}
		refs[n]++
	}
	for n, want := range refs {
		if t.refs[n] != want {
			return fmt.Errorf("names: %d is named %d times, recounted %d", n, t.refs[n], want)
		}
	}
	for text, n := range t.numbers { // order-free: any violation will do
		if t.Text(uint64(n)) != text || refs[n] == 0 {
			return fmt.Errorf("names: %q", text)
		}
	}
	if len(t.numbers)+len(t.gone) != len(refs) {
		return fmt.Errorf("names: %d, %d gone, of %d", len(t.numbers), len(t.gone), len(refs))
	}
	return nil
}
