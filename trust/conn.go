package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/taskrt/taskrt/internal/mux"
)

// protocol is the ALPN name of the node port: a client of something else ends in the handshake.
const protocol = "taskrt-node/1"

// maxChain bounds the certificates of a peer: its own, and two for each secret.
const maxChain = 1 + 2*maxSecrets

// conn is a connection of which both ends are proven.
type conn struct {
	*tls.Conn

	keys         *Keys
	peer         mux.Principal
	ours, theirs Pin // of the authorities that vouch for the certificates; zero: certificates of one's own
}

// Principal implements mux.Proven.
func (c *conn) Principal() mux.Principal { return c.peer }

// Close implements net.Conn.
func (c *conn) Close() error {
	c.keys.mu.Lock()
	delete(c.keys.conns, c)
	c.keys.mu.Unlock()
	return c.Conn.Close()
}

// Server implements mux.Guard.
func (k *Keys) Server(ctx context.Context, c net.Conn) (net.Conn, error) {
	r := k.now.Load()
	return k.shake(ctx, r, func(t *tls.Config) *tls.Conn {
		t.Certificates, t.ClientAuth = []tls.Certificate{r.own}, tls.RequireAnyClientCert
		return tls.Server(c, t)
	}, 0)
}

// Client implements mux.Guard. The process that listens on the port must be a node.
func (k *Keys) Client(ctx context.Context, c net.Conn) (net.Conn, error) {
	r := k.now.Load()
	return k.shake(ctx, r, func(t *tls.Config) *tls.Conn {
		// Whatever authorities the server names: it sees the one certificate that there is.
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &r.own, nil }
		return tls.Client(c, t)
	}, mux.Node)
}

// shake does a handshake. must: the role that the peer must have, 0: any.
func (k *Keys) shake(ctx context.Context, r *ring, begin func(*tls.Config) *tls.Conn, must mux.Role) (net.Conn, error) {
	c := &conn{keys: k, ours: r.root}
	c.Conn = begin(&tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocol}, SessionTicketsDisabled: true,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks chain and role: nobody's name or wall clock counts
		VerifyConnection: func(s tls.ConnectionState) (err error) {
			if s.NegotiatedProtocol != protocol {
				return errors.New("the peer speaks another protocol")
			}
			if c.peer, c.theirs, err = r.verify(s.PeerCertificates); err == nil && must != 0 && c.peer.Role != must {
				err = fmt.Errorf("the peer is a %s", c.peer.Role)
			}
			return err
		},
	})
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now.Load(); now != r && !now.holds(c) { // dropped during the handshake
		_ = c.NetConn().Close()
		return nil, errors.New("the secret of the connection was dropped")
	}
	k.conns[c] = struct{}{}
	return c, nil
}

// verify returns whom a chain names, and the authority that vouches for it.
func (r *ring) verify(chain []*x509.Certificate) (p mux.Principal, by Pin, err error) {
	if r.roots == nil {
		return proven(chain, r.pins)
	}
	if p, err = named(chain); err != nil {
		return p, by, err
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err = chain[0].Verify(x509.VerifyOptions{Roots: r.roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return p, by, err
}

// named returns whom a chain names.
func named(chain []*x509.Certificate) (p mux.Principal, err error) {
	if len(chain) == 0 || len(chain) > maxChain {
		return p, fmt.Errorf("the peer sent %d certificates", len(chain))
	}
	return peerOf(chain[0])
}

// proven returns whom a chain names, if an authority of that role vouches for it, and the pin of the authority.
func proven(chain []*x509.Certificate, pins map[Pin]mux.Role) (mux.Principal, Pin, error) {
	p, err := named(chain)
	if err != nil {
		return p, Pin{}, err
	}
	for _, c := range chain[1:] {
		if !c.IsCA || chain[0].CheckSignatureFrom(c) != nil {
			continue
		}
		switch role, pin := vouched(c, chain[1:], pins); role {
		case p.Role:
			return p, pin, nil
		case 0:
		default:
			return p, Pin{}, fmt.Errorf("an authority of %ss signed a certificate of %s %s", role, p.Role, p.ID)
		}
	}
	return p, Pin{}, errors.New("the peer's certificate is by another authority: it has another cluster secret")
}

// vouched returns the role that an authority gives, 0 for none, and the pin that says so: its key is pinned, or a pinned authority of the
// chain has signed the key.
func vouched(a *x509.Certificate, chain []*x509.Certificate, pins map[Pin]mux.Role) (mux.Role, Pin) {
	if role := pins[pinOf(a)]; role != 0 {
		return role, pinOf(a)
	}
	for _, c := range chain {
		role := pins[pinOf(c)]
		if role == 0 || !c.IsCA {
			continue
		}
		for _, x := range chain { // the cross-certificate of a
			if pinOf(x) == pinOf(a) && x.CheckSignatureFrom(c) == nil {
				return role, pinOf(c)
			}
		}
	}
	return 0, Pin{}
}
