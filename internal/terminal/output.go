// Package terminal is how the commands speak to people: the only way to standard output and standard error.
//
// What the commands show comes from others: names, labels, logs, errors, progress, results. Written as it is, it could clear the
// screen, set the title, overwrite lines, pretend to be taskrt's own words, or be read in another order than it is stored.
// So an Output is no io.Writer. Printf and tables make every argument safe (Cell). Long texts of guests go
// through Content, which is exact for files and pipes, and safe on terminals. Exact is for
// programs: -o json. A test of the house keeps the list of functions that may use Exact.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Output is standard output or standard error.
type Output struct {
	w       io.Writer
	columns int // of the terminal; 0: it is none
}

// New makes an Output that writes to w.
func New(w io.Writer) *Output { return &Output{w, columnsOf(w)} }

// IsTerminal reports whether a stream is a terminal. /dev/null is no terminal: nobody reads it, and nobody answers from it.
func IsTerminal(stream any) bool { return columnsOf(stream) > 0 }

// columnsOf returns a terminal's width, or 80 if the terminal does not say. It returns 0 for another stream.
func columnsOf(stream any) int {
	size := sizeOf(stream)
	switch {
	case size == nil:
		return 0
	case size.Col == 0:
		return 80
	}
	return int(size.Col)
}

// rowsOf returns a terminal's height; 0 if it does not say.
func rowsOf(stream any) int {
	if size := sizeOf(stream); size != nil {
		return int(size.Row)
	}
	return 0
}

// sizeOf returns the size of a terminal; nil for another stream.
func sizeOf(stream any) (size *unix.Winsize) {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	err = raw.Control(func(fd uintptr) {
		if got, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			size = got
		}
	})
	if err != nil {
		return nil
	}
	return size
}

// IsTerminal reports whether somebody sees the output at once.
func (o *Output) IsTerminal() bool { return o.columns > 0 }

// Draws reports whether lines can be replaced, so that Status shows something.
func (o *Output) Draws() bool { return o.IsTerminal() && os.Getenv("TERM") != "dumb" }

// Exact returns the stream itself, for output that programs read.
func (o *Output) Exact() io.Writer { return o.w }

// Printf does what fmt.Printf does, with arguments that are made safe: whatever they are, they add no line. Only a Text may.
func (o *Output) Printf(format string, args ...any) error {
	for i := range args {
		args[i] = safely(args[i])
	}
	_, err := fmt.Fprintf(o.w, format, args...)
	return err
}

// argument is printed as its value would be, and then made safe.
type argument struct{ value any }

func safely(v any) any {
	if _, ok := v.(Text); ok {
		return v
	}
	return argument{v}
}

// Format implements fmt.Formatter.
func (a argument) Format(s fmt.State, verb rune) {
	_, _ = io.WriteString(s, Cell(fmt.Sprintf(fmt.FormatString(s, verb), a.value))) // to fmt's buffer
}

// Content copies a long text of a guest or client: byte for byte to a file or pipe, as Block does to a terminal.
func (o *Output) Content(from io.Reader) error {
	if !o.IsTerminal() {
		_, err := io.Copy(o.w, from)
		return err
	}
	buf := make([]byte, 32<<10)
	kept := 0 // bytes of a character that the last read cut
	for {
		n, err := from.Read(buf[kept:])
		n += kept
		whole := n
		if err == nil {
			whole = wholeRunes(buf[:n])
		}
		if _, err := io.WriteString(o.w, Block(string(buf[:whole]))); err != nil {
			return err
		}
		kept = copy(buf, buf[whole:n])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// wholeRunes is how many bytes of b stand before a character of which b has only the beginning.
func wholeRunes(b []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(b)); back++ {
		if i := len(b) - back; utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return len(b)
			}
			return i
		}
	}
	return len(b)
}

// Status replaces the last line by a line about the present, if there is a terminal that can.
func (o *Output) Status(format string, args ...any) {
	if !o.Draws() {
		return
	}
	for i := range args {
		args[i] = safely(args[i])
	}
	line := []rune(fmt.Sprintf(format, args...))
	_, _ = io.WriteString(o.w, "\r\x1b[K"+string(line[:min(len(line), o.columns-1)])) // the next one, or the end, says what is wrong
}

// EndStatus wipes the line of Status.
func (o *Output) EndStatus() { o.Status("") }

// barWidth is how many characters a bar has.
const barWidth = 20

// Bar draws 0 ≤ done ≤ total; of a total that is not known yet, which is 0, nothing is done.
func Bar(done, total int64) string {
	share := float64(done) / float64(max(total, 1))
	full := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %d %%", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), int(100*share))
}
