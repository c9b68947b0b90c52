package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
)

// freePort returns an address on loopback where nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestServerHealth: --health tells a server that answers from one that can serve, and believes nobody but the server of these flags.
func TestServerHealth(t *testing.T) {
	dir := t.TempDir()
	secret := func(name string) string {
		t.Helper()
		var out, err output
		if code := run(t.Context(), []string{"taskrt", "secret", "new"}, strings.NewReader(""), &out, &err); code != exit.OK {
			t.Fatal(err.String())
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	ours, other := secret("ours"), secret("other")
	ask := func(question, addr string, more ...string) (code int, said string) {
		t.Helper()
		var out, err output
		args := append([]string{"taskrt", "server", "--health", question, "--http", addr}, more...)
		code = run(t.Context(), args, strings.NewReader(""), &out, &err)
		return code, out.String() + err.String()
	}
	expect := func(wantCode int, wantSaid, question, addr string, more ...string) {
		t.Helper()
		if code, said := ask(question, addr, more...); code != wantCode || wantSaid == "" && said != "" || !strings.Contains(said, wantSaid) {
			t.Errorf("%s of %s %v: %d, %q, want %d, %q", question, addr, more, code, said, wantCode, wantSaid)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	secure := freePort(t)
	_, port, _ := net.SplitHostPort(secure)
	everywhere := "0.0.0.0:" + port
	s := supervise(ctx, t, "--id", "n1", "--dir", filepath.Join(dir, "n1"), "--http", everywhere, "--raft", "127.0.0.1:0", "--worker", "inline", "--cluster-secret", ours)
	s.told("STATUS=ready")
	for _, question := range []string{"live", "ready"} {
		expect(exit.OK, "", question, everywhere, "--cluster-secret", ours)
		expect(exit.Unreachable, "another cluster", question, secure, "--cluster-secret", other)
		expect(exit.Unreachable, "HTTPS server", question, secure)
	}

	alone := freePort(t) // two others are missing
	lone := supervise(ctx, t, "--id", "n1", "--dir", filepath.Join(dir, "lone"), "--http", alone, "--raft", "127.0.0.1:0", "--worker", "inline",
		"--join", freePort(t), "--bootstrap-expect", "3")
	expect(exit.OK, "", "live", alone)
	expect(exit.Unreachable, "not ready: 503", "ready", alone)

	expect(exit.Unreachable, "refused", "live", freePort(t))
	expect(exit.Usage, `must be live or ready, not "alive"`, "alive", alone)
	expect(exit.Usage, "must be live or ready", "", alone)
	expect(exit.Usage, "which port", "live", "127.0.0.1:0")
	expect(exit.File, "none", "live", secure, "--cluster-secret", filepath.Join(dir, "none"))
	cancel()
	for _, s := range []*supervised{s, lone} {
		if code := <-s.code; code != exit.OK {
			t.Errorf("exit code %d\n%s", code, s.err.String())
		}
	}
}
