package api

import (
	"encoding/base64"
	"strconv"
)

// The values that requests and answers are made of, as far as they are plain. false: they are something else, which a decoder
// for everything must look at.

// plain reads a string without escapes, as it stands in the text.
func (s *scanner) plain() ([]byte, bool) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, false
	}
	inside, plain, ok := s.text()
	return inside, ok && plain
}

func (s *scanner) string(to *string) bool {
	text, ok := s.plain()
	*to = string(text)
	return ok
}

// known is string for what is mostly the same as before.
func (s *scanner) known(to, before *string) bool {
	text, ok := s.plain()
	if ok && string(text) != *before {
		*before = string(text)
	}
	*to = *before
	return ok
}

// base64 reads bytes.
func (s *scanner) base64(to *[]byte) bool {
	text, ok := s.plain()
	if !ok {
		return false
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	*to = decoded[:n]
	return err == nil
}

func (s *scanner) time(to *Time) bool {
	text, ok := s.plain()
	if !ok {
		return false
	}
	t, err := ParseTime(string(text))
	*to = t
	return err == nil
}

func (s *scanner) timeOrNil(to **Time) bool {
	*to = new(Time)
	return s.time(*to)
}

func (s *scanner) duration(to **Duration) bool {
	text, ok := s.plain()
	if !ok {
		return false
	}
	d, err := ParseDuration(string(text))
	*to = new(Duration(d))
	return err == nil
}

func (s *scanner) labels(to *map[string]string) bool {
	labels := map[string]string{}
	*to = labels
	return s.members(func(name []byte) bool {
		if _, twice := labels[string(name)]; twice {
			return false
		}
		var value string
		ok := s.string(&value)
		labels[string(name)] = value
		return ok
	})
}

func (s *scanner) int(to *int64) bool {
	from := s.i
	if !s.number() {
		return false
	}
	n, err := strconv.ParseInt(string(s.b[from:s.i]), 10, 64)
	*to = n
	return err == nil
}

func (s *scanner) uint(to *uint64) bool {
	from := s.i
	if !s.number() {
		return false
	}
	n, err := strconv.ParseUint(string(s.b[from:s.i]), 10, 64)
	*to = n
	return err == nil
}

func (s *scanner) bool(to *bool) bool {
	*to = s.word("true")
	return *to || s.word("false")
}

// members passes an object; read reads the value of each member.
func (s *scanner) members(read func(name []byte) bool) bool {
	if !s.at('{') {
		return false
	}
	if s.at('}') {
		return true
	}
	for {
		s.space()
		name, ok := s.plain()
		if !ok || !s.at(':') {
			return false
		}
		if s.space(); !read(name) {
			return false
		}
		if !s.at(',') {
			return s.at('}')
		}
	}
}

// elements passes a list; read reads each.
func (s *scanner) elements(read func() bool) bool {
	if !s.at('[') {
		return false
	}
	if s.at(']') {
		return true
	}
	for {
		if s.space(); !read() {
			return false
		}
		if !s.at(',') {
			return s.at(']')
		}
	}
}
