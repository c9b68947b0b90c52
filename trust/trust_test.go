package trust

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/taskrt/taskrt/internal/mux"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file writes lines to a file that only its owner may read.
func file(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	write(t, name, lines...)
	return name
}

func write(t *testing.T, name string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, role mux.Role, id, secret string) *Keys {
	t.Helper()
	k, err := Open(Config{Role: role, ID: id, Secret: secret, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// meet connects a client to a server over TCP. The errors are those of the two ends; a client that the server refuses learns it when it reads.
func meet(t *testing.T, server, client *Keys) (s, c net.Conn, errS, errC error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err := ln.Accept()
		if err != nil {
			errS = err
			return
		}
		if s, errS = server.Server(t.Context(), raw); errS != nil {
			raw.Close()
		}
	}()
	raw, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if c, errC = client.Client(t.Context(), raw); errC != nil {
		raw.Close()
	}
	<-done
	for _, x := range []net.Conn{s, c} {
		if x != nil {
			t.Cleanup(func() { x.Close() })
		}
	}
	return s, c, errS, errC
}

func known(t *testing.T, server, client *Keys, want mux.Principal) {
	t.Helper()
	s, c, errS, errC := meet(t, server, client)
	if errS != nil || errC != nil {
		t.Fatalf("%v, %v", errS, errC)
	}
	if p, ok := mux.PrincipalOf(s); !ok || p != want {
		t.Errorf("the server sees %v, want %v", p, want)
	}
	if p, ok := mux.PrincipalOf(c); !ok || p.Role != mux.Node {
		t.Errorf("the client sees %v", p)
	}
	if v := s.(*conn).ConnectionState().Version; v != tls.VersionTLS13 {
		t.Errorf("TLS version %x", v)
	}
}

func refused(t *testing.T, server, client *Keys, why string) {
	t.Helper()
	_, _, errS, errC := meet(t, server, client)
	if errS == nil && errC == nil || !strings.Contains(fmt.Sprint(errS, errC), why) {
		t.Errorf("server %v, client %v: want one of them to say %q", errS, errC, why)
	}
}

// TestOneSecret: nodes and workers that hold one secret know each other by role and ID; a worker is no server, and other secrets are
// strangers (SPEC A1, A2).
func TestOneSecret(t *testing.T) {
	s := Draw()
	secret, other := file(t, s.Text()), file(t, Draw().Text())
	worker := file(t, "# for the machine in the shed", "", s.Worker([]Secret{s}).Text())
	n1, n2 := keys(t, mux.Node, "n1", secret), keys(t, mux.Node, "n2", secret)
	known(t, n1, n2, mux.Principal{Role: mux.Node, ID: "n2"})
	known(t, n1, keys(t, mux.Worker, "w1", worker), mux.Principal{Role: mux.Worker, ID: "w1"})
	known(t, n1, keys(t, mux.Worker, "w2", secret), mux.Principal{Role: mux.Worker, ID: "w2"})
	refused(t, n1, keys(t, mux.Node, "n3", other), "another cluster secret")
	refused(t, keys(t, mux.Worker, "w1", secret), n1, "the peer is a worker")
	refused(t, keys(t, mux.Node, "n3", other), keys(t, mux.Worker, "w1", worker), "another cluster secret")
}

// TestRolesAreTheAuthoritys: a worker secret cannot make a certificate that passes for a node's.
func TestRolesAreTheAuthoritys(t *testing.T) {
	s := Draw()
	n1 := keys(t, mux.Node, "n1", file(t, s.Text()))
	liar := keys(t, mux.Worker, "w1", file(t, s.Worker([]Secret{s}).Text()))
	r := *liar.now.Load()
	a := s.authority(workerLabel)
	r.own = a.issue(mux.Principal{Role: mux.Node, ID: "n2"}, nil)
	liar.now.Store(&r)
	refused(t, n1, liar, "an authority of workers signed a certificate of node n2")
	// Nor by an authority of its own that the worker authority vouches for.
	own := Draw().authority(nodeLabel)
	r.own = own.issue(mux.Principal{Role: mux.Node, ID: "n2"}, []authority{a})
	liar.now.Store(&r)
	refused(t, n1, liar, "an authority of workers signed a certificate of node n2")
}

// TestCertificatesSignNothing: who has the certificate of a node, and its key, cannot make certificates of other nodes.
func TestCertificatesSignNothing(t *testing.T) {
	s := Draw()
	secret := file(t, s.Text())
	n1, thief := keys(t, mux.Node, "n1", secret), keys(t, mux.Node, "n2", secret)
	r := *thief.now.Load()
	stolen := authority{key: r.own.PrivateKey.(crypto.Signer), cert: r.own.Leaf, pin: pinOf(r.own.Leaf)}
	chain := r.own.Certificate[1:]
	r.own = stolen.issue(mux.Principal{Role: mux.Node, ID: "n3"}, nil)
	r.own.Certificate = append(r.own.Certificate, chain...)
	thief.now.Store(&r)
	refused(t, n1, thief, "another cluster secret")
}

// TestNoWallClock: what is made of the secret is good whatever the clock says, a certificate that has ended and one that has not begun
// included (SPEC A2). Only clients that trust a certificate by its name look at the time (SPEC A3).
func TestNoWallClock(t *testing.T) {
	s := Draw()
	secret := file(t, s.Text())
	n1, n2 := keys(t, mux.Node, "n1", secret), keys(t, mux.Node, "n2", secret)
	for _, at := range []time.Time{time.Now().AddDate(-10, 0, 0), time.Now().AddDate(10, 0, 0)} {
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf := leafOf(mux.Principal{Role: mux.Node, ID: "n2"})
		leaf.NotBefore, leaf.NotAfter = at, at.AddDate(1, 0, 0)
		r := *n2.now.Load()
		r.own = s.authority(nodeLabel).chain(leaf, key, nil)
		n2.now.Store(&r)
		known(t, n1, n2, mux.Principal{Role: mux.Node, ID: "n2"})
		known(t, n2, n1, mux.Principal{Role: mux.Node, ID: "n1"})

		c, err := n1.now.Load().issueAPI("n1", []string{"127.0.0.1"}, at)
		if err != nil {
			t.Fatal(err)
		}
		url := "https://" + site(t, serverTLS(func() (*tls.Certificate, error) { return &c, nil }))
		if err := ask(t, url, trusts(t, s.APIPin())); err != nil {
			t.Errorf("a clock of %d shuts a client with a pin out: %v", at.Year(), err)
		}
		if err := ask(t, url, trusts(t, string(s.APICertificate()))); err == nil || !strings.Contains(err.Error(), "expired or is not yet valid") {
			t.Errorf("a clock of %d: %v", at.Year(), err)
		}
	}
}

// TestRotation: with three edits of the file a secret is replaced, and nobody who holds either of them is shut out meanwhile. What was
// made with a dropped secret ends.
func TestRotation(t *testing.T) {
	former, next := Draw(), Draw()
	files := [2]string{file(t, former.Text()), file(t, former.Text())}
	n1, n2 := keys(t, mux.Node, "n1", files[0]), keys(t, mux.Node, "n2", files[1])
	w := keys(t, mux.Worker, "w1", file(t, former.Worker([]Secret{former}).Text())) // never told of the next one
	check := func(what string) {
		t.Helper()
		t.Log(what)
		known(t, n1, n2, mux.Principal{Role: mux.Node, ID: "n2"})
		known(t, n2, n1, mux.Principal{Role: mux.Node, ID: "n1"})
		known(t, n1, w, mux.Principal{Role: mux.Worker, ID: "w1"})
	}
	edit := func(i int, k *Keys, all ...Secret) {
		t.Helper()
		var lines []string
		for _, s := range all {
			lines = append(lines, s.Text())
		}
		write(t, files[i], lines...)
		if changed, err := k.files.load(k.use); err != nil || !changed {
			t.Fatalf("reload: %v, %v", changed, err)
		}
	}
	check("one")
	first, far, _, _ := meet(t, n1, w)
	edit(0, n1, former, next)
	check("n1 has appended it")
	edit(1, n2, former, next)
	check("both have")
	edit(0, n1, next, former)
	check("n1 issues by it")
	edit(1, n2, next, former)
	check("both do")
	open(t, first, far)
	second, _, _, _ := meet(t, n1, n2)
	edit(1, n2, next)
	known(t, n1, n2, mux.Principal{Role: mux.Node, ID: "n2"})
	edit(0, n1, next)
	known(t, n1, n2, mux.Principal{Role: mux.Node, ID: "n2"})
	refused(t, n1, w, "another cluster secret")
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("a connection of a worker with a dropped secret lives on")
	}
	if err := second.SetDeadline(time.Now().Add(time.Second)); err != nil {
		t.Errorf("a connection by the secret that stays has ended: %v", err)
	}
	// A worker secret of both is good before and after.
	both := file(t, next.Worker([]Secret{next, former}).Text())
	known(t, n1, keys(t, mux.Worker, "w2", both), mux.Principal{Role: mux.Worker, ID: "w2"})
}

// open checks that both ends of a connection still speak.
func open(t *testing.T, a, b net.Conn) {
	t.Helper()
	go func() { _, _ = a.Write([]byte("x")) }()
	_ = b.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(b, make([]byte, 1)); err != nil {
		t.Errorf("the connection has ended: %v", err)
	}
	_ = b.SetReadDeadline(time.Time{})
}

// TestBadFileChangesNothing: what was read before stays in force while a file is wrong or gone.
func TestBadFileChangesNothing(t *testing.T) {
	s := Draw()
	name := file(t, s.Text())
	n1, n2 := keys(t, mux.Node, "n1", name), keys(t, mux.Node, "n2", file(t, s.Text()))
	write(t, name, s.Text()[:20])
	if _, err := n1.files.load(n1.use); err == nil {
		t.Error("half a secret is read")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := n1.files.load(n1.use); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	known(t, n1, n2, mux.Principal{Role: mux.Node, ID: "n2"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n1.Watch(ctx)
}

// TestSecretTexts: nothing but the text of a secret is read as one, and a secret does not print itself.
func TestSecretTexts(t *testing.T) {
	s := Draw()
	w := s.Worker([]Secret{s, Draw()})
	if shown := fmt.Sprint(s, w); shown != "trs_… trw_…" {
		t.Errorf("secrets print themselves: %s", shown)
	}
	if again, err := ParseSecret(s.Text()); err != nil || again != s {
		t.Errorf("%v", err)
	}
	if again, err := ParseWorkerSecret(w.Text()); err != nil || again.Text() != w.Text() {
		t.Errorf("%v", err)
	}
	if _, err := Open(Config{Role: mux.Node, ID: "n1", Secret: file(t, w.Text())}); err == nil || !strings.Contains(err.Error(), "nodes need the cluster secret") {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"", "trs_", s.Text()[1:], s.Text() + "A", s.Text()[:47], strings.ToUpper(s.Text()), s.Text()[:10] + "A" + s.Text()[11:], w.Text()} {
		if got, err := ParseSecret(bad); err == nil && got != s {
			t.Errorf("%q is a secret", bad)
		} else if err == nil && bad != s.Text() {
			t.Errorf("%q is taken for the secret", bad)
		}
	}
}

// TestFilesOfOthers: a secret that others can read is refused with the command that mends it.
func TestFilesOfOthers(t *testing.T) {
	name := file(t, Draw().Text())
	for mode, want := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o644: false, 0o604: false, 0o660: false, 0o620: false, 0o640: os.Getuid() == 0} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadSecrets(name)
		if want != (err == nil) {
			t.Errorf("%04o: %v", mode, err)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod 600 "+name) {
			t.Errorf("%04o: %v", mode, err)
		}
	}
}
