// Package jsontext says two things about JSON that encoding/json keeps to itself: whether a text has halves of characters, which
// encoding/json replaces without a word, and which integer a number is that is not written as an integer, which it refuses.
package jsontext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
)

// LoneSurrogate reports whether a string of a valid JSON text holds an escaped surrogate without its other half. Names of members are
// strings, too. Such a half is no character, so no UTF-8 can carry it.
func LoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		if text = text[i+1:]; text[0] != 'u' {
			text = text[1:]
			continue
		}
		first := unit(text)
		text = text[5:]
		switch {
		case !utf16.IsSurrogate(first):
		case len(text) > 6 && text[0] == '\\' && text[1] == 'u' && utf16.DecodeRune(first, unit(text[1:])) != replacement:
			text = text[6:]
		default:
			return true
		}
	}
}

const replacement = '\uFFFD'

// unit reads uXXXX.
func unit(text []byte) rune {
	n, err := strconv.ParseUint(string(text[1:5]), 16, 16)
	if err != nil {
		return replacement
	}
	return rune(n)
}

// maxDigits is more than any integer of 64 bits has.
const maxDigits = 20

// Integer writes a JSON number that is a whole number, such as 1000.0 or 1e3, as integers are written. It returns false if the number is
// no whole number, or has more than 20 digits.
func Integer(number string) (string, bool) {
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		n, err := strconv.ParseInt(digits[i+1:], 10, 32)
		if err != nil {
			return "", false
		}
		exponent, digits = int(n), digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" {
		return "", false
	}
	fraction = strings.TrimRight(fraction, "0")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0", true
	}
	if short := strings.TrimRight(digits, "0"); exponent < 0 {
		exponent += len(digits) - len(short)
		if exponent < 0 {
			return "", false
		}
		digits = short
	}
	if exponent > maxDigits || len(digits)+exponent > maxDigits {
		return "", false
	}
	digits += strings.Repeat("0", exponent)
	if negative {
		digits = "-" + digits
	}
	return digits, true
}
