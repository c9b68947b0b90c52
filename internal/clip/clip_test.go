package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/taskrt/taskrt/internal/clip"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		cut  bool
	}{
		{"", false},
		{strings.Repeat("x", 100), false},
		{"half \xff", false},
		{strings.Repeat("x", 101), true},
		{strings.Repeat("é", 51), true},
		{strings.Repeat("x", 50) + strings.Repeat("日", 30), true},
		{strings.Repeat("\xff\x00", 90), true},
		{strings.Repeat("😀", 1000), true},
	} {
		got := clip.Text(c.text, 100)
		if len(got) > 100 || !utf8.ValidString(got) || strings.Contains(got, "(clipped: ") != c.cut {
			t.Errorf("%.40q: %d bytes, %q", c.text, len(got), got)
		}
		if c.cut && len(got) < 100-utf8.UTFMax {
			t.Errorf("%.40q: only %d bytes are left", c.text, len(got))
		}
		if again := clip.Text(got, 100); again != got {
			t.Errorf("%.40q: clipped twice: %q", c.text, again)
		}
	}
	const limit = 4 << 10
	if got := clip.Text(strings.Repeat("y", 5000), limit); !strings.HasSuffix(got, "y… (clipped: 5000 bytes)") || len(got) != limit {
		t.Errorf("%d bytes: %.20q", len(got), got[len(got)-40:])
	}
}
