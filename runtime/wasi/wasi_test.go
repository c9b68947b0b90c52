package wasi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// memory is guest memory of a page. Functions use no more than these methods.
type memory struct {
	api.Memory
	bytes []byte
}

const memorySize = 64 << 10

func (m *memory) Read(at, n uint32) ([]byte, bool) {
	if uint64(at)+uint64(n) > uint64(len(m.bytes)) {
		return nil, false
	}
	return m.bytes[at : at+n : at+n], true
}

func (m *memory) Write(at uint32, v []byte) bool { return m.WriteString(at, string(v)) }

func (m *memory) WriteUint32Le(at, v uint32) bool {
	b, ok := m.Read(at, 4)
	if ok {
		le.PutUint32(b, v)
	}
	return ok
}

func (m *memory) WriteUint64Le(at uint32, v uint64) bool {
	b, ok := m.Read(at, 8)
	if ok {
		le.PutUint64(b, v)
	}
	return ok
}

func (m *memory) WriteString(at uint32, s string) bool {
	b, ok := m.Read(at, uint32(len(s)))
	copy(b, s)
	return ok
}

// program is a Process with params "hello" in a world that stands still but for Wait.
type program struct {
	files   Files
	stdin   *input
	out     [streams]string
	args    []string
	random  error
	wall    int64
	mono    int64
	late    time.Duration // Wait takes longer by
	waited  []time.Duration
	charged int
	yields  int
}

type input struct{ *strings.Reader }

func (i *input) Left() int64 { return int64(i.Len()) }

type brokenInput struct{}

func (brokenInput) Read([]byte) (int, error) { return 0, errors.New("broken") }
func (brokenInput) Left() int64              { return 1 }

func newProgram() *program {
	return &program{stdin: &input{strings.NewReader("hello")}, args: []string{"name", "x"}, wall: 1_800_000_000_000_000_000, mono: 5_000}
}

func (p *program) Files() *Files { return &p.files }

func (p *program) Stdin() Input {
	if p.stdin == nil {
		return brokenInput{}
	}
	return p.stdin
}

func (p *program) Output(to Stream, b []byte) { p.out[to] += string(b) }
func (p *program) Args() []string             { return p.args }
func (p *program) Environ() []string          { return []string{"A=1", "BC=", "D=x y"} }
func (p *program) Walltime() int64            { return p.wall }
func (p *program) Monotonic() int64           { return p.mono }
func (p *program) Charge(n int)               { p.charged += n }
func (p *program) Yield()                     { p.yields++ }

func (p *program) Random(b []byte) error {
	for i := range b {
		b[i] = 0xee
	}
	return p.random
}

func (p *program) Wait(d time.Duration) time.Duration {
	p.waited = append(p.waited, d)
	if d <= 0 {
		return 0
	}
	return d + p.late
}

// call calls a function on memory that begins as before, and returns its status.
func (p *program) call(t *testing.T, m *memory, name string, params ...uint64) errno {
	t.Helper()
	i := slices.IndexFunc(Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		t.Fatal("no function", name)
	}
	f := &Functions[i]
	if len(params) != len(f.Params) || len(params) != len(f.Names) {
		t.Fatalf("%s: %d parameters, want %q", name, len(params), f.Params)
	}
	stack := append(params, 0) // room for the status
	f.Call(p, m, stack)
	return errno(stack[0])
}

func newMemory(at int, content ...byte) *memory {
	m := &memory{bytes: make([]byte, memorySize)}
	copy(m.bytes[at:], content)
	return m
}

func numbers(v ...uint32) (b []byte) {
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

const outside = memorySize - 1 // a pointer at which nothing but a byte fits

// cases are what each function does, by the specification.
var cases = []struct {
	name   string
	params []uint64
	memory []byte // from 0 on
	want   errno
	at     int    // of what is written
	wrote  []byte // there
}{
	{name: "args_sizes_get", params: []uint64{8, 12}, at: 8, wrote: numbers(2, 7)},
	{name: "args_sizes_get", params: []uint64{outside, 12}, want: fault},
	{name: "args_sizes_get", params: []uint64{8, outside}, want: fault},
	{name: "args_get", params: []uint64{8, 100}, at: 8, wrote: numbers(100, 105)},
	{name: "args_get", params: []uint64{8, 100}, at: 100, wrote: []byte("name\x00x\x00")},
	{name: "args_get", params: []uint64{outside, 100}, want: fault},
	{name: "args_get", params: []uint64{8, memorySize - 6}, want: fault}, // the last zero does not fit
	{name: "environ_sizes_get", params: []uint64{8, 12}, at: 8, wrote: numbers(3, 4+4+6)},
	{name: "environ_sizes_get", params: []uint64{outside, 12}, want: fault},
	{name: "environ_get", params: []uint64{8, 100}, at: 100, wrote: []byte("A=1\x00BC=\x00D=x y\x00")},
	{name: "environ_get", params: []uint64{8, 1 << 31}, want: fault},

	{name: "clock_res_get", params: []uint64{0, 8}, at: 8, wrote: numbers(1000, 0)},
	{name: "clock_res_get", params: []uint64{1, 8}, at: 8, wrote: numbers(1, 0)},
	{name: "clock_res_get", params: []uint64{2, 8}, want: inval},
	{name: "clock_res_get", params: []uint64{3, 8}, want: inval},
	{name: "clock_res_get", params: []uint64{1, outside}, want: fault},
	{name: "clock_time_get", params: []uint64{0, 1, 8}, at: 8, wrote: binary.LittleEndian.AppendUint64(nil, 1_800_000_000_000_000_000)},
	{name: "clock_time_get", params: []uint64{1, 1, 8}, at: 8, wrote: numbers(5000, 0)},
	{name: "clock_time_get", params: []uint64{2, 1, 8}, want: inval},
	{name: "clock_time_get", params: []uint64{math.MaxUint32, 1, 8}, want: inval},
	{name: "clock_time_get", params: []uint64{0, 1, outside}, want: fault},

	{name: "fd_advise", params: []uint64{0, 0, 0, 0}, want: spipe},
	{name: "fd_advise", params: []uint64{0, 0, 0, 6}, want: inval},
	{name: "fd_advise", params: []uint64{3, 0, 0, 0}, want: badf},
	{name: "fd_allocate", params: []uint64{1, 0, 1 << 62}, want: spipe},
	{name: "fd_allocate", params: []uint64{3, 0, 1}, want: badf},
	{name: "fd_close", params: []uint64{0}},
	{name: "fd_close", params: []uint64{3}, want: badf},
	{name: "fd_close", params: []uint64{math.MaxUint32}, want: badf},
	{name: "fd_datasync", params: []uint64{1}, want: inval},
	{name: "fd_datasync", params: []uint64{3}, want: badf},
	{name: "fd_sync", params: []uint64{2}, want: inval},
	{name: "fd_sync", params: []uint64{3}, want: badf},
	{name: "fd_fdstat_get", params: []uint64{0, 8}, memory: []byte(strings.Repeat("x", 40)), at: 8, wrote: append(numbers(0, 0, rightRead|rightSetFlags|rightFilestatGet|rightPoll, 0, 0, 0), 'x')},
	{name: "fd_fdstat_get", params: []uint64{1, 8}, at: 16, wrote: numbers(rightWrite | rightSetFlags | rightFilestatGet | rightPoll)},
	{name: "fd_fdstat_get", params: []uint64{3, 8}, want: badf},
	{name: "fd_fdstat_get", params: []uint64{0, memorySize - 23}, want: fault},
	{name: "fd_fdstat_set_flags", params: []uint64{0, flagNonblock}},
	{name: "fd_fdstat_set_flags", params: []uint64{1, flagAppend | flagNonblock}},
	{name: "fd_fdstat_set_flags", params: []uint64{0, flagSync}, want: notSupported},
	{name: "fd_fdstat_set_flags", params: []uint64{0, 1 << 5}, want: inval},
	{name: "fd_fdstat_set_flags", params: []uint64{0, 1 << 16}, want: inval},
	{name: "fd_fdstat_set_flags", params: []uint64{7, 0}, want: badf},
	{name: "fd_fdstat_set_rights", params: []uint64{0, rightRead, 0}},
	{name: "fd_fdstat_set_rights", params: []uint64{0, rightWrite, 0}, want: notCapable},
	{name: "fd_fdstat_set_rights", params: []uint64{0, 0, 1}, want: notCapable},
	{name: "fd_fdstat_set_rights", params: []uint64{3, 0, 0}, want: badf},
	{name: "fd_filestat_get", params: []uint64{2, 8}, at: 8, wrote: numbers(0, 0, 0, 0, 0, 0, 1, 0, 0, 0)},
	{name: "fd_filestat_get", params: []uint64{2, memorySize - 63}, want: fault},
	{name: "fd_filestat_get", params: []uint64{3, 8}, want: badf},
	{name: "fd_filestat_set_size", params: []uint64{1, 0}, want: inval},
	{name: "fd_filestat_set_size", params: []uint64{3, 0}, want: badf},
	{name: "fd_filestat_set_times", params: []uint64{1, 0, 0, 0}, want: notSupported},
	{name: "fd_filestat_set_times", params: []uint64{3, 0, 0, 0}, want: badf},
	{name: "fd_pread", params: []uint64{0, 0, 0, 0, 8}, want: spipe},
	{name: "fd_pread", params: []uint64{3, 0, 0, 0, 8}, want: badf},
	{name: "fd_pwrite", params: []uint64{1, 0, 0, 0, 8}, want: spipe},
	{name: "fd_pwrite", params: []uint64{3, 0, 0, 0, 8}, want: badf},
	{name: "fd_prestat_get", params: []uint64{0, 8}, want: badf},
	{name: "fd_prestat_get", params: []uint64{1, 8}, want: badf},
	{name: "fd_prestat_get", params: []uint64{2, 8}, want: badf},
	{name: "fd_prestat_get", params: []uint64{3, 8}, want: badf},
	{name: "fd_prestat_dir_name", params: []uint64{0, 8, 0}, want: badf},
	{name: "fd_prestat_dir_name", params: []uint64{3, 8, 100}, want: badf},
	{name: "fd_read", params: []uint64{0, 0, 2, 40}, memory: numbers(100, 2, 200, 9), at: 200, wrote: []byte("llo")},
	{name: "fd_read", params: []uint64{0, 0, 2, 40}, memory: numbers(100, 2, 200, 9), at: 40, wrote: numbers(5)},
	{name: "fd_read", params: []uint64{0, 0, 0, 40}, at: 40, wrote: numbers(0)},
	{name: "fd_read", params: []uint64{0, 0, 1, 40}, memory: numbers(100, memorySize-99), want: fault},
	{name: "fd_read", params: []uint64{0, memorySize - 7, 1, 40}, want: fault},
	{name: "fd_read", params: []uint64{0, 0, 1, outside}, memory: numbers(100, 1), want: fault},
	{name: "fd_read", params: []uint64{0, 0, MaxVectors + 1, 40}, want: inval},
	{name: "fd_read", params: []uint64{0, 0, math.MaxUint32, 40}, want: inval},
	{name: "fd_read", params: []uint64{1, 0, 0, 40}, want: badf},
	{name: "fd_read", params: []uint64{3, 0, 0, 40}, want: badf},
	{name: "fd_readdir", params: []uint64{0, 8, 100, 0, 4}, want: notDirectory},
	{name: "fd_readdir", params: []uint64{3, 8, 100, 0, 4}, want: badf},
	{name: "fd_renumber", params: []uint64{0, 100}},
	{name: "fd_renumber", params: []uint64{0, 0}},
	{name: "fd_renumber", params: []uint64{3, 0}, want: badf},
	{name: "fd_renumber", params: []uint64{0, 1 << 31}, want: badf},
	{name: "fd_seek", params: []uint64{0, 0, 1, 8}, want: spipe},
	{name: "fd_seek", params: []uint64{0, 0, 3, 8}, want: inval},
	{name: "fd_seek", params: []uint64{3, 0, 0, 8}, want: badf},
	{name: "fd_tell", params: []uint64{0, 8}, want: spipe},
	{name: "fd_tell", params: []uint64{3, 8}, want: badf},
	{name: "fd_write", params: []uint64{1, 0, 2, 40}, memory: numbers(0, 4, 0, 8), at: 40, wrote: numbers(12)},
	{name: "fd_write", params: []uint64{2, 0, 0, 40}, at: 40, wrote: numbers(0)},
	{name: "fd_write", params: []uint64{1, 0, 1, 40}, memory: numbers(memorySize, 1), want: fault},
	{name: "fd_write", params: []uint64{1, 0, MaxVectors + 1, 40}, want: inval},
	{name: "fd_write", params: []uint64{0, 0, 0, 40}, want: badf},
	{name: "fd_write", params: []uint64{3, 0, 0, 40}, want: badf},

	{name: "path_create_directory", params: []uint64{0, 8, 3}, want: notDirectory},
	{name: "path_create_directory", params: []uint64{3, 8, 3}, want: badf},
	{name: "path_create_directory", params: []uint64{0, outside, 3}, want: fault},
	{name: "path_filestat_get", params: []uint64{3, 0, 8, 3, 100}, want: badf},
	{name: "path_filestat_get", params: []uint64{0, 0, 8, math.MaxUint32, 100}, want: fault},
	{name: "path_filestat_set_times", params: []uint64{3, 0, 8, 3, 0, 0, 0}, want: badf},
	{name: "path_filestat_set_times", params: []uint64{1, 0, 8, 3, 0, 0, 0}, want: notDirectory},
	{name: "path_link", params: []uint64{0, 0, 8, 3, 3, 8, 3}, want: badf},
	{name: "path_link", params: []uint64{0, 0, 8, 3, 1, outside, 3}, want: fault},
	{name: "path_link", params: []uint64{0, 0, 8, 3, 1, 8, 3}, want: notDirectory},
	{name: "path_open", params: []uint64{3, 0, 8, 3, 0, 0, 0, 0, 100}, want: badf},
	{name: "path_open", params: []uint64{0, 0, 8, 3, 0, 0, 0, 0, 100}, want: notDirectory},
	{name: "path_readlink", params: []uint64{3, 8, 3, 8, 3, 100}, want: badf},
	{name: "path_readlink", params: []uint64{0, 8, 3, 8, 3, 100}, want: notDirectory},
	{name: "path_remove_directory", params: []uint64{3, 8, 3}, want: badf},
	{name: "path_rename", params: []uint64{3, 8, 3, 0, 8, 3}, want: badf},
	{name: "path_rename", params: []uint64{0, 8, 3, 3, 8, 3}, want: badf},
	{name: "path_rename", params: []uint64{0, outside, 3, 0, 8, 3}, want: fault},
	{name: "path_symlink", params: []uint64{8, 3, 3, 8, 3}, want: badf},
	{name: "path_symlink", params: []uint64{outside, 3, 0, 8, 3}, want: fault},
	{name: "path_symlink", params: []uint64{8, 3, 0, outside, 3}, want: fault},
	{name: "path_symlink", params: []uint64{8, 3, 0, 8, 3}, want: notDirectory},
	{name: "path_unlink_file", params: []uint64{3, 8, 3}, want: badf},

	{name: "poll_oneoff", params: []uint64{0, 0, 0, 0}, want: inval}, // see TestPoll
	{name: "proc_raise", params: []uint64{6}, want: nosys},
	{name: "random_get", params: []uint64{8, 2}, at: 7, wrote: []byte{0, 0xee, 0xee, 0}},
	{name: "random_get", params: []uint64{0, memorySize}, at: outside, wrote: []byte{0xee}},
	{name: "random_get", params: []uint64{8, 0}, at: 8, wrote: []byte{0}},
	{name: "random_get", params: []uint64{outside, 2}, want: fault},
	{name: "random_get", params: []uint64{1, math.MaxUint32}, want: fault},
	{name: "sched_yield"},
	{name: "sock_accept", params: []uint64{0, 0, 8}, want: notSocket},
	{name: "sock_accept", params: []uint64{3, 0, 8}, want: badf},
	{name: "sock_recv", params: []uint64{0, 0, 0, 0, 8, 12}, want: notSocket},
	{name: "sock_recv", params: []uint64{3, 0, 0, 0, 8, 12}, want: badf},
	{name: "sock_send", params: []uint64{1, 0, 0, 0, 8}, want: notSocket},
	{name: "sock_send", params: []uint64{3, 0, 0, 0, 8}, want: badf},
	{name: "sock_shutdown", params: []uint64{1, 3}, want: notSocket},
	{name: "sock_shutdown", params: []uint64{3, 3}, want: badf},
}

func TestFunctions(t *testing.T) {
	seen := map[string]bool{}
	for _, tt := range cases {
		seen[tt.name] = true
		p, m := newProgram(), newMemory(0, tt.memory...)
		got := p.call(t, m, tt.name, tt.params...)
		if got != tt.want || !strings.HasPrefix(string(m.bytes[tt.at:]), string(tt.wrote)) {
			t.Errorf("%s%v: status %d, want %d; at %d %x, want %x", tt.name, tt.params, got, tt.want, tt.at, m.bytes[tt.at:][:len(tt.wrote)], tt.wrote)
		}
	}
	for _, f := range Functions {
		if !seen[f.Name] {
			t.Errorf("%s has no case", f.Name)
		}
	}
	if len(Functions) != 46-1 { // proc_exit is the host's
		t.Errorf("%d functions", len(Functions))
	}
}

// TestWriting: what goes where, also after descriptors have moved, and how it is charged.
func TestWriting(t *testing.T) {
	p := newProgram()
	m := newMemory(0, numbers(100, 3, 200, 2, 300, 0)...)
	copy(m.bytes[100:], "one")
	copy(m.bytes[200:], "2\n")
	if e := p.call(t, m, "fd_write", 1, 0, 3, 40); e != success || p.out[Stdout] != "one2\n" || p.charged != 5 {
		t.Errorf("status %d, wrote %q, charged %d", e, p.out, p.charged)
	}
	for _, step := range []struct {
		name   string
		params []uint64
		want   errno
	}{
		{"fd_renumber", []uint64{2, 1}, success}, // standard error is 1 now, and standard output closed
		{"fd_write", []uint64{1, 0, 1, 40}, success},
		{"fd_write", []uint64{2, 0, 1, 40}, badf},
		{"fd_renumber", []uint64{1, 77}, success},
		{"fd_write", []uint64{77, 0, 1, 40}, success},
		{"fd_fdstat_set_flags", []uint64{77, flagNonblock}, success},
		{"fd_fdstat_get", []uint64{77, 400}, success},
		{"fd_fdstat_set_rights", []uint64{77, rightPoll, 0}, success},
		{"fd_write", []uint64{77, 0, 1, 40}, notCapable},
		{"fd_fdstat_set_rights", []uint64{77, rightPoll | rightWrite, 0}, notCapable},
		{"fd_close", []uint64{77}, success},
		{"fd_close", []uint64{77}, badf},
		{"fd_close", []uint64{1}, badf},
	} {
		if e := p.call(t, m, step.name, step.params...); e != step.want {
			t.Errorf("%s%v: status %d, want %d", step.name, step.params, e, step.want)
		}
	}
	if p.out != [streams]string{"", "one2\n", "oneone"} || m.bytes[402] != flagNonblock {
		t.Errorf("wrote %q; flags %d", p.out, m.bytes[402])
	}
}

// TestReading: reads go to the end of file, after which there is nothing, and tell the error of an input that breaks.
func TestReading(t *testing.T) {
	p := newProgram()
	m := newMemory(0, numbers(100, 3)...)
	var got []string
	for range 4 {
		if e := p.call(t, m, "fd_read", 0, 0, 1, 40); e != success {
			t.Fatal("status", e)
		}
		got = append(got, string(m.bytes[100:100+le.Uint32(m.bytes[40:])]))
	}
	if !slices.Equal(got, []string{"hel", "lo", "", ""}) {
		t.Errorf("read %q", got)
	}
	p.stdin = nil
	if e := p.call(t, m, "fd_read", 0, 0, 1, 40); e != ioError {
		t.Errorf("a broken input: status %d", e)
	}
	p.random = io.ErrUnexpectedEOF
	if e := p.call(t, m, "random_get", 0, 1); e != ioError {
		t.Errorf("no randomness: status %d", e)
	}
}

// TestPieces: long lists are charged piece by piece, before each piece is moved, so that a program can be ended in
// between.
func TestPieces(t *testing.T) {
	const vectors = 3
	list := numbers(0, memorySize, 0, memorySize, 8, 16)
	for _, tt := range []struct {
		name   string
		params []uint64
		want   int // bytes charged
	}{
		{"fd_write", []uint64{1, 0, vectors, 40}, 2*memorySize + 16},
		{"fd_read", []uint64{0, 0, vectors, 40}, 5}, // there is no more
		{"random_get", []uint64{0, memorySize}, memorySize},
		{"args_get", []uint64{8, 100}, 5},
	} {
		p := newProgram()
		if e := p.call(t, newMemory(0, list...), tt.name, tt.params...); e != success || p.charged != tt.want {
			t.Errorf("%s: status %d, charged %d, want %d", tt.name, e, p.charged, tt.want)
		}
		// A program that is ended when it is charged has nothing moved for it any more.
		p = newProgram()
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !errors.Is(err, errEnded) {
					t.Errorf("%s: not ended", tt.name)
				}
			}()
			i := slices.IndexFunc(Functions, func(f Function) bool { return f.Name == tt.name })
			Functions[i].Call(&ended{p}, newMemory(0, list...), append(tt.params, 0))
		}()
		if p.out[Stdout] != "" || p.stdin.Len() != 5 {
			t.Errorf("%s: moved something for a program that has ended", tt.name)
		}
	}
}

var errEnded = errors.New("ended")

type ended struct{ *program }

func (*ended) Charge(int) { panic(errEnded) }

func ExampleFunctions() {
	fmt.Println(Functions[0].Name, Functions[0].Params)
	// Output: args_get ii
}
