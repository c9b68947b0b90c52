// Package tinyjson reads and writes JSON (RFC 8259) without reflection. It exists because encoding/json makes a Go guest
// 1.5 MB larger and twice as slow to compile; a plugin that reads three numbers need not pay for this. For typed
// params, use package sdkjson instead.
//
// Like encoding/json it keeps the last of duplicate keys, and replaces invalid UTF-8 and lone surrogates by U+FFFD.
package tinyjson

import (
	"strconv"
	"unicode/utf8"
)

// Kind is the type of a Value.
type Kind uint8

// These are the kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is one parsed JSON value; the zero value is null.
type Value struct {
	kind  Kind
	truth bool
	text  string // the string, or the number as written
	elems []Value
	keys  []string // of an object, parallel to elems
}

// Kind returns the type of v.
func (v Value) Kind() Kind { return v.kind }

// Get returns the member of an object, and false if v is not an object or has no such member.
func (v Value) Get(key string) (Value, bool) {
	if v.kind != Object {
		return Value{}, false
	}
	for i := len(v.keys) - 1; i >= 0; i-- {
		if v.keys[i] == key {
			return v.elems[i], true
		}
	}
	return Value{}, false
}

// Keys returns the names of an object's members in the order of the text. Do not change the slice.
func (v Value) Keys() []string { return v.keys }

// Elems returns the elements of an array, or the values of an object, parallel to Keys. Do not change the slice.
func (v Value) Elems() []Value { return v.elems }

// Str returns the string, and false if v is not a string.
func (v Value) Str() (string, bool) { return v.text, v.kind == String }

// Truth returns the boolean, and false if v is not a boolean.
func (v Value) Truth() (truth, ok bool) { return v.truth, v.kind == Bool }

// Int64 returns the number if it is an integer that fits, however it is written: 3000000000, 3e9, 5.0.
func (v Value) Int64() (int64, bool) {
	if v.kind != Number {
		return 0, false
	}
	digits, exp, negative := split(v.text)
	for exp < 0 && len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		exp++
	}
	if len(digits) == 0 {
		return 0, true
	}
	const maxDigits = 19 // of an int64
	if exp < 0 || len(digits)+exp > maxDigits {
		return 0, false
	}
	var n uint64 // 19 digits fit
	for _, c := range digits {
		n = n*10 + uint64(c-'0')
	}
	for range exp {
		n *= 10
	}
	if negative {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// split takes a valid JSON number apart: its value is digits × 10^exp, without leading zeros. It works by hand, because this needs no
// float, and because strconv's errors alone are 40 KB of code.
func split(text string) (digits []byte, exp int, negative bool) {
	fraction := false
	for i := range len(text) {
		switch c := text[i]; { //nolint:staticcheck // QF1002: reads like the parser's switches
		case c == '-':
			negative = true
		case c == '.':
			fraction = true
		case c == 'e' || c == 'E':
			return digits, exp + exponent(text[i+1:]), negative
		default:
			if fraction {
				exp--
			}
			if c != '0' || len(digits) > 0 {
				digits = append(digits, c)
			}
		}
	}
	return digits, exp, negative
}

// exponent reads [+-]digits, clamped to ±2^30.
func exponent(text string) int {
	n, sign := 0, 1
	for i := range len(text) {
		switch c := text[i]; c {
		case '-':
			sign = -1
		case '+':
		default:
			n = min(n*10+int(c-'0'), 1<<30)
		}
	}
	return sign * n
}

// Float64 returns the number, and false if v is not a number, or is too large.
func (v Value) Float64() (float64, bool) {
	if v.kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// AppendInt appends n in decimal.
func AppendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// AppendMember appends a member's name and the colon, with a comma before unless dst ends in '{'.
func AppendMember(dst []byte, name string) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, name), ':')
}
