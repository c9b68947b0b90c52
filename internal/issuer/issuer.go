// Package issuer starts a real issuer of OpenID Connect for tests: panva/node-oidc-provider, in a process of its own.
package issuer

import (
	"bufio"
	"embed"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/npm"
)

//go:embed server
var server embed.FS

// Issuer is an issuer that answers.
type Issuer struct {
	URL string
	cmd *exec.Cmd
}

// Start starts an issuer on a free address of this machine, HOST:PORT. It ends with the test. Without Node.js and npm the test is skipped, but fails
// where CI is set.
func Start(t testing.TB, addr string) *Issuer {
	t.Helper()
	if err := npm.Missing(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	files, err := fs.Sub(server, "server")
	if err != nil {
		t.Fatal(err)
	}
	modules, err := npm.Install("oidc-provider", files)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{URL: "http://" + addr, cmd: leash.Command("node", "server.mjs", port)}
	var log strings.Builder
	i.cmd.Dir, i.cmd.Stderr = dir, &log
	out, err := i.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Stop)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			go func() { _, _ = io.Copy(io.Discard, out) }() // it warns
			return i
		}
	}
	i.Stop()
	t.Fatalf("the issuer does not start: %s", log.String())
	return nil
}

// Stop ends the issuer. A second Stop does nothing.
func (i *Issuer) Stop() {
	_ = i.cmd.Process.Kill()
	_ = i.cmd.Wait()
}
