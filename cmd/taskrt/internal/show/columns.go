package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskrt/taskrt/internal/terminal"
)

// Column is a column of a list.
type Column[T any] struct {
	Name string
	Cell func(T) any
	Wide bool // it is shown only on request
}

// List adds a list with the wanted columns. head says that these are its first rows.
func List[T any](w *terminal.Table, all []T, head bool, columns []Column[T]) {
	columns, err := wanted(w.Columns, columns)
	if err != nil {
		w.Refuse(err)
		return
	}
	cells := make([]any, len(columns))
	if head {
		for i, c := range columns {
			cells[i] = c.Name
		}
		w.Row(cells...)
	}
	for _, x := range all {
		for i, c := range columns {
			cells[i] = c.Cell(x)
		}
		w.Row(cells...)
	}
}

// wanted are the columns that are asked for.
func wanted[T any](asked terminal.Columns, columns []Column[T]) (out []Column[T], err error) {
	for _, name := range asked.Names {
		i := slices.IndexFunc(columns, func(c Column[T]) bool { return strings.EqualFold(c.Name, name) })
		if i < 0 {
			return nil, fmt.Errorf("--columns: there is no column %q; there are %s", name, strings.Join(namesOf(columns), ", "))
		}
		out = append(out, columns[i])
	}
	if len(out) > 0 {
		return out, nil
	}
	return slices.DeleteFunc(slices.Clone(columns), func(c Column[T]) bool { return c.Wide && !asked.Wide }), nil
}

func namesOf[T any](columns []Column[T]) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}
