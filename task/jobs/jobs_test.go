package jobs

import (
	"slices"
	"strings"
	"testing"
)

const kind = 99

// start keeps a new job with a number.
func start(t *testing.T, table *Table, number uint64, change func(*Job)) *Job {
	t.Helper()
	x := &Job{Namespace: "default", Action: Cancel, State: Selecting, Spec: []byte(`{"id_prefix":"a"}`), Rate: 10, Index: number, CreatedAt: 1}
	if change != nil {
		change(x)
	}
	if no := table.Start(x); no != (Refusal{}) {
		t.Fatalf("start %d: %+v", number, no)
	}
	x.Number, x.Rev = number, number
	table.Put(x)
	return table.Of(number)
}

// keep keeps what a change has made of a job.
func keep(t *testing.T, table *Table, next *Job, no Refusal) *Job {
	t.Helper()
	if next == nil || no != (Refusal{}) {
		t.Fatalf("%+v, refused %+v", next, no)
	}
	next.Rev++
	table.Put(next)
	check(t, table)
	return table.Of(next.Number)
}

func check(t *testing.T, table *Table) {
	t.Helper()
	if err := table.Check(1_000, 1_000); err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, x := range table.All() {
		sum += table.hash(x)
	}
	if sum != table.Sum() {
		t.Fatalf("sum %x, recounted %x", table.Sum(), sum)
	}
}

func refused(t *testing.T, what string, next *Job, no Refusal, code, field string) {
	t.Helper()
	if next != nil || no.Code != code || no.Field != field || no.Why == "" {
		t.Errorf("%s: %+v, %+v, want %s%s", what, next, no, code, field)
	}
}

var digests = []string{strings.Repeat("a", 64)}

// TestStart: what is wrong with a job is refused with the field's name, at each bound (SPEC Q3).
func TestStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		change func(*Job)
	}{
		{"", func(*Job) {}},
		{"action", func(x *Job) { x.Action = 0 }},
		{"action", func(x *Job) { x.Action = Remove + 1 }},
		{"", func(x *Job) { x.Action = Remove }},
		{"filter", func(x *Job) { x.Spec = []byte(`{"id":1}`) }},
		{"filter", func(x *Job) { x.Spec = nil }},
		{"rate", func(x *Job) { x.Rate = 0 }},
		{"rate", func(x *Job) { x.Rate = MaxRate + 1 }},
		{"", func(x *Job) { x.Rate = MaxRate }},
		{"version", func(x *Job) { x.Version = "v" }},
		{"version", func(x *Job) { x.Keep = true }},
		{"version", func(x *Job) { x.Action, x.Version = Retry, strings.Repeat("v", maxText+1) }},
		{"", func(x *Job) { x.Action, x.Version, x.Keep, x.Delay = Retry, strings.Repeat("v", maxText), true, 1 }},
		{"delay", func(x *Job) { x.Delay = 1 }},
		{"delay", func(x *Job) { x.Action, x.Delay = Remove, 1 }},
		{"delay", func(x *Job) { x.Action, x.Delay = Resubmit, -1 }},
		{"", func(x *Job) { x.Action, x.Delay = Resubmit, 1 }},
	} {
		x := Job{Action: Cancel, Spec: []byte("{}"), Rate: 1}
		c.change(&x)
		table := NewTable(kind)
		if no := table.Start(&x); no.Field != c.field || no.Code != "" || (no.Why == "") != (c.field == "") {
			t.Errorf("%+v: %+v, want %q", x, no, c.field)
		}
	}
}

// TestMaxActive: four jobs at a time, and one ends before a fifth begins.
func TestMaxActive(t *testing.T) {
	t.Parallel()
	table := NewTable(kind)
	for n := range uint64(MaxActive) {
		start(t, &table, n+1, nil)
	}
	if no := table.Start(&Job{Action: Cancel, Spec: []byte("{}"), Rate: 1}); no.Code != CodeTooMany {
		t.Errorf("a fifth: %+v", no)
	}
	if no := table.Start(&Job{}); no.Field != "action" {
		t.Errorf("a wrong fifth: %+v", no)
	}
	next, no := table.End(2, "", "", 5)
	keep(t, &table, next, no)
	start(t, &table, 9, nil)
	check(t, &table)
}

// TestSelect: a selection is made once, of a state between the start and its own entry, and its blobs hold it.
func TestSelect(t *testing.T) {
	t.Parallel()
	table := NewTable(kind)
	start(t, &table, 5, nil)
	for _, c := range []struct {
		what        string
		number      uint64
		index, at   uint64
		count       int64
		blobs       []string
		code, field string
	}{
		{"none", 6, 5, 7, 1, digests, CodeMoved, ""},
		{"before the start", 5, 4, 7, 1, digests, "", "index"},
		{"of its own entry", 5, 7, 7, 1, digests, "", "index"},
		{"negative", 5, 5, 7, -1, nil, "", "count"},
		{"too many", 5, 5, 7, MaxTasks + 1, slices.Repeat(digests, 10), "", "count"},
		{"no blob", 5, 5, 7, 1, nil, "", "blobs"},
		{"a blob of nothing", 5, 5, 7, 0, digests, "", "blobs"},
		{"a blob too many", 5, 5, 7, PerBlob, slices.Repeat(digests, 2), "", "blobs"},
		{"a blob too few", 5, 5, 7, PerBlob + 1, digests, "", "blobs"},
	} {
		next, no := table.Select(c.number, c.index, c.at, c.count, c.blobs, 9)
		refused(t, c.what, next, no, c.code, c.field)
	}
	next, no := table.Select(5, 6, 7, MaxTasks, slices.Repeat(digests, 10), 9)
	x := keep(t, &table, next, no)
	if x.State != Acting || x.Selected != MaxTasks || x.SelectedAt != 6 || len(x.Blobs) != 10 || x.EndedAt != 0 {
		t.Errorf("%+v", x)
	}
	next, no = table.Select(5, 6, 8, 1, digests, 9)
	refused(t, "a second time", next, no, CodeMoved, "")

	start(t, &table, 9, nil)
	next, no = table.Select(9, 9, 10, 0, nil, 77)
	if x := keep(t, &table, next, no); x.State != Done || x.EndedAt != 77 {
		t.Errorf("nothing to do: %+v", x)
	}
}

// TestStep: each task has one turn, its outcome is counted, and the job ends with the last one (SPEC Q3).
func TestStep(t *testing.T) {
	t.Parallel()
	table := NewTable(kind)
	start(t, &table, 5, nil)
	never := func(uint64) Outcome { t.Error("a task had a turn"); return Did }
	next, no := table.Step(5, 0, []uint64{1}, 9, never)
	refused(t, "nothing is selected", next, no, CodeMoved, "")
	next, no = table.Select(5, 5, 6, MaxStep+2, digests, 9)
	keep(t, &table, next, no)
	many := make([]uint64, MaxStep+1)
	for _, c := range []struct {
		what        string
		number      uint64
		from        int64
		tasks       []uint64
		code, field string
	}{
		{"none", 6, 0, many[:1], CodeMoved, ""},
		{"from elsewhere", 5, 1, many[:1], CodeMoved, ""},
		{"no tasks", 5, 0, nil, "", "tasks"},
		{"too many tasks", 5, 0, many, "", "tasks"},
	} {
		next, no := table.Step(c.number, c.from, c.tasks, 9, never)
		refused(t, c.what, next, no, c.code, c.field)
	}
	for i := range many {
		many[i] = uint64(i)
	}
	outcomes, had := []Outcome{Did, WasChanged, WasGone, WasRefused, WasForbidden}, []uint64{}
	turn := func(n uint64) Outcome { had = append(had, n); return outcomes[int(n)%len(outcomes)] }
	next, no = table.Step(5, 0, many[:MaxStep], 9, turn)
	x := keep(t, &table, next, no)
	if want := (Counts{Done: 52, Changed: 51, Gone: 51, Refused: 51, Forbidden: 51}); x.Counts != want || x.Position != MaxStep || !slices.Equal(had, many[:MaxStep]) {
		t.Errorf("%+v at %d, %d turns", x.Counts, x.Position, len(had))
	}
	next, no = table.Step(5, MaxStep, many[:3], 9, never)
	refused(t, "more than are left", next, no, "", "tasks")
	stays, no := table.Step(5, MaxStep, many[:2], 9, func(uint64) Outcome { return Later })
	if no != (Refusal{}) || stays.Position != MaxStep || stays.Counts != x.Counts || stays.State != Acting {
		t.Errorf("later: %+v %+v", stays, no)
	}
	next, no = table.Step(5, MaxStep, many[:2], 9, func(n uint64) Outcome {
		if n == 1 {
			return Later
		}
		return Did
	})
	if x = keep(t, &table, next, no); x.Position != MaxStep+1 || x.State != Acting || x.Counts.Done != 53 || len(x.Blobs) != 1 {
		t.Errorf("one of two: %+v", x)
	}
	next, no = table.Step(5, MaxStep+1, many[:1], 88, turn)
	if x = keep(t, &table, next, no); x.State != Done || x.EndedAt != 88 || x.Blobs != nil || x.Counts.total() != x.Selected {
		t.Errorf("the last: %+v", x)
	}
	next, no = table.Step(5, MaxStep+2, many[:1], 9, never)
	refused(t, "ended", next, no, CodeMoved, "")
}

// TestEnd: a job ends once, with a reason or without, and its blobs go with it.
func TestEnd(t *testing.T) {
	t.Parallel()
	table := NewTable(kind)
	start(t, &table, 5, nil)
	next, no := table.Select(5, 5, 6, 3, digests, 9)
	keep(t, &table, next, no)
	start(t, &table, 8, nil)
	next, no = table.End(7, "", "", 9)
	refused(t, "none", next, no, CodeNotFound, "")
	next, no = table.End(5, strings.Repeat("c", maxText+1), "", 9)
	refused(t, "a long code", next, no, "", "message")
	next, no = table.End(5, "c", strings.Repeat("m", maxMessage+1), 9)
	refused(t, "a long message", next, no, "", "message")
	next, no = table.End(5, "", "unheard", 0)
	if x := keep(t, &table, next, no); x.State != Cancelled || x.Code != "" || x.Message != "" || x.EndedAt != 1 || x.Blobs != nil || x.Selected != 3 {
		t.Errorf("cancelled: %+v", x)
	}
	if next, no = table.End(5, "c", "", 9); next != nil || no != (Refusal{}) {
		t.Errorf("twice: %+v %+v", next, no)
	}
	next, no = table.End(8, "c", "m", 9)
	if x := keep(t, &table, next, no); x.State != Failed || x.Code != "c" || x.Message != "m" {
		t.Errorf("failed: %+v", x)
	}
}

// TestViewsNeverChange: what the table handed out stays as it was, and what it was given is not its own.
func TestViewsNeverChange(t *testing.T) {
	t.Parallel()
	table := NewTable(kind)
	x := start(t, &table, 5, nil)
	f, all := x.Filter(), table.All()
	if f == nil || f.IDPrefix != "a" {
		t.Fatalf("filter %+v", f)
	}
	next, no := table.Select(5, 5, 6, 3, digests, 9)
	was := keep(t, &table, next, no)
	next.Namespace = "other"
	if x.State != Selecting || all[0] != x || was.Namespace != "default" || was.Filter() != f {
		t.Errorf("%+v %+v", x, was)
	}
	next, no = table.Step(5, 0, []uint64{1}, 9, func(uint64) Outcome { return Did })
	keep(t, &table, next, no)
	if was.Position != 0 || was.Counts != (Counts{}) {
		t.Errorf("%+v", was)
	}
}

// TestEviction: of the jobs that have ended the 50 that ended last are remembered, and none that has not ended is forgotten. So a job that took long
// is there for whoever waits for it (SPEC Q3).
func TestEviction(t *testing.T) {
	t.Parallel()
	table := NewTable(kind)
	start(t, &table, 1, nil)
	for n := uint64(2); n < MaxEnded+12; n++ {
		start(t, &table, n, nil)
		next, no := table.End(n, "", "", 9)
		next.Rev = 100 + n
		keep(t, &table, next, no)
	}
	rows := table.Rows()
	if len(rows) != MaxEnded+1 || rows[0].Number != 1 || rows[1].Number != 12 || table.Of(11) != nil || table.Active() != 1 {
		t.Errorf("%d jobs, the first %d and %d", len(rows), rows[0].Number, rows[1].Number)
	}
	next, no := table.End(1, "", "", 9)
	if next == nil || no != (Refusal{}) {
		t.Fatal(no)
	}
	next.Rev = 200
	table.Put(next)
	check(t, &table)
	if rows := table.Rows(); rows[0].Number != 1 || rows[1].Number != 13 || len(rows) != MaxEnded {
		t.Errorf("%d jobs, the first %d and %d", len(rows), rows[0].Number, rows[1].Number)
	}
}

// TestCheckFinds: what cannot be is found.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(*Job){
		"a count": func(x *Job) { x.Counts.Done++ }, "a place": func(x *Job) { x.Position++ }, "a rev": func(x *Job) { x.Rev = 2_000 },
		"an older rev": func(x *Job) { x.Rev = 1 }, "an index": func(x *Job) { x.SelectedAt = 2_000 }, "an end": func(x *Job) { x.EndedAt = 1 },
		"a state": func(x *Job) { x.State = Selecting }, "an early end": func(x *Job) { x.State, x.EndedAt, x.Blobs = Done, 1, nil },
		"blobs of the ended": func(x *Job) { x.State, x.EndedAt = Cancelled, 1 }, "a rate": func(x *Job) { x.Rate = 0 },
	} {
		table := NewTable(kind)
		start(t, &table, 5, nil)
		next, no := table.Select(5, 5, 6, 3, digests, 9)
		x := *keep(t, &table, next, no)
		spoil(&x)
		if table.Put(&x); table.Check(1_000, 1_000) == nil {
			t.Errorf("not found: %s", what)
		}
	}
	table := NewTable(kind)
	table.rows = append(table.rows, start(t, &table, 5, nil))
	if table.Check(1_000, 1_000) == nil {
		t.Error("not found: a job twice")
	}
}
