package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/worker/stream"
)

// fakeBlobs is a blob store in memory.
type fakeBlobs struct {
	mu      sync.Mutex
	content map[string][]byte
	puts    int
	opens   int
	open    int // the number of blobs that are open now
	put     func(n int) error
	find    func(n int) error
}

func newBlobs(contents ...[]byte) *fakeBlobs {
	f := &fakeBlobs{content: map[string][]byte{}}
	for _, c := range contents {
		f.content[digestOf(c)] = c
	}
	return f
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func ref(data []byte) string { return `{"$blob":"sha256:` + digestOf(data) + `"}` }

func (f *fakeBlobs) config(c *Config) { c.Blobs = f }

func (f *fakeBlobs) Put(ctx context.Context, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts++
	if f.put != nil {
		if err := f.put(f.puts); err != nil {
			return "", err
		}
	}
	f.content[digestOf(data)] = bytes.Clone(data)
	return digestOf(data), ctx.Err()
}

func (f *fakeBlobs) Open(_ context.Context, digest string) (Blob, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	if f.find != nil {
		if err := f.find(f.opens); err != nil {
			return nil, err
		}
	}
	content, ok := f.content[digest]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, digest)
	}
	f.open++
	return openBlob{bytes.NewReader(content), f}, nil
}

func (f *fakeBlobs) count() (puts, open int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.puts, f.open
}

type openBlob struct {
	*bytes.Reader
	f *fakeBlobs
}

func (b openBlob) Close() error {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	b.f.open--
	return nil
}

// large returns JSON that is too long for a report. The letter tells it from others.
func large(letter string) []byte { return []byte(`"` + strings.Repeat(letter, maxInline) + `"`) }

func returns(result []byte) guest {
	return func(context.Context, runtime.Attempt, runtime.Host) runtime.Outcome {
		return runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: result}
	}
}

func TestResultsAsBlobs(t *testing.T) {
	big, other, raw := large("a"), []byte(`{"a":1}`), []byte("\xff\x00")
	naming := []byte(`{"x":[` + ref(other) + `,` + ref(raw) + `,` + ref(other) + `]}`)
	named := []string{digestOf(other), digestOf(raw)}
	slices.Sort(named)
	longNaming := append(append([]byte(`[`), naming...), []byte(","+string(big)+"]")...)
	var many []byte
	for i := range task.MaxNamed + 1 {
		many = append(append(many, ','), ref(fmt.Append(nil, i))...)
	}
	many = append(append([]byte("["), many[1:]...), ']')
	for name, c := range map[string]struct {
		result []byte
		want   task.Payload
		puts   int
		fails  string // a part of the message
		retry  bool
	}{
		"inline": {result: []byte("1"), want: task.Payload{Encoding: task.JSON, Data: []byte("1")}},
		"to the limit": {
			result: []byte(strings.Repeat("x", maxInline)), want: task.Payload{Encoding: task.Bytes, Data: []byte(strings.Repeat("x", maxInline))},
		},
		"over it": {result: big, puts: 1, want: task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digestOf(big), Size: int64(len(big))}}},
		"bytes over it": {
			result: []byte(strings.Repeat("x", maxInline+1)), puts: 1,
			want: task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digestOf([]byte(strings.Repeat("x", maxInline+1))), Size: maxInline + 1}},
		},
		"another blob":            {result: []byte(ref(other)), want: task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digestOf(other), Size: 7}}},
		"another blob, no JSON":   {result: []byte(ref(raw)), want: task.Payload{Encoding: task.Bytes, Blobs: &task.Blobs{Content: digestOf(raw), Size: 2}}},
		"another blob that names": {result: []byte(ref(naming)), want: task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digestOf(naming), Size: int64(len(naming)), Named: named}}},
		"naming":                  {result: naming, want: task.Payload{Encoding: task.JSON, Data: naming, Blobs: &task.Blobs{Named: named}}},
		"naming, over the limit":  {result: longNaming, puts: 1, want: task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digestOf(longNaming), Size: int64(len(longNaming)), Named: named}}},
		"naming too many":         {result: many, fails: "names 1001 blobs, at most 1000"},
		"no such blob":            {result: []byte(ref([]byte("unknown"))), fails: "no such blob"},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := newBlobs(other, raw, naming)
			inBubble(t, returns(c.result), func(b *bench) {
				b.assign(7)
				b.at(time.Minute)
				f := b.finish()
				if c.fails != "" {
					if f.Error == nil || f.Error.Retryable != c.retry || !strings.Contains(f.Error.Message, c.fails) {
						t.Errorf("finish %+v %+v", f, f.Error)
					}
					return
				}
				if f.Error != nil || f.Result.Encoding != c.want.Encoding || !bytes.Equal(f.Result.Data, c.want.Data) || fmt.Sprint(blobsOf(f.Result)) != fmt.Sprint(blobsOf(c.want)) {
					t.Errorf("finish %+v %+v, want %v", f, f.Error, blobsOf(c.want))
				}
				if puts, open := blobs.count(); puts != c.puts || open != 0 {
					t.Errorf("%d puts, want %d; %d blobs are open", puts, c.puts, open)
				}
			}, blobs.config)
		})
	}
}

func blobsOf(p task.Payload) task.Blobs {
	if p.Blobs == nil {
		return task.Blobs{}
	}
	return *p.Blobs
}

func TestResultOverTheBehaviorsLimit(t *testing.T) {
	big := large("a")
	for name, result := range map[string][]byte{"itself": big, "by reference": []byte(ref(big))} {
		t.Run(name, func(t *testing.T) {
			blobs := newBlobs(big)
			inBubble(t, returns(result), func(b *bench) {
				b.assign(7, func(a *stream.Assignment) { a.Policy.Limits.ResultBytes = 1000 })
				b.at(time.Second)
				if f := b.finish(); f.Error == nil || f.Error.Retryable || !strings.Contains(f.Error.Message, "limit 1000") {
					t.Errorf("finish %+v", f)
				}
				if puts, _ := blobs.count(); puts != 0 {
					t.Errorf("%d puts", puts)
				}
			}, blobs.config)
		})
	}
}

func TestResultAgainstTheSchemaByReference(t *testing.T) {
	content := []byte(`{"a":"text"}`)
	blobs := newBlobs(content)
	inBubble(t, returns([]byte(ref(content))), func(b *bench) {
		b.assign(7, func(a *stream.Assignment) { a.Policy.ResultSchema = []byte(`{"properties":{"a":{"type":"integer"}}}`) })
		b.at(time.Second)
		if f := b.finish(); f.Error == nil || !strings.Contains(f.Error.Message, "result_schema") {
			t.Errorf("finish %+v: the content counts, not the reference", f)
		}
	}, blobs.config)
}

// TestResultWaitsForTheStore: for a while the store has no majority. The success is not lost, and its slot stays taken.
func TestResultWaitsForTheStore(t *testing.T) {
	blobs := newBlobs()
	blobs.put = func(n int) error {
		if n < 5 {
			return errors.New("too few nodes")
		}
		return nil
	}
	inBubble(t, returns(large("a")), func(b *bench) {
		b.assign(7)
		b.at(time.Second)
		if reps, _ := b.reports(); len(reps) != 0 || b.lastCredits() != 3 {
			t.Errorf("reports %+v, credits %d", reps, b.lastCredits())
		}
		b.at(10 * time.Second)
		if f := b.finish(); f.Error != nil || f.Result.Blobs.Content != digestOf(large("a")) {
			t.Errorf("finish %+v", f)
		}
	}, blobs.config)
}

func TestStoppedWhileStoring(t *testing.T) {
	for name, c := range map[string]struct {
		then func(*bench)
		want string
	}{
		"cancelled":    {func(b *bench) { b.send(stream.Frame{Cancel: []uint64{7}}) }, task.CodeCancelled},
		"shut down":    {func(b *bench) { b.stop() }, "give back"},
		"halted":       {func(b *bench) { b.send(stream.Frame{Halt: []uint64{7}}) }, "nothing"},
		"session lost": {func(b *bench) { b.send(stream.Frame{NotFound: true}) }, "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := newBlobs()
			blobs.put = func(int) error { return errors.New("too few nodes") }
			inBubble(t, returns(large("a")), func(b *bench) {
				b.assign(7)
				b.at(time.Second)
				c.then(b)
				b.at(b.since() + 30*time.Second)
				reps, _ := b.reports()
				got := "nothing"
				if len(reps) > 0 {
					got = describe(reps[0])
				}
				if got != c.want || len(reps) > 1 {
					t.Errorf("reported %q and %d more, want %q", got, len(reps)-1, c.want)
				}
				if st := b.worker.Status(); len(st.Held) != 0 {
					t.Errorf("status %+v", st)
				}
			}, blobs.config)
		})
	}
}

// TestResultWhoseBlobIsGone: maintenance deleted the result's bytes before the report was applied. The worker still has
// the bytes, so it puts them again (SPEC M3).
func TestResultWhoseBlobIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		gone int // how often the report is refused
		puts int
		code string
	}{
		"once": {1, 2, ""}, "as often as it is tried": {maxStores, 1 + maxStores, ""}, "for ever": {100, 1 + maxStores, task.CodeHandlerError},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := newBlobs()
			mother := func(context.Context, runtime.Attempt, runtime.Host) runtime.Outcome {
				return runtime.Outcome{Kind: runtime.Succeeded, HasResult: true, Result: large("a"), Children: [][]byte{[]byte("{}")}}
			}
			inBubble(t, mother, func(b *bench) {
				refused := 0
				b.set(func() {
					b.ack = func(r stream.Report) (stream.Ack, bool) {
						if r.Finish.Error == nil && refused < c.gone {
							refused++
							return stream.Ack{Code: task.BlobGone, Message: "gone"}, true
						}
						return stream.Ack{}, true
					}
				})
				b.assign(7)
				b.at(time.Minute)
				reps, _ := b.reports()
				for i, r := range reps {
					if r.Finish.Seq != uint64(i+1) {
						t.Errorf("seq %d, want %d", r.Finish.Seq, i+1)
					}
					if happy := r.Finish.Error == nil; happy != r.Finish.InTxn || happy != (len(r.Children) == 1) {
						t.Errorf("the children go with the success: %+v", r)
					}
				}
				if last := reps[len(reps)-1].Finish; code(last) != c.code {
					t.Errorf("finished with %q, want %q", code(last), c.code)
				}
				if puts, _ := blobs.count(); puts != c.puts || len(b.worker.Status().Held) != 0 {
					t.Errorf("%d puts, want %d; status %+v", puts, c.puts, b.worker.Status())
				}
			}, blobs.config)
		})
	}
}

// TestResultThatNamesWhatIsGone: a success names a blob that is stored nowhere. Nobody can keep this success.
func TestResultThatNamesWhatIsGone(t *testing.T) {
	inBubble(t, returns([]byte(`[`+ref([]byte("x"))+`]`)), func(b *bench) {
		b.set(func() {
			b.ack = func(r stream.Report) (stream.Ack, bool) {
				if r.Finish.Error == nil {
					return stream.Ack{Code: task.BlobGone, Message: "gone"}, true
				}
				return stream.Ack{}, true
			}
		})
		b.assign(7)
		b.at(time.Minute)
		if reps, _ := b.reports(); len(reps) != 2 || code(reps[1].Finish) != task.CodeHandlerError || !strings.Contains(reps[1].Finish.Error.Message, "blob_gone") {
			t.Errorf("reports %+v", reps)
		}
	}, newBlobs().config)
}

func TestCheckpointsAsBlobs(t *testing.T) {
	big := large("c")
	var many strings.Builder
	for i := range task.MaxNamed + 1 {
		many.WriteString("," + ref(fmt.Append(nil, i)))
	}
	for name, c := range map[string]struct {
		data    string
		refused int // how often it is refused with blob_gone
		want    error
		content string
		puts    int
	}{
		"large":             {data: string(big), content: digestOf(big), puts: 1},
		"gone once":         {data: string(big), refused: 1, content: digestOf(big), puts: 2},
		"by reference":      {data: ref(big), content: digestOf(big)},
		"to nothing":        {data: ref([]byte("x")), want: runtime.ErrNotFound},
		"naming nothing":    {data: "[" + ref([]byte("x")) + "]", refused: 1, want: runtime.ErrNotFound},
		"naming too many":   {data: "[1" + many.String() + "]", want: runtime.ErrInvalid},
		"over the limit":    {data: strings.Repeat("x", 1<<20+1), want: runtime.ErrTooBig},
		"reference over it": {data: ref(bytes.Repeat([]byte("y"), 1<<20+1)), want: runtime.ErrTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := newBlobs(big, bytes.Repeat([]byte("y"), 1<<20+1))
			var result error
			g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
				result = h.Checkpoint(ctx, []byte(c.data))
				return runtime.Outcome{Kind: runtime.Succeeded}
			}
			inBubble(t, g, func(b *bench) {
				refused := 0
				b.set(func() {
					b.ack = func(r stream.Report) (stream.Ack, bool) {
						if r.Beat != nil && refused < c.refused {
							refused++
							return stream.Ack{Code: task.BlobGone, Message: "gone"}, true
						}
						return stream.Ack{}, true
					}
				})
				b.assign(7, func(a *stream.Assignment) { a.Policy.Limits.CheckpointBytes = 1 << 20 })
				b.at(time.Minute)
				if !errors.Is(result, c.want) {
					t.Errorf("checkpoint: %v, want %v", result, c.want)
				}
				if reps, _ := b.reports(); c.want == nil && blobsOf(*reps[len(reps)-2].Beat.Checkpoint).Content != c.content {
					t.Errorf("reported %+v", reps[0].Beat.Checkpoint)
				}
				if puts, open := blobs.count(); puts != c.puts || open != 0 {
					t.Errorf("%d puts, want %d; %d blobs are open", puts, c.puts, open)
				}
			}, blobs.config)
		})
	}
}

func TestInputsAsBlobs(t *testing.T) {
	params, checkpoint := large("p"), large("c")
	lost := errors.New("no node answers")
	of := func(data []byte) task.Payload {
		return task.Payload{Encoding: task.JSON, Blobs: &task.Blobs{Content: digestOf(data), Size: int64(len(data))}}
	}
	for name, c := range map[string]struct {
		have [][]byte
		find func(n int) error
		want string
	}{
		"found":        {have: [][]byte{params, checkpoint}, want: "json null"},
		"on second":    {have: [][]byte{params, checkpoint}, find: func(n int) error { return map[int]error{1: lost}[n] }, want: "json null"},
		"not there":    {have: [][]byte{params}, want: "HANDLER_ERROR retry"},
		"not reached":  {have: [][]byte{params, checkpoint}, find: func(int) error { return lost }, want: "give back"},
		"only params?": {have: [][]byte{checkpoint}, want: "HANDLER_ERROR retry"},
	} {
		t.Run(name, func(t *testing.T) {
			blobs := newBlobs(c.have...)
			blobs.find = c.find
			ran := false
			g := func(_ context.Context, a runtime.Attempt, _ runtime.Host) runtime.Outcome {
				ran = true
				for what, s := range map[string]*runtime.Source{"p": a.ParamsFrom, "c": a.CheckpointFrom} {
					piece := make([]byte, 3)
					if n, err := s.ReadAt(piece, 1); n != 3 || err != nil || string(piece) != what+what+what || s.Size != maxInline+2 {
						t.Errorf("read %q of %d bytes, %v", piece, s.Size, err)
					}
				}
				if len(a.Params) != 0 || a.Checkpoint != nil {
					t.Errorf("%d bytes of params, %d of a checkpoint in memory", len(a.Params), len(a.Checkpoint))
				}
				return runtime.Outcome{Kind: runtime.Succeeded}
			}
			inBubble(t, g, func(b *bench) {
				b.assign(7, func(a *stream.Assignment) { a.Task.Params, a.Task.Checkpoint = of(params), of(checkpoint) })
				b.at(time.Minute)
				reps, _ := b.reports()
				if len(reps) != 1 || describe(reps[0]) != c.want || ran != (c.want == "json null") {
					t.Errorf("reports %+v, want %s; ran: %t", reps, c.want, ran)
				}
				if _, open := blobs.count(); open != 0 {
					t.Errorf("%d blobs are open", open)
				}
			}, blobs.config)
		})
	}
}

// readRequest returns the payload of blob.read.
func readRequest(data []byte, off uint64, n uint32) []byte {
	p := binary.LittleEndian.AppendUint64([]byte(abi.BlobPrefix+digestOf(data)), off)
	return binary.LittleEndian.AppendUint32(p, n)
}

func TestGuestReadsBlobs(t *testing.T) {
	var contents [][]byte
	for i := range maxOpenFiles + 2 {
		contents = append(contents, bytes.Repeat([]byte{byte('a' + i)}, 100))
	}
	blobs := newBlobs(contents...)
	g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
		for _, c := range contents {
			if size, err := h.Call(ctx, abi.OpBlobSize, []byte(abi.BlobPrefix+digestOf(c))); err != nil || binary.LittleEndian.Uint64(size) != 100 {
				t.Errorf("size %x, %v", size, err)
			}
			if data, err := h.Call(ctx, abi.OpBlobRead, readRequest(c, 98, 10)); err != nil || !bytes.Equal(data, c[98:]) {
				t.Errorf("read %q, %v", data, err)
			}
			if data, err := h.Call(ctx, abi.OpBlobRead, readRequest(c, 1<<60, 10)); err != nil || len(data) != 0 {
				t.Errorf("read %q behind the end, %v", data, err)
			}
			if _, open := blobs.count(); open > maxOpenFiles {
				t.Errorf("%d blobs are open", open)
			}
		}
		if _, err := h.Call(ctx, abi.OpBlobSize, []byte(abi.BlobPrefix+digestOf([]byte("x")))); !errors.Is(err, runtime.ErrNotFound) {
			t.Errorf("an unknown blob: %v", err)
		}
		if _, err := h.Call(ctx, abi.OpBlobRead, []byte("x")); !errors.Is(err, runtime.ErrInvalid) {
			t.Errorf("a bad request: %v", err)
		}
		if _, err := h.Call(ctx, 99, nil); !errors.Is(err, runtime.ErrUnsupported) {
			t.Errorf("an unknown op: %v", err)
		}
		return runtime.Outcome{Kind: runtime.Succeeded}
	}
	inBubble(t, g, func(b *bench) {
		b.assign(7)
		b.at(time.Second)
		b.finish()
		if _, open := blobs.count(); open != 0 || blobs.opens != len(contents)+1 {
			t.Errorf("%d blobs are open; opened %d times for %d", open, blobs.opens, len(contents)+1)
		}
	}, blobs.config)
}

func (h *hub) asks() []*stream.Ask {
	list, _ := all(h, func(f stream.Frame) (*stream.Ask, bool) { return f.Ask, f.Ask != nil })
	return list
}

func TestGuestAsksTheLeader(t *testing.T) {
	answer := func(a stream.Answer) func(*bench) {
		return func(b *bench) { a.ID = b.asks()[0].ID; b.send(stream.Frame{Answer: &a}) }
	}
	for name, c := range map[string]struct {
		then func(*bench)
		want error
		text string
		asks int
	}{
		"answered":       {then: answer(stream.Answer{Payload: []byte("page")}), text: "page", asks: 1},
		"answered twice": {then: func(b *bench) { answer(stream.Answer{Payload: []byte("page")})(b); answer(stream.Answer{})(b) }, text: "page", asks: 1},
		"denied":         {then: answer(stream.Answer{Status: int32(abi.EDENIED)}), want: runtime.ErrDenied, asks: 1},
		"lease lost":     {then: answer(stream.Answer{Status: int32(abi.ECONFLICT)}), want: runtime.ErrLeaseLost, asks: 1},
		"not now":        {then: answer(stream.Answer{Status: int32(abi.EAGAIN)}), want: runtime.ErrorOf(abi.EAGAIN), asks: 1},
		"of another":     {then: func(b *bench) { b.send(stream.Frame{Answer: &stream.Answer{ID: 99, Payload: []byte("x")}}) }, want: errUnanswered, asks: 1},
		"reconnected": {then: func(b *bench) {
			b.cut()
			b.at(2 * time.Second)
			b.heal()
			b.at(5 * time.Second)
			answer(stream.Answer{Payload: []byte("page")})(b)
		}, text: "page", asks: 2},
		"unanswered": {then: func(*bench) {}, want: errUnanswered, asks: 1},
		"halted":     {then: func(b *bench) { b.send(stream.Frame{Halt: []uint64{7}}) }, want: runtime.ErrLeaseLost, asks: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			var err error
			g := func(ctx context.Context, _ runtime.Attempt, h runtime.Host) runtime.Outcome {
				got, err = h.Call(ctx, abi.OpPartitions, []byte(`{"from":3}`))
				if ctx.Err() != nil {
					return killed(ctx)
				}
				return runtime.Outcome{Kind: runtime.Succeeded}
			}
			inBubble(t, g, func(b *bench) {
				b.assign(7)
				b.at(time.Second)
				c.then(b)
				b.at(b.since() + 30*time.Second)
				if !errors.Is(err, c.want) || string(got) != c.text {
					t.Errorf("got %q, %v; want %q, %v", got, err, c.text, c.want)
				}
				asks := b.asks()
				if len(asks) != c.asks {
					t.Fatalf("asked %d times, want %d", len(asks), c.asks)
				}
				if q := asks[0]; q.Token != 7 || q.Op != int32(abi.OpPartitions) || string(q.Payload) != `{"from":3}` || q.Key.ID != "task" {
					t.Errorf("asked %+v", q)
				}
			})
		})
	}
}
