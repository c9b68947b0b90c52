package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
)

// read is a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// table is the rows of the table of exit codes in a page: its cells by the code.
func table(t *testing.T, path string) map[int][]string {
	t.Helper()
	_, text, found := strings.Cut(read(t, path), "\n| exit code |")
	if !found || strings.Contains(text, "\n| exit code |") {
		t.Fatalf("%s does not have one table of exit codes", path)
	}
	rows := map[int][]string{}
	for _, line := range strings.Split(text, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) < 2 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if code, err := strconv.Atoi(cells[0]); err == nil {
			rows[code] = cells[1:]
		}
	}
	return rows
}

// TestTables: the pages and --help name each exit code, say the same of it as the program, and name no other one (SPEC C10).
func TestTables(t *testing.T) {
	all, commands, members := table(t, "docs/spec.md"), table(t, "docs/use-the-api.md"), table(t, "docs/run-a-cluster.md")
	help := strings.Join(strings.Fields(Help()), " ")
	for _, m := range Meanings {
		if all[m.Code] == nil {
			t.Errorf("docs/spec.md does not have %d", m.Code)
		}
		delete(all, m.Code)
		if m.Command != "" {
			if row := commands[m.Code]; row == nil || !strings.HasPrefix(row[0], m.Command) {
				t.Errorf("docs/use-the-api.md says %q of %d, the program %q", row, m.Code, m.Command)
			}
			delete(commands, m.Code)
		}
		if m.Member != "" {
			if row := members[m.Code]; len(row) < 2 || row[0] != m.Member || row[1] != string(m.Again) {
				t.Errorf("docs/run-a-cluster.md says %q of %d, the program %q, %q", row, m.Code, m.Member, m.Again)
			}
			delete(members, m.Code)
		}
		for _, says := range []string{m.Command, m.Member} {
			if says != "" && !strings.Contains(help, fmt.Sprintf("%d %s", m.Code, says)) {
				t.Errorf("--help does not say: %d %s", m.Code, says)
			}
		}
	}
	for _, rest := range []map[int][]string{all, commands, members} {
		if len(rest) > 0 {
			t.Errorf("pages have codes that the program does not have: %v", rest)
		}
	}
}

// TestUnits: a unit starts a member again but after the codes of which the program says that it does not help (SPEC C10).
func TestUnits(t *testing.T) {
	var want []string
	for _, m := range Meanings {
		if m.Again == Never {
			want = append(want, strconv.Itoa(m.Code))
		}
	}
	line := regexp.MustCompile(`(?m)^RestartPreventExitStatus=(.*)$`)
	for _, path := range []string{"packages/linux/taskrt.service", "packages/linux/taskrt-worker.service", "docs/run-a-cluster.md"} {
		found := line.FindAllStringSubmatch(read(t, path), -1)
		if len(found) != 1 || !slices.Equal(strings.Fields(found[0][1]), want) {
			t.Errorf("%s: %q, want one line with %q", path, found, want)
		}
	}
}

// TestCodes: what ends a member, and what goes wrong with a command, has its code.
func TestCodes(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	code := func(err error) int {
		var coded *Error
		if errors.As(err, &coded) {
			return coded.Code
		}
		return OK
	}
	for _, tc := range []struct{ got, want int }{
		{code(OfMember(nil)), OK},
		{code(OfMember(errors.New("a disk"))), Stopped},
		{code(OfMember(fmt.Errorf("stopped: %w", over[0]))), Over},
		{code(OfMember(fmt.Errorf("stopped: %w", over[1]))), Over},
		{CodeOf(t.Context(), &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}), File},
		{CodeOf(t.Context(), errors.New("--x: makes no sense")), Usage},
		{CodeOf(t.Context(), &api.Error{Code: api.CodeNoLeader}), Unreachable},
		{CodeOf(t.Context(), &api.Error{Code: api.CodeNotFound}), Refused},
		{CodeOf(ended, &api.Error{Code: api.CodeNoLeader}), Interrupted},
		{CodeOf(ended, context.Canceled), Interrupted},
	} {
		if tc.got != tc.want {
			t.Errorf("%d, want %d", tc.got, tc.want)
		}
	}
}
