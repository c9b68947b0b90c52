package trust

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/url"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// Certificates that are made of a secret say that they are good from the one to the other. Nobody looks: what is made of the secret needs
// no wall clock (SPEC A2).
var (
	always  = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	forever = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// authority signs the certificates of one role. Every holder of its secret makes the same one.
type authority struct {
	key  crypto.Signer
	pin  Pin
	cert *x509.Certificate // signed by itself
}

func newAuthority(key crypto.Signer, label string) authority {
	a := authority{key: key}
	a.cert = a.certify(authorityTemplate(label, key.Public()), key.Public())
	a.pin = pinOf(a.cert)
	return a
}

func authorityTemplate(label string, key crypto.PublicKey) *x509.Certificate {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		panic(err) // a key of a kind that nobody makes here
	}
	id := sha256.Sum256(der)
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(id[:16]), Subject: pkix.Name{CommonName: fmt.Sprintf("%s %x", label, id[:4])}, NotBefore: always, NotAfter: forever,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, SubjectKeyId: id[:20],
	}
}

// certify signs a certificate of key.
func (a authority) certify(template *x509.Certificate, key any) *x509.Certificate {
	parent := template
	if a.cert != nil {
		parent = a.cert
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, a.key)
	if err != nil {
		panic(fmt.Sprintf("trust: certify: %v", err)) // a template that cannot be encoded
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(fmt.Sprintf("trust: certify: %v", err))
	}
	return cert
}

// across signs the key of another authority of the same role: a cross-certificate.
func (a authority) across(b authority) *x509.Certificate {
	t := authorityTemplate("", b.key.Public())
	t.Subject = b.cert.Subject
	return a.certify(t, b.key.Public())
}

// issue makes a certificate with a key of its own. The former authorities, which some peers know alone, vouch for this one.
func (a authority) issue(p mux.Principal, former []authority) tls.Certificate {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // never fails (crypto/rand)
	}
	leaf := leafOf(p)
	leaf.ExtKeyUsage = append(leaf.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return a.chain(leaf, key, former)
}

// leafOf is a certificate without a key, good for ever.
func leafOf(p mux.Principal) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never fails
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: p.ID}, NotBefore: always, NotAfter: forever,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
		URIs: []*url.URL{uriOf(p)},
	}
}

// chain signs a certificate, and puts behind it the authorities that vouch for it.
func (a authority) chain(template *x509.Certificate, key crypto.Signer, former []authority) tls.Certificate {
	leaf := a.certify(template, key.Public())
	c := tls.Certificate{Certificate: [][]byte{leaf.Raw, a.cert.Raw}, PrivateKey: key, Leaf: leaf}
	for _, f := range former {
		c.Certificate = append(c.Certificate, f.across(a).Raw, f.cert.Raw)
	}
	return c
}

func pinOf(c *x509.Certificate) Pin { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

// scheme is the scheme of the URIs in certificates: taskrt://node/n1.
const scheme = "taskrt"

func uriOf(p mux.Principal) *url.URL {
	return &url.URL{Scheme: scheme, Host: p.Role.String(), Path: "/" + p.ID}
}

// peerOf reads whom a certificate names.
func peerOf(c *x509.Certificate) (p mux.Principal, err error) {
	for _, u := range c.URIs {
		if u.Scheme != scheme {
			continue
		}
		if p.Role != 0 {
			return p, fmt.Errorf("the certificate names several peers")
		}
		for _, role := range []mux.Role{mux.Node, mux.Worker, mux.API} {
			if u.Host == role.String() {
				p.Role = role
			}
		}
		if p.ID = u.Path; p.Role == 0 || len(p.ID) < 2 || len(p.ID) > maxID {
			return p, fmt.Errorf("the certificate names %q, which is neither %s://node/ID nor %s://worker/ID", clip(u.String()), scheme, scheme)
		}
		p.ID = p.ID[1:]
	}
	if p.Role == 0 {
		return p, fmt.Errorf("the certificate names no peer: it has no URI %s://node/ID", scheme)
	}
	return p, nil
}

// maxID bounds an ID in a certificate, with its slash.
const maxID = 257

func clip(s string) string { return s[:min(len(s), 100)] }
