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

// ownCertificates writes ca.pem, and for each ID its certificate and key, ID.pem and ID.key, as an operator would who has an authority.
func ownCertificates(t *testing.T, uris map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var ca *x509.Certificate
	var caKey *ecdsa.PrivateKey
	sign := func(name string, c *x509.Certificate) {
		t.Helper()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c.SerialNumber, c.Subject, c.NotAfter = big.NewInt(1), pkix.Name{CommonName: "house"}, time.Now().Add(time.Hour)
		if ca == nil {
			ca, caKey = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, ca, &key.PublicKey, caKey)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		writeSecret(t, filepath.Join(dir, name+".pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
		writeSecret(t, filepath.Join(dir, name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	}
	sign("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	for id, uri := range uris {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		sign(id, &x509.Certificate{URIs: []*url.URL{u}, KeyUsage: x509.KeyUsageDigitalSignature})
	}
	return dir
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
