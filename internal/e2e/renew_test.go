package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestOwnCertificatesAreRenewed: certificates of one's own, of the port for clients and of the node port, are replaced under load as careless
// operators do it: key before certificate, half-written, and those of somebody else. What makes no pair is logged, and the former pair is
// shown until there is one. No request fails, no task is lost, nobody else comes to lead (SPEC A2, A3).
func TestOwnCertificatesAreRenewed(t *testing.T) {
	t.Parallel()
	secret, _ := drawSecret(t) // for tokens
	h := newHouse(t)
	ids := []string{"n1", "n2", "n3"}
	api := func() *x509.Certificate {
		return &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature}
	}
	for _, id := range ids {
		h.write(id, h.peer("taskrt://node/"+id))
		h.write("api-"+id, api())
	}
	c := newCluster(t, "--cluster-secret", secret, "--tls-cert", h.file("api-{id}.pem"), "--tls-key", h.file("api-{id}.key"),
		"--node-cert", h.file("{id}.pem"), "--node-key", h.file("{id}.key"), "--node-ca", h.file("ca.pem"))
	c.push("wordcount")
	load := startLoad(t, c)
	load.progress()
	check := c.undisturbed()
	ports := map[string]string{} // name of a pair → the port that shows it
	for _, p := range c.nodes {
		ports["api-"+p.id], ports[p.id] = p.http, flagOf(p, "--raft")
	}
	// after waits until a node says something new, and demands that its port shows the certificate of that number.
	after := func(p *process, name, says string, write func(), serial int64) {
		t.Helper()
		had := p.says(says)
		write()
		c.eventually(p.id+" says: "+says, func() bool { return p.says(says) > had })
		if got := serialOf(t, ports[name]); got != serial {
			t.Errorf("%s: after %q the port shows certificate %d, not %d", name, says, got, serial)
		}
		load.progress()
	}
	const kept, taken = "the keys stay what they were", "read the keys again"
	for i, p := range c.nodes {
		other := ids[(i+1)%3]
		for name, template := range map[string]func() *x509.Certificate{
			"api-" + p.id: api, p.id: func() *x509.Certificate { return h.peer("taskrt://node/" + p.id) },
		} {
			now := serialOf(t, ports[name])
			cert, key := h.issue(template())
			next := h.serial
			after(p, name, kept, func() { writeSecret(t, h.file(name+".key"), key) }, now)
			after(p, name, taken, func() { writeSecret(t, h.file(name+".pem"), cert) }, next)

			cert, key = h.issue(template())
			now, next = next, h.serial
			after(p, name, kept, func() { writeSecret(t, h.file(name+".pem"), cert[:len(cert)/2]) }, now)
			after(p, name, taken, func() {
				writeSecret(t, h.file(name+".pem"), cert)
				writeSecret(t, h.file(name+".key"), key)
			}, next)

			if name == p.id { // of another node
				wrong, _ := h.issue(h.peer("taskrt://node/" + other))
				after(p, name, kept, func() { writeSecret(t, h.file(name+".pem"), wrong) }, next)
				writeSecret(t, h.file(name+".pem"), cert)
			}
		}
	}
	if _, text := c.do(t.Context(), 0, http.MethodGet, "/metrics", nil); strings.Count(string(text), "\ntaskrt_certificate_expiry_timestamp_seconds{port=") != 2 {
		t.Error("the metrics do not say when both certificates end")
	}
	load.stop()
	check()
	load.allDone()
}

// flagOf is the value of a flag of a process.
func flagOf(p *process, flag string) string {
	for i, arg := range p.args {
		if arg == flag {
			return p.args[i+1]
		}
	}
	return ""
}

// serialOf is the number of the certificate that a port shows. A port that asks for one of the client's is not given any.
func serialOf(t *testing.T, addr string) (serial int64) {
	t.Helper()
	config := &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // it only looks
		VerifyConnection: func(s tls.ConnectionState) error {
			serial = s.PeerCertificates[0].SerialNumber.Int64()
			return nil
		},
	}
	conn, err := tls.Dial("tcp", addr, config)
	if err != nil {
		t.Fatalf("%s: %v", addr, err)
	}
	conn.Close()
	return serial
}
