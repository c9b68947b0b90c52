package lead

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/node/logs"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// keptLogs remembers what attempts logged, in memory.
type keptLogs struct {
	mu   sync.Mutex
	text []string
}

func (k *keptLogs) Append(key task.Key, token uint64, _ int64, p logs.Piece) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = append(k.text, fmt.Sprintf("%s %d %s", key.ID, token, p.Data))
	return nil
}

// kept returns what was kept since the last call.
func (k *keptLogs) kept() []string {
	synctest.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	text := k.text
	k.text = nil
	return text
}

// records keeps warnings as text.
type records struct {
	mu       sync.Mutex
	warnings []string
}

func (r *records) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }
func (r *records) WithAttrs([]slog.Attr) slog.Handler           { return r }
func (r *records) WithGroup(string) slog.Handler                { return r }

func (r *records) Handle(_ context.Context, x slog.Record) error {
	text := x.Message
	x.Attrs(func(a slog.Attr) bool { text += fmt.Sprint(" ", a); return true })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnings = append(r.warnings, text)
	return nil
}

// all returns the warnings since the last call.
func (r *records) all() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.warnings
	r.warnings = nil
	return all
}

// send sends frames that the other end may refuse, and so the stream may have ended.
func (p *peer) send(frames ...stream.Frame) { _ = p.conn.Send(frames...) }

// acks returns the answers that have come since the last call, and whether the stream has ended.
func (p *peer) acks() (acks []stream.Ack, ended bool) {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.got {
		acks = append(acks, f.Acks...)
	}
	p.got = nil
	return acks, p.ended
}

func (b *streamBed) task(id string) (t *task.Task) {
	b.Local(func(m *task.Machine) { t = m.Task(taskNamed(id)) })
	return t
}

func reports(rs ...stream.Report) stream.Frame { return stream.Frame{Reports: rs} }

func logOf(id string, token uint64) stream.Frame {
	return stream.Frame{Logs: []stream.Log{{Key: taskNamed(id), Token: token, Attempt: 1, Data: []byte("said\n")}}}
}

// TestWorkersSpeakForTheirOwn: SPEC A2. Whatever a worker says of another worker's attempt, by its token or by the next
// one in the row, changes nothing and ends the stream. The victim's stream goes on.
func TestWorkersSpeakForTheirOwn(t *testing.T) {
	type frame func(key task.Key, token uint64) stream.Frame
	for name, f := range map[string]frame{
		"finish": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{Finish: &task.Finish{Key: k, Token: n, Seq: 9}})
		},
		"failure": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{Finish: &task.Finish{Key: k, Token: n, Seq: 9, Error: &task.Error{Code: "X"}}})
		},
		"family": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{Finish: &task.Finish{Key: k, Token: n, Seq: 9}, Children: [][]byte{[]byte("{}")}})
		},
		"checkpoint": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{Beat: &task.Beat{Key: k, Token: n, Seq: 9, Checkpoint: &task.Payload{Encoding: task.Bytes, Data: []byte("x")}}})
		},
		"snooze": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{Snooze: &task.Snooze{Key: k, Token: n, Seq: 9}})
		},
		"give back": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{GiveBack: &task.GiveBack{Key: k, Token: n}})
		},
		"log": func(k task.Key, n uint64) stream.Frame { return logOf(k.ID, n) },
		"behind its own": func(k task.Key, n uint64) stream.Frame {
			return reports(stream.Report{ID: 1, Beat: &task.Beat{Key: taskNamed("none"), Token: 1}}, stream.Report{ID: 2, GiveBack: &task.GiveBack{Key: k, Token: n}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			withStreams(t, func(t *testing.T, b *streamBed) {
				victim := b.connect(stream.Hello{Credits: 1, Ready: []string{"m"}})
				b.submit("one")
				token := b.token("one")
				victim.receive()
				for ahead := range uint64(2) {
					other := b.connect(stream.Hello{Worker: fmt.Sprint("other", ahead)})
					other.receive()
					before := *b.task("one")
					other.send(f(taskNamed("one"), token+ahead))
					if acks, ended := other.acks(); len(acks) > 0 || !ended {
						t.Errorf("token +%d: answered %+v; ended %v", ahead, acks, ended)
					}
					if now := b.task("one"); now.Rev != before.Rev || now.Status != task.Running || len(b.logs.kept()) > 0 {
						t.Errorf("token +%d: the task has changed: %+v", ahead, now)
					}
				}
				if n := b.term.hub.Breaches(); n != 2 {
					t.Errorf("%d breaches are counted, want 2", n)
				}
				victim.send(logOf("one", token), reports(stream.Report{ID: 5, Finish: &task.Finish{Key: taskNamed("one"), Token: token, Seq: 1}}))
				if acks, ended := victim.acks(); ended || len(acks) != 1 || acks[0] != (stream.Ack{ID: 5}) {
					t.Errorf("the worker itself: answered %+v; ended %v", acks, ended)
				}
				if got := b.logs.kept(); len(got) != 1 || b.task("one").Status != task.Success {
					t.Errorf("the worker itself: kept %q; status %v", got, b.task("one").Status)
				}
			})
		})
	}
}

// TestOwnAttemptsOutliveTheirStream: a worker goes on to speak for what its session holds: on another stream, to a term
// that begins, and for an attempt that has ended in the meantime (SPEC L2, L3).
func TestOwnAttemptsOutliveTheirStream(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(readyForAll)
		b.submit("one", "two", "three")
		session := p.receive().welcome.Session
		one, two, three := b.token("one"), b.token("two"), b.token("three")
		_ = p.conn.Close()
		synctest.Wait()
		b.term.hub.end()
		b.term.hub.begin(2) // another leader knows nothing but the state
		b.term = b.term.hub.current()
		synctest.Wait()
		b.must(task.Remove{Key: taskNamed("three")})
		p = b.connect(stream.Hello{Session: session, Acked: 3, Held: []uint64{one, two, three}, Ready: []string{"m"}})
		p.receive()
		finish := task.Finish{Key: taskNamed("one"), Token: one, Seq: 1}
		p.send(reports(
			stream.Report{ID: 1, Finish: &finish}, stream.Report{ID: 2, Beat: &task.Beat{Key: taskNamed("two"), Token: two, Seq: 1}},
			stream.Report{ID: 3, GiveBack: &task.GiveBack{Key: taskNamed("three"), Token: three}},
		))
		acks, ended := p.acks()
		codes := map[uint64]task.Code{}
		for _, a := range acks {
			codes[a.ID] = a.Code
		}
		if ended || len(codes) != 3 || codes[1] != task.OK || codes[2] != task.OK || codes[3] != task.Halt {
			t.Fatalf("answered %+v; ended %v", acks, ended)
		}
		p.send(reports(stream.Report{ID: 4, Finish: &finish}), logOf("one", one), logOf("two", two), logOf("three", three))
		if acks, ended = p.acks(); ended || len(acks) != 1 || !acks[0].Repeated {
			t.Errorf("the same finish again: answered %+v; ended %v", acks, ended)
		}
		if got, want := b.logs.kept(), []string{fmt.Sprintf("one %d said\n", one), fmt.Sprintf("two %d said\n", two)}; !slices.Equal(got, want) {
			t.Errorf("kept %q, want %q", got, want)
		}
		if n := b.term.hub.Breaches(); n != 0 {
			t.Errorf("%d breaches are counted", n)
		}
	})
}

// TestEndedAttemptsAreLoggedByTheirWorker: also after its end nobody else writes into an attempt's log (SPEC A2).
func TestEndedAttemptsAreLoggedByTheirWorker(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		p := b.connect(readyForAll)
		b.submit("one")
		p.receive()
		token := b.token("one")
		b.must(task.Finish{Key: taskNamed("one"), Token: token})
		other := b.connect(stream.Hello{Worker: "other"})
		other.receive()
		other.send(logOf("one", token))
		if _, ended := other.acks(); !ended || len(b.logs.kept()) > 0 {
			t.Error("another worker has written into the log")
		}
	})
}

// TestBreachesAreToldOnceAMinute: SPEC A2. The log names the worker that speaks for others, and cannot be filled by it.
func TestBreachesAreToldOnceAMinute(t *testing.T) {
	withStreams(t, func(t *testing.T, b *streamBed) {
		b.connect(stream.Hello{Credits: 1, Ready: []string{"m"}}).receive()
		b.submit("one")
		token := b.token("one")
		breach := func(worker string) {
			p := b.connect(stream.Hello{Worker: worker})
			p.receive()
			p.send(reports(stream.Report{GiveBack: &task.GiveBack{Key: taskNamed("one"), Token: token}}))
			if _, ended := p.acks(); !ended {
				t.Errorf("the stream of %s goes on", worker)
			}
		}
		breach("a")
		breach("a")
		breach("b")
		said := b.said.all()
		if len(said) != 2 || !strings.Contains(said[0], "from=a") || !strings.Contains(said[1], "from=b") || !strings.Contains(said[0], `a lease of worker "w1"`) {
			t.Errorf("said %q", said)
		}
		time.Sleep(time.Minute) // virtual; the session has expired
		b.connect(readyForAll).receive()
		token = b.token("one")
		breach("a")
		if said := b.said.all(); len(said) != 1 || b.term.hub.Breaches() != 4 {
			t.Errorf("a minute later: said %q; %d are counted", said, b.term.hub.Breaches())
		}
	})
}
