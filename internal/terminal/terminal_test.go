package terminal_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/taskrt/taskrt/internal/terminal"
)

// TestCell has one case of each kind of text that a terminal would obey instead of showing.
func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"plain text":                     "plain text",
		"Grüße, 日本語, 👍🏽, a\u0301":        "Grüße, 日本語, 👍🏽, a\u0301",
		"no\u00a0break\u3000space":       "no\u00a0break\u3000space",
		"\x1b[2J\x1b]0;title\x07done":    `\x1b[2J\x1b]0;title\adone`,
		"done\rtaskrt: task ok":          `done\rtaskrt: task ok`,
		"one\ntwo\ttab":                  `one\ntwo\ttab`,
		"\x00\x08\x7f":                   `\x00\b\x7f`,
		"C1: \u0085\u009b2J\u009d":       `C1: \u0085\u009b2J\u009d`,
		"\u202eevil\u202c \u2066x\u2069": `\u202eevil\u202c \u2066x\u2069`,
		"zero\u200bwidth\u200d\ufeff":    `zero\u200bwidth\u200d\ufeff`,
		"lines\u2028and\u2029paragraphs": `lines\u2028and\u2029paragraphs`,
		"soft\u00adhyphen":               `soft\u00adhyphen`,
		"tag \U000e0041":                 `tag \U000e0041`,
		"bad \xff\xc3(":                  `bad \xff\xc3(`,
		"\x9b2J as a byte":               `\x9b2J as a byte`,
		"a real \ufffd":                  "a real \ufffd",
		`back\slash "quoted"`:            `back\slash "quoted"`,
		"":                               "",
	} {
		if got := terminal.Cell(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestBlockAndLines(t *testing.T) {
	const in = "one\n\ttwo\r\x1b[1A\nthree\n"
	if got, want := terminal.Block(in), "one\n\ttwo\\r\\x1b[1A\nthree\n"; got != want {
		t.Errorf("block %q, want %q", got, want)
	}
	if got, want := terminal.Lines(in).String(), "one\n  \ttwo\\r\\x1b[1A\n  three"; got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"short", 5, "short"}, {"longer", 5, "longe…"}, {"aéé", 2, "a…"}, {"aéé", 3, "aé…"}, {"日本", 1, "…"}, {"\x80\x80\x80", 2, "…"}} {
		if got := terminal.Clip(c.in, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// TestPrintf: whatever is printed, and by whichever verb, adds no line and nothing that a terminal obeys.
func TestPrintf(t *testing.T) {
	var b bytes.Buffer
	err := terminal.New(&b).Printf("%s|%v|%q|%d|%6.2f|%-4s|%x|%v\n%s\n",
		"a\nb", errors.New("e\x1b"), "q\"\n", 7, 1.5, "x\r", []byte("\x1b"), []string{"l\n"}, terminal.Lines("two\nlines"))
	const want = `a\nb|e\x1b|"q\"\n"|7|  1.50|x\r  |1b|[l\n]` + "\ntwo\n  lines\n"
	if err != nil || b.String() != want {
		t.Errorf("%q, %v; want %q", b.String(), err, want)
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	err := terminal.New(&b).Table(func(w *terminal.Table) {
		w.Row("ID", "STATE")
		w.Row("a\tb\nc", "d\x1b[0m")
		w.Printf("\n%s\n", "no\ncell")
		w.Field("message", "one\r\ntwo\n")
		w.Field("empty", "")
		w.Block("{\n\t\"a\": \"\u009b\"\n}")
	})
	want := strings.Join([]string{
		`ID       STATE`,
		`a\tb\nc  d\x1b[0m`,
		``,
		`no\ncell`,
		`message  one`,
		`         two`,
		`empty    `,
		`{`,
		`    "a": "\u009b"`,
		`}`, ``,
	}, "\n")
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}

// TestContentIsExactWithoutATerminal: a file or pipe gets the bytes of a guest as they are.
func TestContentIsExactWithoutATerminal(t *testing.T) {
	const text = "a\x1b[2J\r\n\xff\x00"
	var b bytes.Buffer
	out := terminal.New(&b)
	if err := out.Content(strings.NewReader(text)); err != nil || b.String() != text || out.IsTerminal() {
		t.Errorf("%q, %v", b.String(), err)
	}
	out.Status("never %s", "seen")
	out.EndStatus()
	if b.String() != text {
		t.Errorf("a status line without a terminal: %q", b.String())
	}
}

// TestContentOnATerminal: a terminal gets the bytes of a guest made safe, however the reads cut them.
func TestContentOnATerminal(t *testing.T) {
	const text = "log\n\x1b]0;title\x07 日本語 \u009b2J\tend \xe6\x97"
	const want = "log\n\\x1b]0;title\\a 日本語 \\u009b2J\tend \\xe6\\x97"
	p := openPty(t)
	out := terminal.New(p.slave)
	if !out.IsTerminal() {
		t.Fatal("a pseudo terminal is none")
	}
	if err := out.Content(iotest.OneByteReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if err := out.Content(iotest.DataErrReader(strings.NewReader(text))); err != nil {
		t.Fatal(err)
	}
	if got := p.read(t, len(want+want)); got != want+want {
		t.Errorf("%q, want twice %q", got, want)
	}
	if err := out.Content(iotest.ErrReader(errors.New("broken"))); err == nil || err.Error() != "broken" {
		t.Errorf("the source's error is %v", err)
	}
}

// TestStatus: the line of the present fits the terminal, or it could not be wiped again.
func TestStatus(t *testing.T) {
	p := openPty(t)
	p.resize(t, 12)
	out := terminal.New(p.slave)
	out.Status("%s %d", "é\x1b\n", 123456789)
	out.EndStatus()
	const want = "\r\x1b[Ké\\x1b\\n 123" + "\r\x1b[K"
	if got := p.read(t, len(want)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBar(t *testing.T) {
	if got := terminal.Bar(0, 0); got != "["+strings.Repeat(".", 20)+"] 0 %" {
		t.Errorf("of nothing: %s", got)
	}
	for want, at := range map[string][2]int64{
		"[....................] 0 %": {0, 4}, "[#####...............] 25 %": {1, 4}, "[####################] 100 %": {1 << 62, 1 << 62},
	} {
		if got := terminal.Bar(at[0], at[1]); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

func FuzzCell(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := terminal.Cell(s)
		if !utf8.ValidString(got) || terminal.Cell(got) != got || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%q becomes %q", s, got)
		}
		if fmt.Sprint(terminal.Lines(s)) != terminal.Lines(s).String() {
			t.Errorf("%q prints in two ways", s)
		}
	})
}

// TestScreen: a picture replaces the one before, and is cut to the terminal; what stands in it is as safe as in any table.
func TestScreen(t *testing.T) {
	p := openPty(t)
	p.resize(t, 8)
	s := terminal.New(p.slave).Screen()
	err := s.Show(terminal.Columns{}, func(w *terminal.Table) {
		w.Row("ID", "STATE")
		w.Row("a\x1b[2J", "x")
		for range 100 {
			w.Row("more")
		}
	})
	s.Close()
	if err != nil {
		t.Fatal(err)
	}
	want := "\x1b[?1049h\x1b[?25l\x1b[HID     …\x1b[K\r\na\\x1b[2…\x1b[K" + strings.Repeat("\r\nmore\x1b[K", 22) + "\x1b[J\x1b[?25h\x1b[?1049l"
	if got := p.read(t, len(want)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
