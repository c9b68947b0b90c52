package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// The API's certificates are made anew in memory long before they end: browsers look at the wall clock, and some take none that is good
// for more than 825 days.
const (
	apiValid   = 397 * 24 * time.Hour
	apiRenewed = 30 * 24 * time.Hour
	apiBefore  = 48 * time.Hour // clocks of clients may be behind
)

// API returns the TLS of the port for clients, with certificates for these hosts: names and addresses that clients dial. It follows the
// secret. Keys that come from no cluster secret return nil.
func (k *Keys) API(hosts ...string) *tls.Config {
	if k.now.Load().api == nil {
		return nil
	}
	var mu sync.Mutex
	var made *tls.Certificate
	var by *ring
	var at time.Time
	return serverTLS(func() (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		r, now := k.now.Load(), time.Now()
		if made == nil || by != r || now.Sub(at).Abs() > apiRenewed {
			c, err := r.issueAPI(k.cfg.ID, hosts, now)
			if err != nil {
				return nil, err
			}
			made, by, at = &c, r, now
		}
		return made, nil
	})
}

func (r *ring) issueAPI(id string, hosts []string, now time.Time) (c tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	leaf := leafOf(mux.Principal{Role: mux.API, ID: id})
	leaf.NotBefore, leaf.NotAfter = now.Add(-apiBefore), now.Add(apiValid)
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else if h != "" {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	return r.api[0].chain(leaf, key, r.api[1:]), nil
}

// serverTLS is the TLS of a port for clients.
func serverTLS(certificate func() (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
	}
}

// APIPin is how clients name the authority of a cluster's ports for clients: sha256: and the digest of its public key, in hex.
func (s Secret) APIPin() string { return showPins([]Pin{s.api().pin}) }

// APICertificate is the certificate of that authority, PEM, for programs that take no pin.
func (s Secret) APICertificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.api().cert.Raw})
}

const pinPrefix = "sha256:"

// Client returns the TLS of a client that trusts ca: pins as APIPin gives them, separated by commas, of which one must vouch for the server;
// or the text of certificates, PEM, whose names and times are checked as usual.
func Client(ca string) (*tls.Config, error) { return LearningClient(ca, nil) }

// LearningClient is Client for who keeps ca: learned, if it is not nil, is told each time that there is another ca to keep, from any
// goroutine. A cluster whose secret is being replaced is trusted by the former secret, and shows the authority of the new one, which is
// kept as the first pin. When the servers vouch for the former authority no more, its pin is left out (SPEC A2).
func LearningClient(ca string, learned func(ca string)) (*tls.Config, error) {
	if strings.Contains(ca, "-----BEGIN") {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("no certificate is in it")
		}
		return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots}, nil
	}
	pins, order := map[Pin]mux.Role{}, []Pin(nil)
	for one := range strings.SplitSeq(ca, ",") {
		digest, ok := strings.CutPrefix(strings.TrimSpace(one), pinPrefix)
		b, err := hex.DecodeString(digest)
		if !ok || err != nil || len(b) != len(Pin{}) {
			return nil, fmt.Errorf("%q is neither %sHEX nor a certificate", clip(one), pinPrefix)
		}
		pins[Pin(b)], order = mux.API, append(order, Pin(b))
	}
	config := pinned(func() map[Pin]mux.Role { return pins })
	if verify := config.VerifyConnection; learned != nil {
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if err := verify(s); err != nil {
				return err
			}
			if next := nextPins(s.PeerCertificates, order); !slices.Equal(next, order) {
				learned(showPins(next))
			}
			return nil
		}
	}
	return config, nil
}

// nextPins is what a client keeps that trusts the pins, the newest one first, and has met a server with this chain, of which one pin vouches for the
// whole. Only the newest authority takes away a pin, because a thief of a former secret must not be able to.
func nextPins(chain []*x509.Certificate, pins []Pin) []Pin {
	shown := map[Pin]bool{}
	var by Pin
	for _, c := range slices.Backward(chain[1:]) {
		shown[pinOf(c)] = true
		if c.IsCA && chain[0].CheckSignatureFrom(c) == nil {
			by = pinOf(c)
		}
	}
	switch slices.Index(pins, by) {
	case -1:
		next := append([]Pin{by}, pins...)
		return next[:min(len(next), maxSecrets)]
	case 0:
		return slices.DeleteFunc(slices.Clone(pins), func(p Pin) bool { return !shown[p] })
	}
	return pins
}

func showPins(pins []Pin) string {
	var texts []string
	for _, p := range pins {
		texts = append(texts, pinPrefix+hex.EncodeToString(p[:]))
	}
	return strings.Join(texts, ",")
}

// APIClient returns the TLS of a client of the API that holds the secret, or a worker's. Certificates of one's own alone say nothing of the
// API: nil, the system's authorities.
func (k *Keys) APIClient() *tls.Config {
	if k.now.Load().pins == nil {
		return nil
	}
	return pinned(func() map[Pin]mux.Role { return k.now.Load().pins })
}

func pinned(pins func() map[Pin]mux.Role) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection asks for the cluster's authority, whatever the address is called
		VerifyConnection: func(s tls.ConnectionState) error {
			p, _, err := proven(s.PeerCertificates, pins())
			switch {
			case err != nil:
				return fmt.Errorf("the server is of another cluster than --ca says: %w", err)
			case p.Role != mux.API:
				return fmt.Errorf("the server is a %s", p.Role)
			}
			return nil
		},
	}
}

// Pair is a certificate of one's own for the port for clients.
type Pair struct {
	files sources
	now   atomic.Pointer[tls.Certificate]
}

// OpenPair reads a certificate with its chain, and its key, PEM.
func OpenPair(cert, key string) (*Pair, error) {
	p := &Pair{files: sources{files: []source{{cert, false}, {key, true}}}}
	_, err := p.files.load(p.use)
	return p, err
}

func (p *Pair) use(texts [][]byte) error {
	c, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return fmt.Errorf("%s and %s: %w", p.files.files[0].name, p.files.files[1].name, err)
	}
	p.now.Store(&c)
	return nil
}

// Ends returns when the first certificate of the chain ends.
func (p *Pair) Ends() time.Time { return ends(*p.now.Load()) }

// ends returns when the first certificate of a chain ends; zero: it cannot be read.
func ends(c tls.Certificate) (first time.Time) {
	for _, der := range c.Certificate {
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			return time.Time{}
		}
		if first.IsZero() || parsed.NotAfter.Before(first) {
			first = parsed.NotAfter
		}
	}
	return first
}

// TLS returns the TLS of the port.
func (p *Pair) TLS() *tls.Config {
	return serverTLS(func() (*tls.Certificate, error) { return p.now.Load(), nil })
}

// Watch reads the files again when they have changed, until ctx ends.
func (p *Pair) Watch(ctx context.Context, log *slog.Logger) { p.files.watch(ctx, log, p.use) }
