package audit

// View reads a Table. It is good until the next write.
type View struct{ table *Table }

// View returns the records for reading.
func (t *Table) View() View { return View{t} }

// Last is the number of the newest record that ever was.
func (v View) Last() uint64 { return v.table.Last }

// Lost is how many refusals no record counts, because there were too many.
func (v View) Lost() int64 { return v.table.Lost }

// After yields the records with numbers above the given one, in the order of their numbers. This is the order of the log.
func (v View) After(number uint64) func(yield func(Record) bool) {
	return func(yield func(Record) bool) {
		a, b := &v.table.changes, &v.table.refusals
		i, j := a.after(number), b.after(number)
		for i < a.n || j < b.n {
			var x Record
			if j == b.n || i < a.n && a.row(i).number < b.row(j).number {
				x = a.record(i)
				i++
			} else {
				x = b.record(j)
				j++
			}
			if !yield(x) {
				return
			}
		}
	}
}

// Refusal is what a node has counted: how often a token lacked a role for a route in a namespace.
type Refusal struct {
	Token     uint64 `cbor:"1,keyasint"`
	From      string `cbor:"2,keyasint,omitempty"` // the address of the last one
	Route     string `cbor:"3,keyasint"`
	Namespace string `cbor:"4,keyasint,omitempty"` // "": none in particular
	Count     int64  `cbor:"5,keyasint"`
}

// MaxRefusals is how many refusals one command notes.
const MaxRefusals = 64

// WrongRefusals says what is wrong with the refusals of one command: the field, and why; "" for both if nothing is.
func WrongRefusals(all []Refusal) (field, why string) {
	if len(all) == 0 || len(all) > MaxRefusals {
		return "refusals", "one command notes 1 to 64 refusals"
	}
	for _, x := range all {
		if field, why = x.wrong(); field != "" {
			break
		}
	}
	return field, why
}

// wrong says what is wrong with a refusal: the field, and why; "" for both if nothing is.
func (x Refusal) wrong() (field, why string) {
	switch {
	case x.Token == 0 || x.Route == "":
		return "refusals", "name a token and a route"
	case x.Count <= 0:
		return "count", "is at least 1"
	}
	return Wrong(x.From, x.Route, x.target())
}

// target is the target of the refusal's record.
func (x Refusal) target() string {
	if x.Namespace == "" {
		return ""
	}
	return x.Namespace + "/"
}

// Record returns the refusal's record. The token has the name.
func (x Refusal) Record(index uint64, at int64, name string) Record {
	return Record{Index: index, At: at, Token: x.Token, Name: name, From: x.From, Route: x.Route, Target: x.target(), Code: codeRefused, Count: x.Count}
}

// codeRefused is the code of requests that are refused for lack of a role.
const codeRefused = "forbidden"
