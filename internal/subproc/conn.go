package subproc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/internal/arriving"
)

// Message is what one Send carries.
type Message struct {
	Kind  byte
	Body  []byte
	Files []*os.File // open files that came with it; the receiver closes them
}

// ErrTooLarge means that a message is longer than its receiver takes.
var ErrTooLarge = errors.New("subproc: message too large")

// A message is a kind, the length of its body (uint32, big-endian) and the body. Files come with its first byte.
const (
	headerSize = 5
	maxFiles   = 4
	step       = 64 << 10 // memory grows with what has arrived, not with what a header promises
)

// Conn is one end of a private socket. Send may be called from any goroutine, Recv from one.
type Conn struct {
	nc   *net.UnixConn
	send sync.Mutex
}

// Pair makes a private socket: an end for this process, and a file that is the other end, to be passed on and closed.
func Pair() (*Conn, *os.File, error) {
	syscall.ForkLock.RLock() // no child may inherit them by chance: the end of file would never come
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("subproc: socketpair: %w", err)
	}
	other := os.NewFile(uintptr(fds[1]), "socket")
	c, err := Open(os.NewFile(uintptr(fds[0]), "socket"))
	if err != nil {
		return nil, nil, errors.Join(err, other.Close())
	}
	return c, other, nil
}

// Open makes a Conn of an end that was passed on, which it takes over.
func Open(f *os.File) (*Conn, error) {
	defer f.Close()
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("subproc: %w", err)
	}
	u, ok := nc.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("subproc: not a private socket"), nc.Close())
	}
	return &Conn{nc: u}, nil
}

// Raw is the socket itself. What it is used for must not begin before the messages over it have ended.
func (c *Conn) Raw() *net.UnixConn { return c.nc }

// Close closes this end.
func (c *Conn) Close() error { return c.nc.Close() }

// Send writes a message; it returns when all of it is in the socket. The files stay open here.
func (c *Conn) Send(kind byte, body []byte, files ...*os.File) error {
	if len(files) > maxFiles {
		return fmt.Errorf("subproc: %d files in one message, at most %d", len(files), maxFiles)
	}
	first := make([]byte, headerSize, headerSize+min(len(body), step))
	first[0] = kind
	binary.BigEndian.PutUint32(first[1:], uint32(len(body)))
	first = append(first, body[:min(len(body), step)]...)
	c.send.Lock()
	defer c.send.Unlock()
	n, err := c.sendFirst(first, files)
	if err != nil {
		return fmt.Errorf("subproc: %w", err)
	}
	for _, rest := range [][]byte{first[n:], body[min(len(body), step):]} {
		if len(rest) == 0 {
			continue
		}
		if _, err := c.nc.Write(rest); err != nil {
			return fmt.Errorf("subproc: %w", err)
		}
	}
	return nil
}

// sendFirst writes the beginning of a message with its files.
func (c *Conn) sendFirst(b []byte, files []*os.File) (n int, err error) {
	if len(files) == 0 {
		return c.nc.Write(b)
	}
	fds := make([]int, len(files))
	err = held(files, fds, func() error {
		n, _, err = c.nc.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		return err
	})
	return n, err
}

// held calls f while the descriptors of files, put into fds, cannot be closed. File.Fd would make them blocking.
func held(files []*os.File, fds []int, f func() error) error {
	if len(files) == 0 {
		return f()
	}
	raw, err := files[0].SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		fds[0] = int(fd)
		inner = held(files[1:], fds[1:], f)
	})
	if err != nil {
		return err
	}
	return inner
}

// Recv returns the next message, whose body may have limit bytes. io.EOF: the other end is gone.
func (c *Conn) Recv(limit int) (Message, error) {
	var header [headerSize]byte
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	n, oobn, _, _, err := c.nc.ReadMsgUnix(header[:], oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return Message{}, err
	}
	m := Message{}
	if m.Files, err = filesOf(oob[:oobn]); err == nil {
		err = c.rest(&m, header[:], n, limit)
	}
	if err != nil {
		m.CloseFiles()
		return Message{}, err
	}
	return m, nil
}

func (c *Conn) rest(m *Message, header []byte, have, limit int) error {
	if _, err := io.ReadFull(c.nc, header[have:]); err != nil {
		return unexpected(err)
	}
	m.Kind = header[0]
	size := int(binary.BigEndian.Uint32(header[1:]))
	if size > limit {
		return fmt.Errorf("%w: %d bytes announced, limit %d", ErrTooLarge, size, limit)
	}
	body, err := arriving.Append(c.nc, m.Body, size-len(m.Body), step)
	m.Body = body
	return err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// CloseFiles closes what came with the message.
func (m *Message) CloseFiles() {
	for _, f := range m.Files {
		_ = f.Close() // it was never used
	}
}

func filesOf(oob []byte) (files []*os.File, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	controls, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("subproc: %w", err)
	}
	for i := range controls {
		fds, err := unix.ParseUnixRights(&controls[i])
		if err != nil {
			continue // credentials, which nobody sends
		}
		for _, fd := range fds { // close-on-exec: package net receives them so
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return files, nil
}
