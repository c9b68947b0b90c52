package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// house is an authority as an operator has one.
type house struct {
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dir: t.TempDir()}
	var err error
	if h.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	h.cert = h.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)}, h.key)
	h.pem(t, "ca.pem", "CERTIFICATE", h.cert.Raw)
	return h
}

func (h *house) sign(t *testing.T, c *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	c.SerialNumber, c.Subject = big.NewInt(1), pkix.Name{CommonName: "house"}
	parent := h.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, h.key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func (h *house) pem(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// config makes the files of a process whose certificate names uri and is good until end.
func (h *house) config(t *testing.T, p mux.Principal, uri string, end time.Time) Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	cert := h.sign(t, &x509.Certificate{URIs: []*url.URL{u}, NotAfter: end, KeyUsage: x509.KeyUsageDigitalSignature}, key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(p.ID, "/", "-")
	h.pem(t, name+".pem", "CERTIFICATE", cert.Raw)
	h.pem(t, name+".key", "PRIVATE KEY", der)
	file := func(name string) string { return filepath.Join(h.dir, name) }
	return Config{Role: p.Role, ID: p.ID, Cert: file(name + ".pem"), Key: file(name + ".key"), CA: file("ca.pem"), Logger: slog.New(slog.DiscardHandler)}
}

// TestOwnCertificates: certificates of one's own take the place of the secret. They bind an ID to a key, and they expire (SPEC A2).
func TestOwnCertificates(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	open := func(h *house, role mux.Role, id string, end time.Time) *Keys {
		t.Helper()
		k, err := Open(h.config(t, mux.Principal{Role: role, ID: id}, "taskrt://"+role.String()+"/"+id, end))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	n1 := open(h, mux.Node, "n1", later)
	if got := n1.Ends(); !got.Equal(later.Truncate(time.Second)) {
		t.Errorf("the certificate ends %v, want %v", got, later)
	}
	if got := keys(t, mux.Node, "n1", file(t, Draw().Text())).Ends(); !got.IsZero() {
		t.Errorf("a certificate that follows from the secret ends %v", got)
	}
	known(t, n1, open(h, mux.Node, "n2", later), mux.Principal{Role: mux.Node, ID: "n2"})
	known(t, n1, open(h, mux.Worker, "w1", later), mux.Principal{Role: mux.Worker, ID: "w1"})
	refused(t, n1, open(h, mux.Node, "n3", past), "expired")
	refused(t, n1, open(other, mux.Node, "n4", later), "unknown authority")
	refused(t, n1, keys(t, mux.Node, "n5", file(t, Draw().Text())), "another authority")
	for uri, want := range map[string]string{
		"taskrt://node/n7": "--node-cert is of node n7, this is node n6", "https://node/n6": "names no peer", "taskrt://admin/n6": "names", "taskrt://node/": "names",
	} {
		if _, err := Open(h.config(t, mux.Principal{Role: mux.Node, ID: "n6"}, uri, later)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if n1.API("localhost") != nil || n1.APIClient() != nil {
		t.Error("certificates of one's own are for the port of nodes alone")
	}
	// A certificate that was renewed is read again.
	was := n1.now.Load().own.Leaf
	h.config(t, mux.Principal{Role: mux.Node, ID: "n1"}, "taskrt://node/n1", later)
	if changed, err := n1.files.load(n1.use); err != nil || !changed || n1.now.Load().own.Leaf.Equal(was) {
		t.Errorf("%v, %v", changed, err)
	}
}

// TestOwnCertificatesBesideTheSecret: on the node port certificates of one's own win; the secret vouches for the API and gives the tokens,
// the former one as long as it is there (SPEC A2, A4).
func TestOwnCertificatesBesideTheSecret(t *testing.T) {
	h, former, next := newHouse(t), Draw(), Draw()
	secret := file(t, former.Text())
	open := func(role mux.Role, id string) *Keys {
		t.Helper()
		config := h.config(t, mux.Principal{Role: role, ID: id}, "taskrt://"+role.String()+"/"+id, time.Now().Add(time.Hour))
		config.Secret = secret
		k, err := Open(config)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	n1, w1 := open(mux.Node, "n1"), open(mux.Worker, "w1")
	known(t, n1, w1, mux.Principal{Role: mux.Worker, ID: "w1"})
	refused(t, n1, keys(t, mux.Node, "n2", secret), "another authority")
	at := "https://" + site(t, n1.API("127.0.0.1"))
	if err := ask(t, at, trusts(t, former.APIPin())); err != nil {
		t.Error(err)
	}
	if err := ask(t, at, w1.APIClient()); err != nil {
		t.Error(err)
	}
	write(t, secret, next.Text(), former.Text())
	if _, err := n1.files.load(n1.use); err != nil {
		t.Fatal(err)
	}
	if got := n1.RootTokens(); !slices.Equal(got, []Token{next.RootToken(), former.RootToken()}) {
		t.Errorf("root tokens: %v", got)
	}
	if got := n1.WorkerTokens(); !slices.Equal(got, []Token{next.Worker(nil).Token(), former.Worker(nil).Token()}) {
		t.Errorf("workers' tokens: %v", got)
	}
	if got := keys(t, mux.Worker, "w2", file(t, former.Worker([]Secret{former}).Text())); !slices.Equal(got.WorkerTokens(), w1.WorkerTokens()) || len(got.RootTokens()) > 0 {
		t.Error("a worker secret gives other tokens than the cluster secret")
	}
	write(t, secret, "trs_nonsense")
	if _, err := n1.files.load(n1.use); err == nil || len(n1.RootTokens()) != 2 {
		t.Errorf("%v", err)
	}
}
