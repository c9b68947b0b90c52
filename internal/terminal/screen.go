package terminal

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// These are words that terminals obey: another screen, on which nothing scrolls, and back; its first place; the end of a line and all below.
const (
	otherScreen = "\x1b[?1049h\x1b[?25l"
	back        = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	restOfLine  = "\x1b[K"
	below       = "\x1b[J"
)

// Screen is a terminal of which each picture replaces the one before.
type Screen struct {
	to      io.Writer
	columns int
	rows    func() int
}

// Screen takes a terminal for pictures; Close gives it back. The terminal must be one for pictures (Draws).
func (o *Output) Screen() *Screen {
	_, _ = io.WriteString(o.w, otherScreen) // the first picture says what is wrong
	return &Screen{to: o.w, columns: o.columns, rows: func() int { return rowsOf(o.w) }}
}

// Close shows what stood there before.
func (s *Screen) Close() { _, _ = io.WriteString(s.to, back) }

// Show shows what fill adds, as far as there is room.
func (s *Screen) Show(columns Columns, fill func(*Table)) error {
	var text bytes.Buffer
	if err := New(&text).TableOf(columns, fill); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
	if rows := s.rows(); rows > 0 && len(lines) > rows {
		lines = lines[:rows]
	}
	picture := home
	for i, line := range lines {
		if i > 0 {
			picture += "\r\n"
		}
		picture += cut(line, s.columns) + restOfLine
	}
	_, err := io.WriteString(s.to, picture+below)
	return err
}

// cut is a line as far as it fits.
func cut(line string, columns int) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	runes := []rune(line)
	return string(runes[:max(columns-1, 0)]) + "…"
}
