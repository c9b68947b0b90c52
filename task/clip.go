package task

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxMessage bounds the message of an error in bytes.
const MaxMessage = 4 << 10

// Clip makes anybody's text fit for a record: valid UTF-8 of at most limit bytes, which is at least 64. A longer text
// loses its end, between two characters, and says so.
func Clip(text string, limit int) string {
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
