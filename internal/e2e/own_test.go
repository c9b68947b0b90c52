package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// house is an authority of an operator's own, whose certificates lie in a directory: ca.pem, and NAME.pem and NAME.key for each name.
type house struct {
	t      *testing.T
	dir    string
	ca     *x509.Certificate
	caKey  *ecdsa.PrivateKey
	serial int64
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir()}
	h.write("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return h
}

// issue makes a certificate and its key, PEM. The first one is the authority's own.
func (h *house) issue(c *x509.Certificate) (cert, key string) {
	h.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	h.serial++
	c.SerialNumber, c.Subject, c.NotAfter = big.NewInt(h.serial), pkix.Name{CommonName: "house"}, time.Now().Add(time.Hour)
	if h.ca == nil {
		h.ca, h.caKey = c, private
	}
	der, err := x509.CreateCertificate(rand.Reader, c, h.ca, &private.PublicKey, h.caKey)
	if err != nil {
		h.t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// file is NAME with an ending.
func (h *house) file(name string) string { return filepath.Join(h.dir, name) }

func (h *house) write(name string, c *x509.Certificate) {
	h.t.Helper()
	cert, key := h.issue(c)
	writeSecret(h.t, h.file(name+".pem"), cert)
	writeSecret(h.t, h.file(name+".key"), key)
}

// peer is what a certificate says of a node or worker.
func (h *house) peer(uri string) *x509.Certificate {
	h.t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		h.t.Fatal(err)
	}
	return &x509.Certificate{URIs: []*url.URL{u}, KeyUsage: x509.KeyUsageDigitalSignature}
}

// ownCertificates writes ca.pem, and for each ID its certificate and key, ID.pem and ID.key, as an operator would who has an authority.
func ownCertificates(t *testing.T, uris map[string]string) (dir string) {
	t.Helper()
	h := newHouse(t)
	for id, uri := range uris {
		h.write(id, h.peer(uri))
	}
	return h.dir
}

// TestWorkerWithoutSecret: beside certificates of one's own a secret vouches for the port for clients. A worker that has such a certificate and no
// secret needs a token to find the nodes, and whom to trust there (SPEC A2, A4).
func TestWorkerWithoutSecret(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t)
	dir := ownCertificates(t, map[string]string{
		"n1": "taskrt://node/n1", "n2": "taskrt://node/n2", "n3": "taskrt://node/n3", "w1": "taskrt://worker/w1", "w2": "taskrt://worker/w2",
	})
	own := func(id string) []string {
		return []string{"--node-cert", filepath.Join(dir, id+".pem"), "--node-key", filepath.Join(dir, id+".key"), "--node-ca", filepath.Join(dir, "ca.pem")}
	}
	c := newCluster(t, append(own("{id}"), "--cluster-secret", secret, "--worker", "none")...)
	token := filepath.Join(t.TempDir(), "worker.token")
	writeSecret(t, token, c.draw("workers", "*", "read"))
	c.addWorker("w1", 4, append(own("w1"), "--ca", c.ca, "--token-file", token)...)
	c.push("echo")
	if got := c.taskrt(binary, "submit", "echo", "--params", "1", "--wait"); strings.TrimSpace(got) != "1" {
		t.Errorf("a task of the worker: %q", got)
	}

	w2 := &process{t: t, id: "w2", dir: t.TempDir()}
	w2.args = append([]string{"worker", "--id", "w2", "--dir", filepath.Join(w2.dir, "data"), "--server", strings.Join(c.urls(), ","), "--ca", c.ca}, own("w2")...)
	w2.start()
	c.eventually("a worker without a token hears why", func() bool { return strings.Contains(w2.log(), "unauthenticated") })
	if c.hasWorker("w2") {
		t.Error("a worker without a token found the nodes")
	}
	w2.kill9()
}
