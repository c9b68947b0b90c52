package trust

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// site serves HTTP with these keys and returns its address.
func site(t *testing.T, config *tls.Config) string {
	t.Helper()
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), ReadHeaderTimeout: time.Minute,
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(tls.NewListener(ln, config)) }()
	t.Cleanup(func() { s.Close(); <-done })
	_, number, _ := net.SplitHostPort(ln.Addr().String())
	return "127.0.0.1:" + number
}

// ask gets a page over a new connection.
func ask(t *testing.T, url string, config *tls.Config) error {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if res.TLS.Version != tls.VersionTLS13 {
		t.Errorf("TLS version %x", res.TLS.Version)
	}
	return nil
}

func trusts(t *testing.T, ca string) *tls.Config {
	t.Helper()
	config, err := Client(ca)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestAPI: clients trust a cluster by its pin, whatever the address is called, or by its certificate with names; holders of the secret need
// neither (SPEC A3).
func TestAPI(t *testing.T) {
	s, other := Draw(), Draw()
	secret := file(t, s.Text())
	n1 := keys(t, mux.Node, "n1", secret)
	at := site(t, n1.API("localhost", "127.0.0.1"))
	worker := keys(t, mux.Worker, "w1", file(t, s.Worker([]Secret{s}).Text()))
	_, number, _ := net.SplitHostPort(at)
	for what, c := range map[string]struct {
		host   string
		config *tls.Config
		want   string
	}{
		"pin":                      {"127.0.0.1", trusts(t, s.APIPin()), ""},
		"one of two pins":          {"127.0.0.1", trusts(t, other.APIPin()+", "+s.APIPin()), ""},
		"pin by another name":      {"127.0.0.2", trusts(t, s.APIPin()), ""},
		"certificate":              {"localhost", trusts(t, string(s.APICertificate())), ""},
		"a node":                   {"127.0.0.1", keys(t, mux.Node, "n2", secret).APIClient(), ""},
		"a worker":                 {"127.0.0.1", worker.APIClient(), ""},
		"another pin":              {"127.0.0.1", trusts(t, other.APIPin()), "of another cluster than --ca says"},
		"certificate, other name":  {"127.0.0.2", trusts(t, string(s.APICertificate())), "certificate is valid for"},
		"another certificate":      {"127.0.0.1", trusts(t, string(other.APICertificate())), "unknown authority"},
		"nothing":                  {"127.0.0.1", nil, "unknown authority"},
		"a node of another secret": {"127.0.0.1", keys(t, mux.Node, "n2", file(t, other.Text())).APIClient(), "another cluster"},
		"TLS 1.2":                  {"127.0.0.1", &tls.Config{MaxVersion: tls.VersionTLS12, InsecureSkipVerify: true}, "version"},
	} {
		if err := ask(t, "https://"+c.host+":"+number, c.config); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Nor is every certificate of the cluster one of the API.
	for _, k := range []*Keys{n1, worker} {
		own := k.now.Load().own
		imposter := "https://" + site(t, serverTLS(func() (*tls.Certificate, error) { return &own, nil }))
		if err := ask(t, imposter, keys(t, mux.Worker, "w2", secret).APIClient()); err == nil || !strings.Contains(err.Error(), "the server is a ") {
			t.Errorf("a %s passes for the API: %v", k.cfg.Role, err)
		}
	}
	// The certificate of the port for clients opens nothing on the port of nodes.
	r := *n1.now.Load()
	var err error
	if r.own, err = r.issueAPI("n1", nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	liar := keys(t, mux.Node, "n1", secret)
	liar.now.Store(&r)
	m := port(t, n1)
	for p := mux.Raft; p <= mux.Accept; p++ {
		if echoes(t, liar, m, p) {
			t.Errorf("the API's certificate may speak protocol %d", p)
		}
	}
}

// replace writes secrets into the file of k, and lets k read them.
func replace(t *testing.T, k *Keys, name string, all ...Secret) {
	t.Helper()
	var lines []string
	for _, s := range all {
		lines = append(lines, s.Text())
	}
	write(t, name, lines...)
	if _, err := k.files.load(k.use); err != nil {
		t.Fatal(err)
	}
}

// TestAPIFollowsTheSecret: while both secrets are in the file, clients with either pin are served; then only those with the new one.
func TestAPIFollowsTheSecret(t *testing.T) {
	former, next := Draw(), Draw()
	name := file(t, former.Text())
	n1 := keys(t, mux.Node, "n1", name)
	at := "https://" + site(t, n1.API("127.0.0.1"))
	reaches := func(what string, s Secret, want bool) {
		t.Helper()
		if err := ask(t, at, trusts(t, s.APIPin())); want != (err == nil) {
			t.Errorf("%s: %v", what, err)
		}
		if err := ask(t, at, trusts(t, string(s.APICertificate()))); want != (err == nil) {
			t.Errorf("%s, by certificate: %v", what, err)
		}
	}
	edit := func(all ...Secret) { t.Helper(); replace(t, n1, name, all...) }
	reaches("alone", former, true)
	reaches("unknown yet", next, false)
	edit(former, next)
	reaches("first", former, true)
	edit(next, former)
	reaches("second, vouched for", former, true)
	reaches("first", next, true)
	edit(next)
	reaches("dropped", former, false)
	reaches("alone", next, true)
}

// TestPair: a certificate of one's own is served, and read again when it was renewed.
func TestPair(t *testing.T) {
	h := newHouse(t)
	c := h.config(t, mux.Principal{Role: mux.Node, ID: "n1"}, "taskrt://node/n1", time.Now().Add(time.Hour))
	p, err := OpenPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	was, renewed := p.now.Load().Leaf, time.Now().Add(2*time.Hour)
	h.config(t, mux.Principal{Role: mux.Node, ID: "n1"}, "taskrt://node/n1", renewed)
	if changed, err := p.files.load(p.use); !p.Ends().Equal(renewed.Truncate(time.Second)) || !changed || err != nil || p.now.Load().Leaf.Equal(was) {
		t.Errorf("%v, %v", changed, err)
	}
	if changed, err := p.files.load(p.use); changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if _, err := OpenPair(c.Cert, filepath.Join(h.dir, "gone")); err == nil {
		t.Error("there is no key")
	}
	h.pem(t, "n1.key", "PRIVATE KEY", []byte("nonsense"))
	if _, err := p.files.load(p.use); err == nil || p.now.Load() == nil {
		t.Errorf("a key that is none changes what is served: %v", err)
	}
}

// TestBadCA: what trusts nothing is refused.
func TestBadCA(t *testing.T) {
	for _, bad := range []string{"", "sha256:", "sha256:abc", "md5:00", Draw().APIPin() + "0", Draw().APIPin() + ",", "-----BEGIN CERTIFICATE-----"} {
		if _, err := Client(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestLearningClient: over a connection that the former pin proves, a client learns the pin of the next secret; later it forgets the former
// one. Whoever has the former secret alone makes no client forget the next one.
func TestLearningClient(t *testing.T) {
	former, next := Draw(), Draw()
	name := file(t, former.Text())
	n1 := keys(t, mux.Node, "n1", name)
	cluster := "https://" + site(t, n1.API("127.0.0.1"))
	thief := "https://" + site(t, keys(t, mux.Node, "n1", file(t, former.Text())).API("127.0.0.1"))
	ca, told := former.APIPin(), 0
	meet := func(what, url string, want ...Secret) {
		t.Helper()
		config, err := LearningClient(ca, func(next string) { ca = next; told++ })
		if err != nil {
			t.Fatal(err)
		}
		if err := ask(t, url, config); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var pins []string
		for _, s := range want {
			pins = append(pins, s.APIPin())
		}
		if ca != strings.Join(pins, ",") {
			t.Errorf("%s: it keeps %s", what, ca)
		}
	}
	edit := func(all ...Secret) { t.Helper(); replace(t, n1, name, all...) }
	meet("one secret", cluster, former)
	edit(former, next)
	meet("appended", cluster, former)
	edit(next, former)
	meet("put first", cluster, next, former)
	meet("put first, again", cluster, next, former)
	meet("a server with the former one alone", thief, next, former)
	edit(next)
	meet("dropped", cluster, next)
	if told != 2 {
		t.Errorf("told %d times", told)
	}
	config, err := LearningClient(ca, func(string) { t.Error("a stranger taught it something") })
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t, thief, config); err == nil {
		t.Error("the former secret is trusted still")
	}
}
