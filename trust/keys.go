package trust

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// Config says where the keys of a process come from: Secret, or Cert, Key and CA, or all of them; they are names of files.
type Config struct {
	ID     string // of the node or worker
	Role   mux.Role
	Secret string // cluster secrets; of a worker either these or worker secrets
	// Certificates of one's own, PEM: of this process, its key, and the authorities of its peers. On the node port they take the place
	// of the secret, which then vouches for the port for clients alone, and gives tokens.
	Cert, Key, CA string
	Logger        *slog.Logger
}

// Keys are what a process proves itself with and knows its peers by. They implement mux.Guard.
type Keys struct {
	cfg   Config
	files sources
	now   atomic.Pointer[ring]

	mu    sync.Mutex
	conns map[*conn]struct{}
}

var _ mux.Guard = (*Keys)(nil)

// ring is what the files said when they were read last.
type ring struct {
	own   tls.Certificate
	root  Pin              // of the authority that signed own; zero: certificates of one's own
	mine  map[Pin]bool     // authorities that may have signed own, now or before
	pins  map[Pin]mux.Role // authorities of peers
	roots *x509.CertPool   // of certificates of one's own; nil: none
	api   []authority      // of the port for clients, of cluster secrets; the first one issues

	rootTokens, workerTokens []Token // of each secret, in the order of the file
	rootHashes, workerHashes [][32]byte
}

// Open reads the files.
func Open(cfg Config) (*Keys, error) {
	k := &Keys{cfg: cfg, conns: map[*conn]struct{}{}}
	if cfg.Secret != "" {
		k.files.files = append(k.files.files, source{cfg.Secret, true})
	}
	if cfg.Cert != "" {
		k.files.files = append(k.files.files, source{cfg.Cert, false}, source{cfg.Key, true}, source{cfg.CA, false})
	}
	if _, err := k.files.load(k.use); err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	return k, nil
}

func (k *Keys) parse(texts [][]byte) (*ring, error) {
	self := mux.Principal{Role: k.cfg.Role, ID: k.cfg.ID}
	var own *ring
	if k.cfg.Cert != "" {
		n := len(texts) - 3
		var err error
		if own, err = ownRing(self, texts[n], texts[n+1], texts[n+2]); err != nil || k.cfg.Secret == "" {
			return own, err
		}
	}
	r, err := k.parseSecrets(self, texts[0])
	if err == nil && own != nil {
		r.own, r.roots, r.root, r.mine = own.own, own.roots, Pin{}, nil
	}
	return r, err
}

func (k *Keys) parseSecrets(self mux.Principal, text []byte) (*ring, error) {
	if self.Role == mux.Worker && bytes.Contains(text, []byte(workerPrefix)) {
		all, err := parseAll(k.cfg.Secret, text, ParseWorkerSecret)
		if err != nil {
			return nil, err
		}
		return workerRing(self, all), nil
	}
	all, err := parseAll(k.cfg.Secret, text, ParseSecret)
	if err != nil {
		return nil, err
	}
	return secretRing(self, all), nil
}

// RootTokens returns the root token of each cluster secret in the file, in the order of the file, as the file is now: a former root token
// holds as long as its secret is there (SPEC A2, A4).
func (k *Keys) RootTokens() []Token { return k.now.Load().rootTokens }

// Ends returns when the certificate of one's own ends. A certificate that follows from the secret never ends: then Ends returns zero.
func (k *Keys) Ends() time.Time {
	r := k.now.Load()
	if r.roots == nil {
		return time.Time{}
	}
	return ends(r.own)
}

// WorkerTokens returns the tokens of those who hold a worker secret, in the order of the file.
func (k *Keys) WorkerTokens() []Token { return k.now.Load().workerTokens }

// TokenHashes returns the hashes of RootTokens and WorkerTokens. Nobody may change them.
func (k *Keys) TokenHashes() (roots, workers [][32]byte) {
	r := k.now.Load()
	return r.rootHashes, r.workerHashes
}

func hashes(all []Token) [][32]byte {
	hs := make([][32]byte, len(all))
	for i, t := range all {
		hs[i] = t.Hash()
	}
	return hs
}

// secretRing is what cluster secrets say: the first one issues, all are trusted.
func secretRing(self mux.Principal, all []Secret) *ring {
	r := &ring{pins: map[Pin]mux.Role{}}
	var mine []authority
	for _, s := range all {
		node, worker, api := s.authority(nodeLabel), s.authority(workerLabel), s.api()
		r.pins[node.pin], r.pins[worker.pin], r.pins[api.pin] = mux.Node, mux.Worker, mux.API
		r.api = append(r.api, api)
		r.rootTokens, r.workerTokens = append(r.rootTokens, s.RootToken()), append(r.workerTokens, s.workerToken())
		if self.Role == mux.Worker {
			node = worker
		}
		mine = append(mine, node)
	}
	r.issue(self, mine)
	return r
}

// workerRing is what worker secrets say. A worker takes only nodes for servers, and is one to nobody.
func workerRing(self mux.Principal, all []WorkerSecret) *ring {
	r := &ring{pins: map[Pin]mux.Role{}}
	var mine []authority
	for _, w := range all {
		for _, p := range w.pins {
			r.pins[p.node], r.pins[p.api] = mux.Node, mux.API
		}
		mine = append(mine, newAuthority(ed25519.NewKeyFromSeed(w.seed[:]), workerLabel))
		r.workerTokens = append(r.workerTokens, w.Token())
	}
	r.issue(self, mine)
	return r
}

// issue makes the ring's certificate by the first of the authorities.
func (r *ring) issue(self mux.Principal, by []authority) {
	r.own, r.root, r.mine = by[0].issue(self, by[1:]), by[0].pin, map[Pin]bool{}
	for _, a := range by {
		r.mine[a.pin] = true
	}
}

// ownRing is what certificates of one's own say.
func ownRing(self mux.Principal, cert, key, ca []byte) (*ring, error) {
	own, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("--node-cert and --node-key: %w", err)
	}
	p, err := peerOf(own.Leaf)
	if err != nil {
		return nil, fmt.Errorf("--node-cert: %w", err)
	}
	if p != self {
		return nil, fmt.Errorf("--node-cert is of %s %s, this is %s %s", p.Role, p.ID, self.Role, self.ID)
	}
	r := &ring{own: own, roots: x509.NewCertPool()}
	if !r.roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("--node-ca holds no certificate")
	}
	return r, nil
}

// Watch reads the files again when they have changed, until ctx ends. What cannot be read is logged once, and changes nothing.
func (k *Keys) Watch(ctx context.Context) { k.files.watch(ctx, k.cfg.Logger, k.use) }

// use takes what the files say, and closes connections that were made with what they say no more.
func (k *Keys) use(texts [][]byte) error {
	r, err := k.parse(texts)
	if err != nil {
		return err
	}
	r.rootHashes, r.workerHashes = hashes(r.rootTokens), hashes(r.workerTokens)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.Store(r)
	for c := range k.conns {
		if !r.holds(c) {
			_ = c.Conn.NetConn().Close() // not c.Close, which takes the lock and says goodbye
		}
	}
	return nil
}

// holds reports whether the secrets with which a connection was made are still there.
func (r *ring) holds(c *conn) bool {
	return r.roots != nil || r.mine[c.ours] && r.pins[c.theirs] != 0
}
