package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskrt/taskrt/api"
)

// openTerminal makes a pseudo terminal: what is written to slave is read from master.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestSubmitSaysWhomItMet: who submits at a terminal is told of a task that was there, in one line; a script and a new task have none.
func TestSubmitSaysWhomItMet(t *testing.T) {
	created := api.Time{Time: time.Now().Add(-3*time.Hour - time.Minute)}.String()
	for _, tc := range []struct{ outcome, want string }{
		{"existing", "created 3h ago, SUCCESS, version 0123456789ab"},
		{"existing_other_params", "version 0123456789ab; its params are others"},
		{"created", ""},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Prefer") != "" {
				t.Error("the short answer does not say the version")
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"task":{"id":"one","status":"SUCCESS","final":true,"version":"%s","created_at":%q},"outcome":%q}`,
				"0123456789abcdef", created, tc.outcome)
		}))
		master, slave := openTerminal(t)
		var stdout bytes.Buffer
		if code := run(t.Context(), []string{"taskrt", "submit", "echo", "--server", s.URL}, strings.NewReader(""), &stdout, slave); code != 0 || stdout.String() != "one\n" {
			t.Errorf("code %d, %q", code, stdout.String())
		}
		_, _ = io.WriteString(slave, "end\n")
		line, err := bufio.NewReader(master).ReadString('\n')
		if line = strings.TrimSpace(line); err != nil || tc.want == "" && line != "end" || !strings.HasPrefix(line, "taskrt: task one was there") && tc.want != "" || !strings.HasSuffix(line, tc.want) && tc.want != "" {
			t.Errorf("%s: %q, %v", tc.outcome, line, err)
		}
		s.Close()
	}
}

// TestListShowsPeopleTheLastTasks: people at a terminal see the last tasks first, also those of a server that knows no order, and say what they want. Programs
// see the order of before.
func TestListShowsPeopleTheLastTasks(t *testing.T) {
	for _, tc := range []struct {
		args     []string
		terminal bool
		former   bool
		want     []string // the orders that are asked for
	}{
		{nil, true, false, []string{"desc"}},
		{nil, false, false, []string{""}},
		{nil, true, true, []string{"desc", ""}},
		{[]string{"--order", "ASC"}, true, false, []string{""}},
		{[]string{"--order", "desc"}, false, false, []string{"desc"}},
	} {
		var asked []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			order := r.URL.Query().Get("order")
			asked = append(asked, order)
			if order != "" && tc.former {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"type":"about:blank","status":400,"code":"unknown_field","field":"order","detail":"there is no such query parameter"}`)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"tasks":[]}`)
		}))
		_, slave := openTerminal(t)
		var stdout, stderr bytes.Buffer
		out := io.Writer(&stdout)
		if tc.terminal {
			out = slave
		}
		if code := run(t.Context(), append([]string{"taskrt", "list", "--server", s.URL}, tc.args...), strings.NewReader(""), out, &stderr); code != 0 || !slices.Equal(asked, tc.want) {
			t.Errorf("%+v: code %d, asked for %q; %s", tc, code, asked, stderr.String())
		}
		s.Close()
	}
}
