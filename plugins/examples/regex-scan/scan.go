package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Sizes of the work.
const (
	pieceBytes = 1 << 20  // between two heartbeats
	maxLine    = 64 << 10 // a longer line is searched in parts of that
	maxShown   = 200      // bytes of a match
)

// match is one, as the result shows it.
type match struct {
	Pattern int    `json:"pattern"` // index
	Line    int64  `json:"line"`    // from 1
	Column  int64  `json:"column"`  // from 1, in characters
	Offset  int64  `json:"offset"`  // from 0, in bytes
	Text    string `json:"text"`
}

// state is what a checkpoint holds: all lines before Offset are searched.
type state struct {
	Offset  int64   `json:"offset"`
	Lines   int64   `json:"lines"`
	Count   int64   `json:"count"`
	Cut     int64   `json:"cut_lines"`
	Matches []match `json:"matches"`
}

// found is the result.
type found struct {
	Count     int64   `json:"count"`
	Lines     int64   `json:"lines"`
	CutLines  int64   `json:"cut_lines"`
	Truncated bool    `json:"truncated"`
	Matches   []match `json:"matches"`
}

func (s *state) found() found {
	return found{s.Count, s.Lines, s.Cut, s.Count > int64(len(s.Matches)), append([]match{}, s.Matches...)}
}

// scan is a search under way.
type scan struct {
	patterns []*regexp.Regexp
	most     int
	state    state
	r        *bufio.Reader
}

// begin goes to where the state says.
func (s *scan) begin(text io.ReadSeeker) error {
	if _, err := text.Seek(s.state.Offset, io.SeekStart); err != nil {
		return err
	}
	s.r = bufio.NewReaderSize(text, maxLine)
	return nil
}

// piece searches the lines of about pieceBytes; over: that was the last of them.
func (s *scan) piece() (over bool, err error) {
	for end := s.state.Offset + pieceBytes; s.state.Offset < end; {
		over, err = s.line()
		if over || err != nil {
			return over, err
		}
	}
	return false, nil
}

// line searches one line, a long one in parts.
func (s *scan) line() (over bool, err error) {
	column, parts := int64(1), 0
	for {
		part, err := s.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		over = errors.Is(err, io.EOF)
		if err != nil && !more && !over {
			return false, err
		}
		if over && len(part) == 0 && parts == 0 {
			return true, nil
		}
		line := part
		if trimmed, ended := bytes.CutSuffix(part, []byte("\n")); ended {
			line = bytes.TrimSuffix(trimmed, []byte("\r"))
		}
		s.search(line, column)
		s.state.Offset += int64(len(part))
		column += int64(utf8.RuneCount(part))
		if parts++; !more {
			break
		}
	}
	s.state.Lines++
	if parts > 1 {
		s.state.Cut++
	}
	return over, nil
}

// search finds the matches in a line, of which column is the first character.
func (s *scan) search(line []byte, column int64) {
	var here []match // of each pattern as many as there is room for
	room := s.most - len(s.state.Matches)
	for i, p := range s.patterns {
		left := room
		for _, at := range p.FindAllIndex(line, -1) {
			if at[0] == at[1] {
				continue // nothing was found there
			}
			s.state.Count++
			if left--; left >= 0 {
				here = append(here, match{
					i, s.state.Lines + 1, column + int64(utf8.RuneCount(line[:at[0]])), s.state.Offset + int64(at[0]), shown(line[at[0]:at[1]]),
				})
			}
		}
	}
	slices.SortStableFunc(here, func(a, b match) int { return cmp.Compare(a.Offset, b.Offset) })
	s.state.Matches = append(s.state.Matches, here[:min(len(here), room)]...)
}

// shown is the beginning of a match, in whole characters.
func shown(text []byte) string {
	if n := maxShown; len(text) > n {
		for n > maxShown-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return string(bytes.ToValidUTF8(text, []byte("\ufffd")))
}
