package table

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

type seen struct {
	row    string
	offset int64
	cut    bool
}

// split is what Rows should give of a text.
func split(text string) (rows []seen) {
	offset := int64(0)
	for line := range strings.Lines(text) {
		row := strings.TrimSuffix(line, "\n")
		rows = append(rows, seen{row[:min(len(row), MaxRow)], offset, len(row) > MaxRow})
		offset += int64(len(line))
	}
	return rows
}

func check(t *testing.T, text string) {
	t.Helper()
	want := split(text)
	// From the start, and from the beginning of each row, as after a checkpoint.
	for skip := range min(len(want), 4) + 1 {
		from := int64(len(text))
		if skip < len(want) {
			from = want[skip].offset
		}
		r := NewRows(strings.NewReader(text), from)
		for i, w := range want[min(skip, len(want)):] {
			if !r.Next() {
				t.Fatalf("row %d of %d is missing: %v", skip+i, len(want), r.Err())
			}
			if got := (seen{string(r.Row()), r.Offset(), r.Cut()}); got != w {
				t.Fatalf("row %d: %.60q (%d bytes) at %d, cut %v; want %.60q (%d) at %d, %v",
					skip+i, got.row, len(got.row), got.offset, got.cut, w.row, len(w.row), w.offset, w.cut)
			}
			if n := skip + i + 1; n < len(want) && r.End() != want[n].offset || n == len(want) && r.End() != int64(len(text)) {
				t.Fatalf("row %d ends at %d of %d", skip+i, r.End(), len(text))
			}
		}
		if r.Next() || r.Err() != nil {
			t.Fatalf("more than %d rows, or %v", len(want), r.Err())
		}
	}
}

func TestRows(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, text := range []string{
		"", "\n", "\n\n", "a", "a\n", "a\n\nb", "\na",
		x(MaxRow), x(MaxRow) + "\n", x(MaxRow+1) + "\n", x(MaxRow+1) + "\na\n", x(pieceSize) + "\nb\n", x(pieceSize-1) + "\nb\n",
		"a\n" + x(pieceSize-2) + "\nb\n", "a\n" + x(pieceSize-3) + "\nb\n", "a\n" + x(3*pieceSize) + "\nb\n", "a\n" + x(3*pieceSize),
		x(pieceSize-MaxRow) + "\n" + x(MaxRow) + "\n" + x(MaxRow+1) + "\nc",
	} {
		check(t, text)
	}
}

func TestRandomRows(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var text strings.Builder
		for text.Len() < 3*pieceSize {
			switch random.IntN(20) {
			case 0:
				text.WriteString(strings.Repeat("y", MaxRow-3+random.IntN(6)))
			case 1:
				text.WriteString(strings.Repeat("z", random.IntN(pieceSize)))
			default:
				text.WriteString(strings.Repeat("x", random.IntN(9_000)))
			}
			text.WriteByte('\n')
		}
		check(t, text.String())
	}
}

// broken fails to read behind some bytes.
type broken struct{ text []byte }

var errBroken = errors.New("broken")

func (b broken) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, b.text[min(int(off), len(b.text)):])
	if n < len(p) {
		return n, errBroken
	}
	return n, nil
}

func TestUnreadable(t *testing.T) {
	text := bytes.Repeat([]byte("a row\n"), pieceSize/6+10)
	r := NewRows(broken{text}, 0)
	n := 0
	for r.Next() {
		n++
	}
	if !errors.Is(r.Err(), errBroken) || n > len(text)/6 || r.Next() {
		t.Errorf("%v after %d rows", r.Err(), n)
	}
}

func TestField(t *testing.T) {
	for n, want := range []string{"a", "", "b c", ""} {
		if got, ok := Field([]byte("a\t\tb c\t"), n); !ok || string(got) != want {
			t.Errorf("field %d: %q, %v", n, got, ok)
		}
	}
	if got, ok := Field([]byte("a\t\tb c\t"), 4); ok {
		t.Errorf("field 4: %q", got)
	}
	if got, ok := Field(nil, 0); !ok || len(got) != 0 {
		t.Errorf("field 0 of an empty row: %q, %v", got, ok)
	}
}
