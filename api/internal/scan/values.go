package scan

import (
	"encoding/base64"
	"strconv"
)

// The methods below read the values of which requests and answers are made, if they are plain. False means that a value is not
// plain, and a decoder for all forms must look at it.

// Plain reads a string without escapes, as it stands in the text.
func (s *Scanner) Plain() ([]byte, bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, false
	}
	inside, plain, ok := s.quoted()
	return inside, ok && plain
}

// Text reads a string.
func (s *Scanner) Text(to *string) bool {
	text, ok := s.Plain()
	*to = string(text)
	return ok
}

// Known is Text for a string that is mostly the same as the one before.
func (s *Scanner) Known(to, before *string) bool {
	text, ok := s.Plain()
	if ok && string(text) != *before {
		*before = string(text)
	}
	*to = *before
	return ok
}

// Base64 reads bytes.
func (s *Scanner) Base64(to *[]byte) bool {
	text, ok := s.Plain()
	if !ok {
		return false
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	*to = decoded[:n]
	return err == nil
}

// Labels reads an object of strings in which each name stands once.
func (s *Scanner) Labels(to *map[string]string) bool {
	labels := map[string]string{}
	*to = labels
	return s.Members(func(name []byte) bool {
		if _, twice := labels[string(name)]; twice {
			return false
		}
		var value string
		ok := s.Text(&value)
		labels[string(name)] = value
		return ok
	})
}

// Int reads a whole number.
func (s *Scanner) Int(to *int64) bool {
	from := s.i
	if !s.number() {
		return false
	}
	n, err := strconv.ParseInt(string(s.b[from:s.i]), 10, 64)
	*to = n
	return err == nil
}

// Uint reads a whole number that is not negative.
func (s *Scanner) Uint(to *uint64) bool {
	from := s.i
	if !s.number() {
		return false
	}
	n, err := strconv.ParseUint(string(s.b[from:s.i]), 10, 64)
	*to = n
	return err == nil
}

// Bool reads true or false.
func (s *Scanner) Bool(to *bool) bool {
	*to = s.word("true")
	return *to || s.word("false")
}

// Members passes an object. read reads the value of each member.
func (s *Scanner) Members(read func(name []byte) bool) bool {
	if !s.at('{') {
		return false
	}
	if s.at('}') {
		return true
	}
	for {
		s.Space()
		name, ok := s.Plain()
		if !ok || !s.at(':') {
			return false
		}
		if s.Space(); !read(name) {
			return false
		}
		if !s.at(',') {
			return s.at('}')
		}
	}
}

// Elements passes a list. read reads each element.
func (s *Scanner) Elements(read func() bool) bool {
	if !s.at('[') {
		return false
	}
	if s.at(']') {
		return true
	}
	for {
		if s.Space(); !read() {
			return false
		}
		if !s.at(',') {
			return s.at(']')
		}
	}
}
