package clustertest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server"
)

var rewrite = flag.Bool("rewrite", false, "write the tables in testdata/states anew, to be read before they are committed")

// operation is one request over HTTP, or time that passes (method "sleep", with a duration as its path). In path and
// body, $id, $token and $behavior stand for the task's, and $+1h stands for a time from now.
type operation struct{ name, method, path, body string }

// state is a name for the state that some operations make of a task that is not there at first.
type state struct{ name, made string }

// table says for every state and every operation what is answered, and what the record is then.
type table struct {
	file       string
	policy     string // the external behavior's policy
	operations []operation
	states     []state
}

// cell is one line of a table.
type cell struct{ state, operation, answer, record string }

// life is one external task on a real node behind HTTP.
type life struct {
	t  *testing.T
	s  *site
	by map[string]operation

	id    string
	token uint64 // the last lease's token; another task's while there was no lease

	broken []string // what was read and must never be (SPEC T2)
}

// reply has the fields of the answers of all routes.
type reply struct {
	status int

	Task     *api.Task
	Tasks    []*api.Task
	Code     string
	Outcome  string
	Repeated bool
	Cancel   bool
	Resubmit bool
	Reasons  []api.Reason
}

const tableBehavior = "table"

// do performs an operation and puts the answer into a word.
func (l *life) do(o operation) string {
	l.t.Helper()
	if o.method == "sleep" {
		d, err := time.ParseDuration(o.path)
		if err != nil {
			l.t.Fatal(err)
		}
		l.s.c.Sleep(d)
		return "-"
	}
	r := l.send(o.method, l.fill(o.path), l.fill(o.body))
	words := []string{fmt.Sprint(r.status)}
	say := func(word string, when bool) {
		if when && word != "" {
			words = append(words, word)
		}
	}
	say(r.Code, true)
	for _, x := range r.Reasons {
		say(x.Kind, true)
	}
	say(r.Outcome, true)
	say("repeated", r.Repeated)
	say("cancel", r.Cancel)
	say("resubmit", r.Resubmit)
	if strings.HasSuffix(o.path, "/accept") && r.status == http.StatusOK {
		got := slices.IndexFunc(r.Tasks, func(x *api.Task) bool { return x.ID == l.id })
		say("nothing", got < 0)
		say("it", got >= 0)
		if got >= 0 {
			l.token = r.Tasks[got].Lease.Token
		}
	}
	return strings.Join(words, " ")
}

func (l *life) fill(text string) string {
	pairs := []string{"$id", l.id, "$token", fmt.Sprint(l.token), "$behavior", tableBehavior, "$past", "2000-01-01T00:00:00Z"}
	for _, d := range []time.Duration{5 * time.Second, time.Hour, 2 * time.Hour} {
		name := strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
		pairs = append(pairs, "$+"+name, time.Now().Add(d).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (l *life) send(method, path, body string) reply {
	l.t.Helper()
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	w := l.s.do(method, path, contentType, strings.NewReader(body), int64(len(body)))
	r := reply{}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
			l.t.Fatalf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
		}
	}
	if r.status = w.Code; r.status >= 400 && r.Code == "" || r.status >= 500 {
		l.t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return r
}

// now reads the record. class is its state of SPEC T1, and record describes it in words.
func (l *life) now() (class, record string) {
	l.t.Helper()
	r := l.send("GET", "/v1/tasks/"+l.id, "")
	if r.status == http.StatusNotFound {
		return "gone", "gone"
	}
	x := r.Task
	l.broken = append(l.broken, wrongIn(x)...)
	class = x.Status
	if x.Status != "CREATED" && x.NotBefore != nil {
		class += " waiting"
	}
	words := []string{x.Status}
	say := func(format string, v any, when bool) {
		if when {
			words = append(words, fmt.Sprintf(format, v))
		}
	}
	if x.Error != nil {
		say("%s", x.Error.Code, true)
	}
	if x.NotBefore != nil {
		say("%s", fromNow(*x.NotBefore), true)
	}
	if x.Resubmit != nil {
		say("again %s", fromNow(x.Resubmit.NotBefore), true)
	}
	say("%s", "cancelling", x.CancelRequested)
	say("#%d", x.Attempt, true)
	say("failures=%d", x.Failures, x.Failures > 0)
	say("lost=%d", x.LostCount, x.LostCount > 0)
	say("params=%s", x.Params, string(x.Params) != `"old"`)
	say("progress=%s", x.Progress, x.Progress != nil)
	say("result=%s", x.Result, x.Result != nil && string(x.Result) != "null")
	say("priority=%d", x.Priority, x.Priority != 4)
	say("deadline %s", "set", x.Deadline != nil)
	return class, strings.Join(words, " ")
}

func fromNow(at api.Time) string {
	d := time.Until(at.Time).Round(time.Second)
	if d <= 0 {
		return "due"
	}
	return "+" + d.String()
}

// wrongIn lists the rules of SPEC T2 that a task breaks.
func wrongIn(x *api.Task) (wrong []string) {
	hold := func(what string, ok bool) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %s", what, Show(x)))
		}
	}
	outcome := x.Status == "SUCCESS" || x.Status == "FAILURE"
	hold("final iff it has an outcome and no not_before", x.Final == (outcome && x.NotBefore == nil))
	hold("a lease iff RUNNING", (x.Lease != nil) == (x.Status == "RUNNING"))
	hold("an error iff FAILURE", (x.Error != nil) == (x.Status == "FAILURE"))
	hold("no result but of a SUCCESS", x.Result == nil && x.ResultBase64 == nil || x.Status == "SUCCESS")
	hold("CREATED has not_before", x.Status != "CREATED" || x.NotBefore != nil)
	hold("RUNNING has started_at and no not_before", x.Status != "RUNNING" || x.StartedAt != nil && x.NotBefore == nil)
	return wrong
}

// run makes every state once for every operation, and compares the answers with the file. It returns the changes of
// status that happened: from and to.
func (tb *table) run(t *testing.T) map[[2]string]string {
	changes := map[[2]string]string{}
	var cells []cell
	Run(t, 1, Options{NoWorkers: true}, func(t *testing.T, c *Cluster) {
		c.Leader()
		s := &site{c: c, handler: server.New(c.Node(0), server.Config{})}
		other := tb.life(t, s, "other")
		if r := other.send("PUT", "/v1/behaviors/"+tableBehavior, tb.policy); r.status != http.StatusCreated {
			t.Fatalf("the behavior: %+v", r)
		}
		other.do(operation{"", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id"}`})
		if said := other.do(operation{"", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"w","lease":"1h"}`}); said != "200 it" {
			t.Fatal(said)
		}
		for i, st := range tb.states {
			for j, o := range tb.operations {
				l := tb.life(t, s, fmt.Sprintf("t-%d-%d", i, j))
				l.token = other.token
				for name := range strings.FieldsFuncSeq(st.made, func(r rune) bool { return r == ',' }) {
					made, ok := l.by[strings.TrimSpace(name)]
					if !ok {
						t.Fatalf("state %s: no operation %q", st.name, name)
					}
					if said := l.do(made); said != "-" && said[0] != '2' {
						t.Fatalf("state %s: %s: %s", st.name, name, said)
					}
				}
				from, _ := l.now()
				said := l.do(o)
				to, record := l.now()
				cells = append(cells, cell{st.name, o.name, said, record})
				changes[[2]string{from, to}] = st.name + ", " + o.name
				l.send("DELETE", "/v1/tasks/"+l.id, "") // nobody else must accept it
				for _, b := range l.broken {
					t.Errorf("%s, %s (SPEC T2): %s", st.name, o.name, b)
				}
			}
		}
	})
	tb.compare(t, cells)
	return changes
}

func (tb *table) life(t *testing.T, s *site, id string) *life {
	l := &life{t: t, s: s, id: id, by: map[string]operation{}}
	for _, o := range tb.operations {
		l.by[o.name] = o
	}
	for _, o := range makers {
		l.by[o.name] = o
	}
	return l
}

// compare demands that the file has exactly these cells.
func (tb *table) compare(t *testing.T, cells []cell) {
	t.Helper()
	var b strings.Builder
	last := ""
	for _, c := range cells {
		if c.state != last {
			st := tb.states[slices.IndexFunc(tb.states, func(s state) bool { return s.name == c.state })]
			fmt.Fprintf(&b, "\n== %s (%s)\n", st.name, st.made)
			last = c.state
		}
		fmt.Fprintf(&b, "%-22s %-28s %s\n", c.operation, c.answer, c.record)
	}
	path := filepath.Join("testdata", "states", tb.file)
	old, err := os.ReadFile(path)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	head, want, _ := strings.Cut(string(old), "\n\n")
	if *rewrite {
		if err := os.WriteFile(path, []byte(head+"\n"+b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	gotLines, wantLines := strings.Split(strings.TrimPrefix(b.String(), "\n"), "\n"), strings.Split(want, "\n")
	section := ""
	for i, w := range wantLines {
		if strings.HasPrefix(w, "==") {
			section = w
		}
		if i >= len(gotLines) || gotLines[i] != w {
			t.Errorf("%s %s:\n got %s\nwant %s", path, section, at(gotLines, i), w)
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%s has %d lines, want %d: a state or an operation is missing", path, len(wantLines), len(gotLines))
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// makers are operations that only make states.
var makers = []operation{
	{"first", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"old"}`},
	{"first at +1h", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"old","not_before":"$+1h"}`},
	{"first until +5s", "POST", "/v1/tasks", `{"behavior":"$behavior","id":"$id","params":"old","deadline":"$+5s"}`},
	{"taken", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"w"}`},
	{"taken elsewhere", "POST", "/v1/behaviors/$behavior/accept", `{"worker":"elsewhere"}`},
	{"done", "POST", "/v1/tasks/$id/finish", `{"token":$token,"result":"done"}`},
	{"done but again", "POST", "/v1/tasks/$id/finish", `{"token":$token,"result":"done","again_at":"$+1h"}`},
	{"failed", "POST", "/v1/tasks/$id/finish", `{"token":$token,"error":{"code":"bad"}}`},
	{"failed for good", "POST", "/v1/tasks/$id/finish", `{"token":$token,"error":{"code":"bad","retryable":false}}`},
	{"failed until +5s", "POST", "/v1/txn", `{"update":[{"id":"$id","deadline":"$+5s"}]}`},
	{"flagged", "POST", "/v1/tasks/$id/resubmit", `{}`},
	{"flagged +1h", "POST", "/v1/tasks/$id/resubmit", `{"not_before":"$+1h"}`},
	{"cancel asked", "POST", "/v1/tasks/$id/cancel", ``},
	{"removed", "DELETE", "/v1/tasks/$id", ``},
	{"lease over", "sleep", "10500ms", ``},
}
