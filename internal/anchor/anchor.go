// Package anchor knows how places in pages of the documentation are called.
package anchor

import (
	"strings"
	"unicode"
)

// Of returns the anchor that GitHub gives to a heading, as it is read: without marks. The site at /docs gives it the same.
func Of(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}
