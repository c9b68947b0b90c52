package task_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/match"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata print into them")

// TestScripts runs testdata/*.txt. A script is a list of blocks: lines of commands, "----", what they print, an empty
// line. Each line is one log entry; "+" at the start of a line puts it into the entry of the line before. After every
// entry the invariants are checked and the machine is restored from its own snapshot.
//
//	clock [now=+MS] [lease=+MS] [term=+1]        for the entries from here on
//	activate NAME... version=V [module=M] [retry=N] [KEY=VALUE of a policy] · put NAME [version=V] [KEY=VALUE]
//	rollback NAME version=V · delete NAME [purge=1] · retry ID [version=V] [keep=1] [not_before=MS] [delay=MS] [deadline=MS]
//	txn | depend ID [rev=N] [token=N] | submit … | update ID [KEY=VALUE] | finish … | delete ID [rev=N]
//	open WORKER [slots=N] [ttl=MS] [proof=P] · renew SESSION [acked=N] · close SESSION
//	submit ID BEHAVIOR [ckey=K] [params=JSON] [if=rerun] [not_before=MS] [delay=MS] [deadline=MS] [priority=N] [label=K:V] [trace=TRACEPARENT]
//	assign ID SESSION [rev=N|fresh=true] · beat|finish|snooze|giveback ID [token=N] [seq=N] [result=JSON] [error=CODE] …
//	cancel ID · remove ID · tick · update, claim, records: see scriptstore_test.go
//	plan SESSION:SLOTS[:MODULE]... [WORKER@BEHAVIOR:SLOTS[:MAX_NOT_BEFORE]]... [max=N] · next · list [KEY=VALUE of a filter] · behaviors · sessions · counts
//	member NODE vote=1|2 [remove=INSTANCE] [force=yes] · members · hold ID [ttl=MS] [holder=TEXT] [renew=yes] · holds
//	stats BEHAVIOR · workers · accepted BEHAVIOR WORKER REQUEST
//	operations: see scriptoperation_test.go · namespaces, blobs, maintenance: see scriptspace_test.go · bulk jobs: see scriptjob_test.go
//
// Any command takes origin=PROCESS/SEQ/LOWEST, or key=KEY/SEQ/BODY for a client's key. Times are absolute, or relative to the clock with a leading "+". A token
// or rev that is not given is the record's current one.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := runScript(string(b))
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(b) {
				t.Errorf("%s prints something else (go test ./task -rewrite, then look at the diff):\n%s", name, firstDiff(string(b), got))
			}
		})
	}
}

func firstDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "<end>", "<end>"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, a, b)
		}
	}
	return ""
}

// script is one run of a script.
type script struct {
	m   *task.Machine
	h   task.Header
	out strings.Builder
}

// runScript returns the script with what it prints now.
func runScript(text string) (string, error) {
	s := &script{m: task.NewMachine(), h: task.Header{Term: 1, Now: 1000}}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line == "" || strings.HasPrefix(line, "#") {
			s.out.WriteString(line + "\n")
			continue
		}
		var block []string
		for ; i < len(lines) && lines[i] != "----"; i++ {
			block = append(block, lines[i])
			s.out.WriteString(lines[i] + "\n")
		}
		s.out.WriteString("----\n")
		for i++; i < len(lines) && lines[i] != ""; i++ { // skip what it printed before
		}
		if err := s.block(block); err != nil {
			return "", err
		}
		if i < len(lines) {
			s.out.WriteString("\n")
		}
	}
	return strings.TrimRight(s.out.String(), "\n") + "\n", nil
}

func (s *script) block(lines []string) error {
	for i := 0; i < len(lines); i++ {
		entry := lines[i : i+1]
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+") {
			i++
			entry = append(slices.Clip(entry), strings.TrimPrefix(lines[i], "+"))
		}
		if err := s.entry(entry); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(entry, " / "), err)
		}
	}
	return nil
}

func (s *script) entry(lines []string) error {
	var ps []task.Proposal
	for _, line := range lines {
		a := parseArgs(line)
		if len(lines) == 1 && s.look(a) {
			return a.err
		}
		c := s.more(a, s.command(a))
		if c == nil {
			return fmt.Errorf("unknown command %q", a.verb)
		}
		p := task.Proposal{Command: c}
		p.Caller = a.caller()
		if o := a.text("origin", ""); o != "" {
			if _, err := fmt.Sscanf(o, "%d/%d/%d", &p.Origin.Process, &p.Origin.Seq, &p.Origin.Lowest); err != nil {
				return err
			}
		}
		if k := a.text("key", ""); k != "" {
			p.Origin.Lowest = 1
			if _, err := fmt.Sscanf(k, "%d/%d/%d", &p.Origin.Process, &p.Origin.Seq, &p.Origin.Body); err != nil {
				return err
			}
		}
		if a.err != nil {
			return a.err
		}
		if len(a.named) > 0 {
			return fmt.Errorf("unknown arguments: %v", a.named)
		}
		ps = append(ps, p)
	}
	s.h.Index++
	results, events := s.m.Apply(s.h, ps)
	changed, operations := map[task.Key]bool{}, map[task.Key]bool{}
	for _, r := range results {
		fmt.Fprintln(&s.out, formatResult(r))
	}
	for _, e := range events {
		fmt.Fprintln(&s.out, "  "+formatEvent(e))
		if e.Task != nil {
			changed[e.Task.Key()] = true
		}
		if e.Operation != nil {
			operations[e.Operation.Key()] = true
		}
	}
	tasks, _ := s.m.Tasks(task.Filter{Limit: 1 << 30})
	for _, t := range tasks {
		if changed[t.Key()] {
			fmt.Fprintln(&s.out, "  "+formatTask(t))
		}
	}
	all, _ := s.m.Operations(task.OperationFilter{Limit: 1 << 30})
	for _, o := range all {
		if operations[o.Key()] {
			fmt.Fprintln(&s.out, "  "+formatOperation(o))
		}
	}
	return s.verify()
}

// verify checks the invariants and goes on with a copy restored from a snapshot.
func (s *script) verify() error {
	if err := s.m.Check(); err != nil {
		return err
	}
	restored, err := restore(s.m)
	if err != nil {
		return err
	}
	if restored.Digest() != s.m.Digest() {
		return fmt.Errorf("digest %v after restoring, was %v", restored.Digest(), s.m.Digest())
	}
	s.m = restored
	return restored.Check()
}

func restore(m *task.Machine) (*task.Machine, error) {
	f := m.Freeze()
	return task.Restore(func(yield func(task.Record, error) bool) {
		f.Records(func(r task.Record) bool { return yield(copyRecord(r), nil) })
	})
}

// args are the words of a line.
type args struct {
	verb  string
	parts []*args // of a txn
	words []string
	named map[string]string
	err   error
}

func parseArgs(line string) *args {
	line, parts, more := strings.Cut(line, " | ")
	fields := strings.Fields(line)
	a := &args{verb: fields[0], named: map[string]string{}}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok && !strings.HasPrefix(f, "{") {
			a.named[k] = v
		} else {
			a.words = append(a.words, f)
		}
	}
	if more {
		part := parseArgs(parts)
		a.parts, part.parts = append([]*args{part}, part.parts...), nil
	}
	return a
}

func (a *args) word(i int) string {
	if i < len(a.words) {
		return a.words[i]
	}
	a.err = fmt.Errorf("argument %d is missing", i+1)
	return ""
}

func (a *args) text(k, absent string) string {
	v, ok := a.named[k]
	delete(a.named, k)
	if !ok {
		return absent
	}
	return v
}

func (a *args) number(k string, absent int64) int64 {
	v := a.text(k, "")
	if v == "" {
		return absent
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		a.err = err
	}
	return n
}

// time is absolute, or relative to base with a leading "+".
func (a *args) time(k string, base int64) int64 {
	v := a.text(k, "")
	if v == "" {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(v, "+"), 10, 64)
	if err != nil {
		a.err = err
	}
	if strings.HasPrefix(v, "+") {
		n += base
	}
	return n
}

func (a *args) payload(k string) *task.Payload {
	v, ok := a.named[k]
	delete(a.named, k)
	if !ok {
		return nil
	}
	return blobPayload(v)
}

func (a *args) payloadOrNone(k string) task.Payload {
	if p := a.payload(k); p != nil {
		return *p
	}
	return task.Payload{}
}

func (a *args) session(i int) uint64 {
	n, err := strconv.ParseUint(a.word(i), 10, 64)
	if err != nil {
		a.err = err
	}
	return n
}

func (s *script) key(a *args) task.Key {
	return task.Key{Namespace: a.text("ns", task.DefaultNamespace), ID: a.word(0)}
}

// token returns the token given, or the current one of the task.
func (s *script) token(a *args, k task.Key) uint64 {
	current := int64(0)
	if t := s.m.Task(k); t != nil && t.Lease != nil {
		current = int64(t.Lease.Token)
	} else if t != nil && t.Ended != nil {
		current = int64(t.Ended.Token)
	}
	return uint64(a.number("token", current))
}

func (s *script) command(a *args) task.Command {
	now := int64(s.h.Now)
	switch a.verb {
	case "submit":
		k := s.key(a)
		c := task.Submit{
			Namespace: k.Namespace, ID: k.ID, Behavior: a.word(1), NotBefore: task.Time(a.time("not_before", now)),
			Delay: task.Millis(a.number("delay", 0)), Deadline: task.Time(a.time("deadline", now)),
			Priority: int8(a.number("priority", 4)), ConcurrencyKey: a.text("ckey", ""), Parent: a.text("parent", ""), Trace: a.text("trace", ""),
			IfExists: map[string]task.IfExists{"": task.Join, "fail": task.Fail, "rerun": task.Rerun, "resubmit": task.Resubmit}[a.text("if", "")],
		}
		if p := a.payload("params"); p != nil {
			c.Params, c.HasParams = *p, true
		}
		if name, value, ok := strings.Cut(a.text("label", ""), ":"); ok {
			c.Labels = []task.Label{{Name: name, Value: value}}
		}
		c.HasLabels, c.HasPriority = a.text("mark", "") != "", a.text("prio", "") != ""
		return c
	case "assign":
		k := s.key(a)
		rev := int64(0)
		if t := s.m.Task(k); t != nil {
			rev = int64(t.Rev)
		}
		c := task.Assign{Key: k, Rev: uint64(a.number("rev", rev)), Fresh: a.text("fresh", "") != ""}
		if c.Fresh {
			c.Rev = 0
		}
		if c.External = a.acceptor(now); c.External == nil {
			c.Session = a.session(1)
		}
		return c
	case "finish":
		k := s.key(a)
		c := task.Finish{Key: k, Token: s.token(a, k), Seq: uint64(a.number("seq", 0)), Result: a.payloadOrNone("result"), External: s.http(a, k), Fuel: a.number("fuel", 0), Pages: a.number("pages", 0), InTxn: a.text("in_txn", "") != "", Progress: a.payload("progress")}
		if code := a.text("error", ""); code != "" {
			code, permanent := strings.CutSuffix(code, "!")
			c.Error = &task.Error{Code: code, Retryable: !permanent}
		}
		return c
	case "beat":
		k := s.key(a)
		return task.Beat{Key: k, Token: s.token(a, k), Seq: uint64(a.number("seq", 0)), Progress: a.payload("progress"), Checkpoint: a.payload("checkpoint"),
			Extend: task.Millis(a.number("extend", 0)), External: s.http(a, k)}
	case "snooze":
		k := s.key(a)
		return task.Snooze{Key: k, Token: s.token(a, k), Seq: uint64(a.number("seq", 0)), At: task.Time(a.time("at", now)), Checkpoint: a.payload("checkpoint"),
			External: s.http(a, k), Fuel: a.number("fuel", 0), Pages: a.number("pages", 0), Progress: a.payload("progress")}
	case "giveback":
		k := s.key(a)
		return task.GiveBack{Key: k, Token: s.token(a, k), External: s.http(a, k), Fuel: a.number("fuel", 0), Pages: a.number("pages", 0)}
	case "update", "claim":
		return storeCommand(a)
	case "cancel":
		return task.Cancel{Key: s.key(a)}
	case "remove":
		return task.Remove{Key: s.key(a)}
	case "open":
		worker := a.word(0)
		return task.OpenSession{
			Worker: worker, Node: a.text("node", ""), Slots: a.number("slots", 1), TTL: task.Millis(a.number("ttl", 10_000)),
			Proof: []byte(a.text("proof", worker)), Hello: uint64(a.number("hello", 0)),
			Alone: a.text("alone", "") != "", Isolates: a.text("isolates", "") != "",
		}
	case "renew":
		return task.RenewSession{Session: a.session(0), Acked: uint64(a.number("acked", 0))}
	case "close":
		return task.CloseSession{Session: a.session(0)}
	case "activate":
		return a.activate()
	case "tick":
		return task.Tick{}
	case "level":
		return task.RaiseLevel{Level: uint64(a.number("to", 0))}
	case "crash":
		return s.crash(a)
	}
	return s.workerCommand(a)
}

func (a *args) activate() task.Command {
	p := a.policy()
	v := a.text("version", "v1")
	c := task.Activate{
		Namespace: a.text("ns", task.DefaultNamespace),
		Module:    task.Module{Digest: a.text("module", "module-"+v), Size: 8, Manifest: []byte("{}"), Version: v},
	}
	for _, name := range a.words {
		c.Behaviors = append(c.Behaviors, task.Activated{Name: name, Policy: p})
	}
	return c
}

// look runs the lines that are no log entries.
func (s *script) look(a *args) bool {
	switch a.verb {
	case "clock":
		if a.named["now"] != "" {
			s.h.Now = task.Time(a.time("now", int64(s.h.Now)))
		}
		s.h.LeaseNow += task.LeaseTime(a.time("lease", 0))
		s.h.Term += uint64(a.time("term", 0))
	case "plan":
		var free []task.Free
		for i, w := range a.words {
			if strings.Contains(w, "@") {
				free = append(free, a.free(w, i))
				continue
			}
			parts := strings.Split(w, ":")
			id, err := strconv.ParseUint(parts[0], 10, 64)
			if err != nil {
				a.err = err
			}
			f := task.Free{Session: id, Slots: 1}
			if len(parts) > 1 {
				f.Slots, a.err = strconv.Atoi(parts[1])
			}
			if len(parts) > 2 {
				f.Ready = func(module, _ string) bool { return module == parts[2] }
			}
			free = append(free, f)
		}
		for _, p := range s.m.Plan(free, int(a.number("max", 100))) {
			to := strconv.FormatUint(p.Session, 10)
			if p.External != nil {
				to = "worker=" + p.External.Worker
			}
			fmt.Fprintf(&s.out, "assign %s %s rev=%d\n", p.Key.ID, to, p.Rev)
		}
	case "next":
		wall, lease := s.m.NextTick()
		fmt.Fprintf(&s.out, "wall=%d lease=%d\n", wall, lease)
	case "list":
		s.list(a)
	case "behaviors":
		for _, b := range s.m.Behaviors(task.DefaultNamespace) {
			fmt.Fprintf(&s.out, "%s rev=%d active=%s%s:", b.Name, b.Rev, b.Active, formatFlags(b))
			for _, v := range b.Versions {
				fmt.Fprintf(&s.out, " %s(%s at=%d pinned=%d)", v.Version, v.Module, v.ActivatedAt, v.Pinned)
			}
			fmt.Fprintln(&s.out)
		}
		for _, x := range s.m.Modules() {
			fmt.Fprintln(&s.out, "module", x.Digest, x.Version)
		}
	case "sessions":
		for _, x := range s.m.Sessions() {
			fmt.Fprintln(&s.out, formatSession(x), fmt.Sprintf("running=%d", x.Running))
		}
	case "records":
		s.lookAtRecords(a)
	case "counts":
		fmt.Fprintf(&s.out, "%+v\n", s.m.Counts())
	default:
		return s.lookAtWorkers(a)
	}
	return true
}

// list shows the tasks that a filter selects, one page of them.
func (s *script) list(a *args) {
	f := match.Filter{Parent: a.text("parent", ""), DueBefore: a.number("due", 0)}
	if behavior := a.text("behavior", ""); behavior != "" {
		f.Behaviors = []string{behavior}
	}
	if status := a.text("status", ""); status != "" {
		f.States = match.StatesOf(strings.Split(status, ","), nil)
	}
	if labels := a.text("label", ""); labels != "" {
		for l := range strings.SplitSeq(labels, ",") {
			name, value, _ := strings.Cut(l, ":")
			f.Labels = append(f.Labels, match.Label{Name: name, Value: value})
		}
	}
	all, _ := s.m.Tasks(task.Filter{Limit: 1 << 30, After: uint64(a.number("after", 0))})
	shown, last := a.number("limit", 100), uint64(0)
	for _, t := range all {
		switch {
		case !task.Matches(t, &f):
		case shown == 0:
			fmt.Fprintln(&s.out, "next", last)
			return
		default:
			fmt.Fprintln(&s.out, formatTask(t))
			shown, last = shown-1, t.CreatedRev
		}
	}
}
