// Package explain is the catalogue of errors: what each code means and what to do (SPEC U3, H3). docs/errors.md is made of it.
package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/internal/anchor"
)

// Entry explains a code.
type Entry struct {
	Code   string `json:"code"`
	Of     Kind   `json:"of"`
	Status int    `json:"status,omitempty"` // HTTP, of a request
	Means  string `json:"means"`
	Do     string `json:"do"`
	Type   string `json:"type"` // where it is explained; of a request: the type of the problem
}

// Kind is what ends with a code.
type Kind string

// What ends with codes.
const (
	Request Kind = "request"
	Task    Kind = "task"
	Process Kind = "process"
)

// Heading is the title of the section of an entry in docs/errors.md.
func (e *Entry) Heading() string {
	if e.Of == Process {
		return "exit code " + e.Code
	}
	return e.Code
}

// All are all entries. Entries of one kind stand together.
func All() (all []Entry) {
	for _, c := range api.Codes() {
		all = append(all, Entry{Code: c.Code, Of: Request, Status: c.Status, Means: c.Meaning, Do: todo[c.Code]})
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.Code, b.Code) })
	all = append(all, own...)
	all = append(all, outcomes...)
	for _, m := range exit.Meanings {
		all = append(all, ofProcess(m))
	}
	for i := range all {
		all[i].Type = api.ErrorsPage + "#" + anchor.Of(all[i].Heading())
	}
	return all
}

// ofProcess explains an exit code.
func ofProcess(m exit.Meaning) Entry {
	e := Entry{Code: strconv.Itoa(m.Code), Of: Process, Do: afterExit[m.Code]}
	for _, says := range []struct{ of, text string }{{"of a command", m.Command}, {"of a server or worker", m.Member}} {
		if says.text != "" {
			e.Means += fmt.Sprintf("%s%s: %s", map[bool]string{true: "; "}[e.Means != ""], says.of, says.text)
		}
	}
	e.Means = strings.ToUpper(e.Means[:1]) + e.Means[1:] + "."
	if m.Again != "" && m.Again != exit.NoCause {
		e.Do = strings.TrimSpace(e.Do + " To start a member again: " + string(m.Again) + ".")
	}
	return e
}

// Find finds what explains a code, in any case: of an exit code, its number.
func Find(code string) (Entry, bool) {
	all := All()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Code == code })
	if i < 0 {
		i = slices.IndexFunc(all, func(e Entry) bool { return strings.EqualFold(e.Code, code) })
	}
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// Codes are the codes of a kind; "": all.
func Codes(of Kind) (codes []string) {
	for _, e := range All() {
		if of == "" || e.Of == of {
			codes = append(codes, e.Code)
		}
	}
	return codes
}
