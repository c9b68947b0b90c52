// Package clip makes texts fit for records.
package clip

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text makes anybody's text fit for a record: valid UTF-8 of at most limit bytes, which is at least 64. A longer text
// loses its end, between two characters, and says so.
func Text(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	mark := fmt.Sprintf("… (clipped: %d bytes)", len(text))
	end := limit - len(mark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
