package subproc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain is also the child that some tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "echo" {
		os.Exit(echo())
	}
	os.Exit(m.Run())
}

// echo sends back what it gets, and counts in the cells that it inherited.
func echo() int {
	c, err := Begin(1, 1<<24)
	if err != nil {
		return 2
	}
	cells, err := MapCells(c.Files[0])
	if err != nil {
		return 2
	}
	for m := c.First; ; {
		cells.At(1).Add(1)
		if err := c.Conn.Send(m.Kind+1, m.Body, m.Files...); err != nil {
			return 2
		}
		m.CloseFiles()
		m, err = c.Conn.Recv(1 << 24)
		if errors.Is(err, io.EOF) {
			return 7
		}
		if err != nil {
			return 2
		}
	}
}

func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	a, f, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Open(f); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// TestMessages: of every size, with files or none, from several at a time, each arrives whole.
func TestMessages(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	sizes := []int{0, 1, step - 1, step, step + 1, 3<<20 + 5}
	var wg sync.WaitGroup
	for i, size := range sizes {
		wg.Go(func() {
			body := bytes.Repeat([]byte{byte(i)}, size)
			var files []*os.File
			for range i % 3 {
				f, err := Content(body[:min(size, 10)])
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				files = append(files, f)
			}
			if err := a.Send(byte('a'+i), body, files...); err != nil {
				t.Error(err)
			}
		})
	}
	for range sizes {
		m, err := b.Recv(1 << 24)
		if err != nil {
			t.Fatal(err)
		}
		i := int(m.Kind - 'a')
		if !bytes.Equal(m.Body, bytes.Repeat([]byte{byte(i)}, sizes[i])) || len(m.Files) != i%3 {
			t.Errorf("message %d: %d bytes, %d files", i, len(m.Body), len(m.Files))
		}
		for _, f := range m.Files {
			if data, err := ReadContent(f, 10); err != nil || !bytes.Equal(data, m.Body[:min(len(m.Body), 10)]) {
				t.Errorf("message %d: a file with %v, %v", i, data, err)
			}
		}
	}
	wg.Wait()
	a.Close()
	if _, err := b.Recv(1); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

// TestBadMessages: what is too long, or breaks off, is an error.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if err := a.Send('x', make([]byte, 11)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Recv(10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	for n := 1; n < 8; n++ {
		a, b := pair(t)
		if _, err := a.Raw().Write([]byte{'x', 0, 0, 0, 3, 1, 2, 3}[:n]); err != nil {
			t.Fatal(err)
		}
		a.Close()
		if _, err := b.Recv(10); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if err := a.Send('x', nil, make([]*os.File, maxFiles+1)...); err == nil {
		t.Error("too many files were sent")
	}
}

// TestContentIsSealed: whoever is given it cannot change it for others.
func TestContentIsSealed(t *testing.T) {
	t.Parallel()
	f, err := Content([]byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	_, wrote := f.WriteAt([]byte("x"), 0)
	data, err := ReadContent(f, 2)
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("%q, %v", data, err)
	}
	if _, isLinux := Anonymous(os.Getpid()); isLinux && wrote == nil {
		t.Error("it was written to")
	}
}

func startEcho(t *testing.T) (*Process, *Cells) {
	t.Helper()
	cells, err := NewCells(3)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Command{Args: []string{"echo"}, Files: []*os.File{cells.File()}, Orphan: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); <-p.Done(); p.Conn.Close(); cells.Close() })
	return p, cells
}

// TestChild: a child answers, shares memory that outlives it, and ends with its socket.
func TestChild(t *testing.T) {
	t.Parallel()
	p, cells := startEcho(t)
	f, err := Content([]byte("in a file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 3 {
		if err := p.Conn.Send('a', []byte("body"), f); err != nil {
			t.Fatal(err)
		}
		m, err := p.Conn.Recv(100)
		if err != nil || m.Kind != 'b' || string(m.Body) != "body" || len(m.Files) != 1 {
			t.Fatalf("%+v, %v", m, err)
		}
		if data, err := ReadContent(m.Files[0], 100); err != nil || string(data) != "in a file" {
			t.Errorf("%q, %v", data, err)
		}
	}
	if n, known := Anonymous(p.PID()); known && n < 1<<16 {
		t.Errorf("%d bytes of memory", n)
	}
	if err := p.Conn.Raw().CloseWrite(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it lives on")
	}
	if p.State().ExitCode() != 7 {
		t.Errorf("%v", p.State())
	}
	got := []uint64{cells.At(0).Load(), cells.At(1).Load(), cells.At(2).Load()}
	if cells.Len() < 3 || !slices.Equal(got, []uint64{0, 3, 0}) {
		t.Errorf("%d cells: %v", cells.Len(), got)
	}
	if _, known := Anonymous(p.PID()); known {
		t.Error("a process that is gone has memory")
	}
}

// TestKill: also one that is stopped.
func TestKill(t *testing.T) {
	t.Parallel()
	p, _ := startEcho(t)
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it lives on")
	}
	p.Kill() // again: nothing
}
