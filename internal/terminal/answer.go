package terminal

// Answer is where a command answers: people by a table, programs by JSON.
type Answer struct {
	*Output // for people

	Columns Columns           // of tables
	Status  *Output           // of what is under way
	JSON    func(v any) error // nil: a table is wanted
}

// Show shows v as JSON, or what fill adds as a table, whichever is wanted.
func (a Answer) Show(v any, fill func(*Table)) error {
	if a.JSON != nil {
		return a.JSON(v)
	}
	return a.TableOf(a.Columns, fill)
}
