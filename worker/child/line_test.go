package child

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker"
	"github.com/taskrt/taskrt/worker/stream"
)

// falseChild is a child that code of a guest has taken over: it speaks to its parent as a child does, and says what its settings name.
func falseChild() int {
	fmt.Fprintln(os.Stderr, lie())
	return exitFailed
}

func lie() error {
	begun, err := subproc.Begin(1, maxMessage)
	if err != nil {
		return err
	}
	var s spec
	if err := json.Unmarshal(begun.First.Body, &s); err != nil {
		return err
	}
	var name string
	if err := json.Unmarshal(s.Settings, &name); err != nil {
		return err
	}
	proof := bytes.Repeat([]byte{7}, 32)
	err = send(begun.Conn, msgUp, up{Proof: proof, Before: 1 << 32})
	if err != nil {
		return err
	}
	if _, err := begun.Conn.Recv(maxMessage); err != nil { // msgBegin
		return err
	}
	h := &home{conn: begun.Conn}
	defer h.conn.Close() // not before its parent ends this process
	hello := &stream.Hello{
		Worker: s.ID, Node: s.Node, Slots: int64(s.Slots), Leases: int64(s.Slots) * worker.LeasesPerSlot, Proof: proof, N: 1, Credits: 1, Wall: &stream.Wall{},
	}
	first := stream.Frame{Hello: hello}
	if edit := falseHellos[name]; edit != nil {
		edit(hello)
	}
	if f, is := falseFirst[name]; is {
		first = f
	}
	if name == "redirect" {
		h.Redirect("10.0.0.9:1")
	}
	nc, err := h.Dial(context.Background())
	if err != nil {
		return err
	}
	conn, err := stream.New(nc, stream.Options{})
	if err != nil {
		return err
	}
	if err := conn.Send(first); err != nil {
		return err
	}
	for {
		f, err := conn.Recv()
		if err != nil {
			return err
		}
		if f.Assign == nil {
			continue
		}
		if name == "ended" {
			var news []byte
			for _, e := range falseEnds {
				news = appendEnded(news, &e)
			}
			err = begun.Conn.Send(msgEnded, news)
		}
		lie, is := falseFrames[name]
		if !is {
			lie, is = honestFrames[name]
		}
		if raw, isRaw := falseBytes[name]; isRaw {
			_, err = nc.Write(raw)
		} else if is {
			err = conn.Send(lie)
		}
		if err := errors.Join(err, conn.Send(stream.Frame{Reports: []stream.Report{honest}})); err != nil {
			return err
		}
	}
}

// given is the attempt that the false child has.
const given = 41

var (
	ours    = task.Key{Namespace: "default", ID: "t41"}
	honest  = stream.Report{ID: 9, Finish: &task.Finish{Key: ours, Token: given, Seq: 1}}
	theirs  = task.Key{Namespace: "default", ID: "t42"}
	long    = task.Payload{Encoding: task.Bytes, Data: make([]byte, maxInline+1)}
	whole   = task.Payload{Encoding: task.Bytes, Data: make([]byte, maxInline)}
	unasked = stream.Report{ID: 1, Finish: &task.Finish{Key: ours, Token: given, Seq: 1, InTxn: true}, Children: [][]byte{[]byte("rich")}}
)

func reporting(r stream.Report) stream.Frame {
	r.ID = 1
	return stream.Frame{Reports: []stream.Report{r}}
}

// What a false child says. None of it may reach the leader.
var (
	falseHellos = map[string]func(*stream.Hello){
		"hello/worker":   func(h *stream.Hello) { h.Worker = "n1/system" },
		"hello/node":     func(h *stream.Hello) { h.Node = "n2" },
		"hello/proof":    func(h *stream.Hello) { h.Proof = bytes.Repeat([]byte{8}, 32) },
		"hello/slots":    func(h *stream.Hello) { h.Slots++ },
		"hello/leases":   func(h *stream.Hello) { h.Leases++ },
		"hello/isolates": func(h *stream.Hello) { h.Isolates = !h.Isolates },
		"hello/number":   func(h *stream.Hello) { h.N = 1 << 32 },
		"hello/wall":     func(h *stream.Hello) { h.Wall = &stream.Wall{InForce: []string{wall.Landlock}} },
		"hello/kills":    func(h *stream.Hello) { h.Wall.OOMKills = 3 },
		"hello/no wall":  func(h *stream.Hello) { h.Wall = nil },
		"hello/ready":    func(h *stream.Hello) { h.Ready = []string{task.NativeMaintenance} },
	}
	falseFirst = map[string]stream.Frame{
		"first/crash":  {Crash: &task.CrashSession{Worker: "n2", Proof: []byte{1}}},
		"first/report": {Reports: []stream.Report{honest}},
	}
	falseFrames = map[string]stream.Frame{
		"second hello":         {Hello: &stream.Hello{Worker: "n1", Node: "n1"}},
		"crash":                {Crash: &task.CrashSession{Worker: "n1", Proof: []byte{1}}},
		"assign":               {Assign: []stream.Assignment{{Task: &task.Task{ID: "x"}}}},
		"halt":                 {Halt: []uint64{given}},
		"ready/native":         {Ready: []string{task.NativeMaintenance}},
		"ready/unknown":        {Ready: []string{runtime.Digest([]byte("wait"))}},
		"pace":                 {Pace: []stream.Pace{{Behavior: stream.Behavior{Module: "other"}, Short: true}}},
		"unready/unknown":      {Unready: []stream.Unready{{Module: runtime.Digest([]byte("other")), Step: stream.Fetching}}},
		"unready/step":         {Unready: []stream.Unready{{Module: runtime.Digest([]byte("outside")), Step: "bored"}}},
		"unready/size":         {Unready: []stream.Unready{{Module: runtime.Digest([]byte("outside")), Step: stream.Pausing, Error: strings.Repeat("x", stream.MaxUnreadyError+1)}}},
		"progress/token":       {Progress: []stream.Progress{{Key: theirs, Token: 42}}},
		"progress/key":         {Progress: []stream.Progress{{Key: theirs, Token: given}}},
		"progress/size":        {Progress: []stream.Progress{{Key: ours, Token: given, Progress: long}}},
		"log/token":            {Logs: []stream.Log{{Key: ours, Token: 42, Attempt: 1, Data: []byte("x")}}},
		"log/key":              {Logs: []stream.Log{{Key: theirs, Token: given, Attempt: 1, Data: []byte("x")}}},
		"log/attempt":          {Logs: []stream.Log{{Key: ours, Token: given, Attempt: 2, Data: []byte("x")}}},
		"log/size":             {Logs: slices.Repeat([]stream.Log{{Key: ours, Token: given, Attempt: 1, Data: make([]byte, 900)}}, 2)},
		"log/offset":           {Logs: []stream.Log{{Key: ours, Token: given, Attempt: 1, Data: []byte("x"), Offset: 1 << 40}}},
		"ask":                  {Ask: &stream.Ask{ID: 1, Key: theirs, Token: given}},
		"report/token":         reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: 42}}),
		"report/key":           reporting(stream.Report{Finish: &task.Finish{Key: theirs, Token: given}}),
		"report/beat":          reporting(stream.Report{Beat: &task.Beat{Key: theirs, Token: given}}),
		"report/snooze":        reporting(stream.Report{Snooze: &task.Snooze{Key: theirs, Token: given}}),
		"report/give back":     reporting(stream.Report{GiveBack: &task.GiveBack{Key: theirs, Token: given}}),
		"report/nothing":       reporting(stream.Report{}),
		"report/two":           reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: given}, GiveBack: &task.GiveBack{Key: theirs, Token: 42}}),
		"report/external":      reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: given, External: true}}),
		"report/external beat": reporting(stream.Report{Beat: &task.Beat{Key: ours, Token: given, External: true}}),
		"report/extend":        reporting(stream.Report{Beat: &task.Beat{Key: ours, Token: given, Extend: 1}}),
		"report/result":        reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: given, Result: long}}),
		"report/details":       reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: given, Error: &task.Error{Code: "X", Details: long}}}),
		"report/message":       reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: given, Error: &task.Error{Code: "X", Message: string(long.Data)}}}),
		"report/checkpoint":    reporting(stream.Report{Beat: &task.Beat{Key: ours, Token: given, Checkpoint: &long}}),
		"report/last progress": reporting(stream.Report{Snooze: &task.Snooze{Key: ours, Token: given, Progress: &long}}),
		"report/behind a good": {Reports: []stream.Report{honest, {ID: 2, Finish: &task.Finish{Key: theirs, Token: 42}}}},
		"children/not granted": reporting(unasked),
		"children/bad": reporting(stream.Report{
			Finish: &task.Finish{Key: ours, Token: given, InTxn: true}, Children: [][]byte{[]byte("unreadable")},
		}),
		"children/with a beat": reporting(stream.Report{Beat: &task.Beat{Key: ours, Token: given}, Children: [][]byte{[]byte("outside")}}),
		"children/one of two": reporting(stream.Report{
			Finish: &task.Finish{Key: ours, Token: given, InTxn: true}, Children: [][]byte{[]byte("outside"), []byte("rich")},
		}),
	}
	falseBytes = map[string][]byte{
		"bytes/unknown field": {0, 0, 0, 8, 0xa1, 2, 0xa2, 1, 1, 0x18, 0x63, 1}, // a Renew with one
		"bytes/unknown kind":  {0, 0, 0, 4, 0xa1, 0x18, 0x63, 1},
		"bytes/nothing":       {0, 0, 0, 1, 0xa0},
		"bytes/too large":     {0xff, 0, 0, 0},
	}
)

// TestFalseChild (SPEC A10): whatever a child says that was taken over, it can speak only of the attempts that it has, only as itself, and
// submits no children that are not granted. Nothing else reaches the leader. The child is ended, and the attempt is put down to it.
func TestFalseChild(t *testing.T) {
	t.Parallel()
	names := slices.Collect(maps.Keys(falseHellos))
	names = slices.AppendSeq(names, maps.Keys(falseFirst))
	names = slices.AppendSeq(names, maps.Keys(falseFrames))
	names = slices.AppendSeq(names, maps.Keys(falseBytes))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := falsely(t, name)
			early := strings.HasPrefix(name, "hello/") || strings.HasPrefix(name, "first/")
			if !early {
				b.until("a session", func() bool { return b.opened > 0 })
				b.assign("outside", task.Payload{}, given)
			}
			c := b.crash()
			if !strings.Contains(c.Why, "it broke its contract") || b.parent.Breaches() == 0 {
				t.Errorf("%+v", c)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if early && len(b.hellos) > 0 || len(b.reports) > 0 || b.others > 0 {
				t.Errorf("the leader heard %d hellos, %d others, reports %+v", len(b.hellos), b.others, b.reports)
			}
			of := []uint64(nil) // tokens of attempts that the child has named, and had
			if strings.HasPrefix(name, "report/external") || strings.HasPrefix(name, "children/") || name == "report/result" {
				of = []uint64{given}
			}
			if of != nil && !slices.Equal(c.Session.Tokens, of) || early && len(c.Session.Tokens) > 0 {
				t.Errorf("put down to %v", c.Session.Tokens)
			}
		})
	}
}

// TestHonestChildIsHeard: what a child may say goes on, also at its limits.
func TestHonestChildIsHeard(t *testing.T) {
	t.Parallel()
	for name, f := range honestFrames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := falsely(t, name)
			b.until("a session", func() bool { return b.opened > 0 })
			b.assign("outside", task.Payload{}, given)
			b.until("all of it", func() bool { return len(b.reports) == len(f.Reports)+1 && (len(f.Reports) > 0 || b.others == 1) })
			if n := b.parent.Breaches(); n != 0 {
				t.Errorf("%d breaches", n)
			}
		})
	}
}

// TestChildChoosesNoLeader (SPEC A10): a child cannot make its server connect to whom it likes: in a cluster without a secret somebody
// there could play the leader, and give it attempts with every right.
func TestChildChoosesNoLeader(t *testing.T) {
	t.Parallel()
	b := falsely(t, "redirect")
	b.until("a session", func() bool { return b.opened > 0 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.told) > 0 {
		t.Errorf("redirected to %v", b.told)
	}
}

// TestBelievedTime (SPEC A10, L5): a child cannot say that it will be silent for long.
func TestBelievedTime(t *testing.T) {
	t.Parallel()
	const now = time.Hour
	for _, c := range []struct{ said, want worker.Held }{
		{worker.Held{Session: 1, TTL: 10 * time.Second, Sent: now - time.Second}, worker.Held{Session: 1, TTL: 10 * time.Second, Sent: now - time.Second}},
		{worker.Held{Session: 1, TTL: now, Sent: now}, worker.Held{Session: 1, TTL: 10 * time.Second, Sent: now}},
		{worker.Held{Session: 1, TTL: time.Second, Sent: 9 * now}, worker.Held{Session: 1, TTL: time.Second, Sent: now}},
		{worker.Held{TTL: now, Sent: now}, worker.Held{TTL: aliveTTL, Sent: now}},
	} {
		if got := believed(c.said, 10*time.Second, now); got != c.want {
			t.Errorf("%+v: %+v", c.said, got)
		}
	}
	if got := believed(worker.Held{Session: 1, TTL: now}, 0, now); got.TTL != aliveTTL {
		t.Errorf("before any session: %+v", got)
	}
}

// falseEnds are ends of attempts that the child has not, or of other behaviors, or for the second time.
var falseEnds = []worker.Ended{
	{Namespace: "made", Behavior: "up", Token: given, End: worker.EndSuccess, Fuel: -5, Wall: -time.Hour},
	{Namespace: "made", Behavior: "up too", Token: given, End: worker.EndSuccess},
	{Namespace: "default", Behavior: "outside", Token: 42, End: worker.EndSuccess},
}

// TestEndsAreTheLeaders (SPEC A10): what is counted of an attempt that is over goes by the leader's word, so a child cannot fill the metrics.
func TestEndsAreTheLeaders(t *testing.T) {
	t.Parallel()
	b := falsely(t, "ended")
	b.until("a session", func() bool { return b.opened > 0 })
	b.assign("outside", task.Payload{}, given)
	b.until("the report behind the news", func() bool { return len(b.reports) == 1 })
	b.parent.Kill()
	b.stop() // all that the child has said is read
	b.emu.Lock()
	defer b.emu.Unlock()
	if want := []worker.Ended{{Namespace: "default", Behavior: "outside", Token: given, End: worker.EndSuccess}}; !slices.Equal(b.ended, want) {
		t.Errorf("%+v", b.ended)
	}
}

var honestFrames = map[string]stream.Frame{
	"honest/unready":  {Unready: []stream.Unready{{Module: runtime.Digest([]byte("outside")), Step: stream.Pausing, Failed: 1, Error: strings.Repeat("x", stream.MaxUnreadyError)}}},
	"honest/log":      {Logs: []stream.Log{{Key: ours, Token: given, Attempt: 1, Data: make([]byte, 1000+logSlack)}}},
	"honest/ask":      {Ask: &stream.Ask{ID: 1, Key: ours, Token: given, Op: 8}},
	"honest/pace":     {Pace: []stream.Pace{{Behavior: stream.Behavior{Module: runtime.Digest([]byte("outside"))}, Short: true}}},
	"honest/progress": {Progress: []stream.Progress{{Key: ours, Token: given, Progress: whole}}},
	"honest/credits":  {Credits: &stream.Credits{Seq: 1, Free: 2, Ahead: 3, Each: 4}},
	"honest/reports": {Reports: []stream.Report{
		{ID: 1, Beat: &task.Beat{Key: ours, Token: given, Seq: 1, Progress: &whole, Checkpoint: &whole}},
		{ID: 2, Snooze: &task.Snooze{Key: ours, Token: given, Seq: 2, Checkpoint: &whole}},
		{ID: 3, GiveBack: &task.GiveBack{Key: ours, Token: given}},
		{ID: 4, Finish: &task.Finish{Key: ours, Token: given, Seq: 3, Result: whole}},
	}},
	"honest/children": reporting(stream.Report{Finish: &task.Finish{Key: ours, Token: given, Seq: 1, InTxn: true}, Children: [][]byte{[]byte("outside")}}),
}

// falsely starts a parent whose child is false.
func falsely(t *testing.T, lie string) *bench {
	t.Helper()
	b := begin(t, 10*time.Second, func(c *Config) {
		c.Worker.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
		c.Args, c.Settings, c.Grants = []string{"false"}, lie, granted(t, "http://127.0.0.1:1")
		c.CheckChild = func(doc []byte) (string, error) {
			if string(doc) == "unreadable" {
				return "", errors.New("not JSON")
			}
			return string(doc), nil
		}
	})
	t.Cleanup(b.parent.Kill) // it does not end when told to
	return b
}
