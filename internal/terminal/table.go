package terminal

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Columns says which columns of a list are wanted: those that are named, in this order, or else the usual ones.
type Columns struct {
	Names []string
	Wide  bool // the less usual ones, too
}

// Table aligns cells in columns.
type Table struct {
	Columns // that are wanted of a list

	w       *tabwriter.Writer
	refused error
}

// Table writes what fill adds.
func (o *Output) Table(fill func(*Table)) error { return o.TableOf(Columns{}, fill) }

// TableOf writes what fill adds, with those columns of lists that are wanted.
func (o *Output) TableOf(columns Columns, fill func(*Table)) error {
	t := &Table{Columns: columns, w: tabwriter.NewWriter(o.w, 0, 8, 2, ' ', 0)}
	fill(t)
	if t.refused != nil {
		return t.refused
	}
	return t.w.Flush()
}

// Refuse says that there is no such table.
func (t *Table) Refuse(err error) { t.refused = err }

// Row adds a line of cells.
func (t *Table) Row(cells ...any) {
	for i, c := range cells {
		if i > 0 {
			t.write("\t")
		}
		t.write(Cell(fmt.Sprint(c)))
	}
	t.write("\n")
}

// Field adds a name and its value. A value of several lines takes as many, each in the value's column.
func (t *Table) Field(name string, value any) {
	for i, line := range strings.Split(strings.TrimRight(fmt.Sprint(value), "\n"), "\n") {
		if i > 0 {
			name = ""
		}
		t.Row(name, strings.TrimRight(line, "\r"))
	}
}

// Printf adds text outside of the columns.
func (t *Table) Printf(format string, args ...any) {
	for i := range args {
		args[i] = safely(args[i])
	}
	fmt.Fprintf(t.w, format, args...) // Flush returns the first error
}

// Block adds text of several lines outside of the columns.
func (t *Table) Block(text string) { t.write(strings.ReplaceAll(Block(text), "\t", "    ") + "\n") }

func (t *Table) write(s string) {
	_, _ = t.w.Write([]byte(s)) // Flush returns the first error
}
