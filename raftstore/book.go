package raftstore

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/task/wire"
)

// peer is what nodes tell each other about themselves.
//
// A node's identity is its ID and an instance: random, drawn with its directory. In raft's configuration the identity
// stands where the library expects an address: addresses may change all at once (SPEC C1) without a log entry, and a
// node that comes back under its ID with an empty directory is another server: it cannot vote, or acknowledge entries,
// on the strength of what its predecessor had promised.
type peer struct {
	ID          string `cbor:"1,keyasint" json:"id"`
	Instance    string `cbor:"2,keyasint" json:"instance"`
	Addr        string `cbor:"3,keyasint" json:"addr"`
	HTTP        string `cbor:"4,keyasint,omitempty" json:"http,omitempty"`
	Incarnation uint64 `cbor:"5,keyasint" json:"incarnation"` // +1 at every start: the later address wins

	Format uint64 `cbor:"6,keyasint,omitempty" json:"format,omitempty"` // wire.Format of its build; 0: of one that told none
	Level  uint64 `cbor:"7,keyasint,omitempty" json:"level,omitempty"`  // the highest feature level that its build knows
	Hold   bool   `cbor:"8,keyasint,omitempty" json:"hold,omitempty"`   // the level is not to be raised (Config.HoldLevel)
}

func (p peer) identity() string { return p.ID + "/" + p.Instance }

// idOf returns the node ID of an identity.
func idOf(identity string) string {
	id, _, _ := strings.Cut(identity, "/")
	return id
}

// nodeFile is node.json.
type nodeFile struct {
	Version  int    `json:"version"`
	Self     peer   `json:"self"`
	Cluster  string `json:"cluster,omitempty"`  // drawn by the founder: tells clusters apart that meet by mistake
	Promised string `json:"promised,omitempty"` // ID of the node that may found a cluster with this one
	Level    uint64 `json:"level,omitempty"`    // feature level of the cluster, as last seen
	Peers    []peer `json:"peers"`
}

// nodeFileVersion is that of directories of wire.Format. Version 1 is of builds with another format.
const nodeFileVersion = 2

// book is the addresses of the members by identity, kept in node.json.
type book struct {
	path string

	mu       sync.Mutex
	self     peer
	cluster  string
	promised string
	level    uint64
	peers    map[string]peer
}

// openBook reads or creates dir/node.json and counts one more start.
func openBook(c *Config) (*book, error) {
	if err := durable.MkdirAll(c.Dir); err != nil {
		return nil, fmt.Errorf("raftstore: %w", err)
	}
	b := &book{path: filepath.Join(c.Dir, "node.json"), peers: map[string]peer{}}
	var f nodeFile
	data, err := os.ReadFile(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var r [8]byte
		_, _ = rand.Read(r[:]) // never fails (crypto/rand)
		f.Self = peer{ID: c.ID, Instance: hex.EncodeToString(r[:])}
	case err != nil:
		return nil, fmt.Errorf("raftstore: %w", err)
	default:
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, fmt.Errorf("raftstore: %s: %w", b.path, err)
		}
		if f.Version == 1 {
			return nil, fmt.Errorf("raftstore: %s was written by a build from before 0.1.0 that kept its log in another format: this one cannot read it, and has changed nothing; %s", c.Dir, moveOver)
		}
		if f.Version != nodeFileVersion {
			return nil, fmt.Errorf("raftstore: %s has version %d, this build reads %d", b.path, f.Version, nodeFileVersion)
		}
		if why := levelError("this build", c.KnownLevel, f.Level); why != "" {
			return nil, fmt.Errorf("raftstore: %s: %s", c.Dir, why)
		}
		if f.Self.ID != c.ID {
			return nil, fmt.Errorf("raftstore: %s belongs to node %q, not %q", c.Dir, f.Self.ID, c.ID)
		}
	}
	b.self, b.cluster, b.promised, b.level = f.Self, f.Cluster, f.Promised, f.Level
	b.self.Format, b.self.Level, b.self.Hold = wire.Format, c.KnownLevel, c.HoldLevel
	b.self.Addr, b.self.HTTP = c.Addr, c.HTTP
	b.self.Incarnation++
	for _, p := range f.Peers {
		b.peers[p.identity()] = p
	}
	b.peers[b.self.identity()] = b.self
	return b, b.save()
}

// save writes node.json durably, under mu (or before the book is shared).
func (b *book) save() error {
	f := nodeFile{Version: nodeFileVersion, Self: b.self, Cluster: b.cluster, Promised: b.promised, Level: b.level}
	for id, p := range b.peers {
		if id != b.self.identity() {
			f.Peers = append(f.Peers, p)
		}
	}
	slices.SortFunc(f.Peers, func(a, b peer) int { return strings.Compare(a.identity(), b.identity()) })
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = durable.WriteFile(b.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("raftstore: write %s: %w", b.path, err)
	}
	return nil
}

// learn takes over what is newer and reports whether anything was.
func (b *book) learn(ps ...peer) (changed bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range ps {
		id := p.identity()
		if id == b.self.identity() {
			continue
		}
		if old, ok := b.peers[id]; ok && old.Incarnation >= p.Incarnation {
			continue
		}
		b.peers[id] = p
		changed = true
	}
	if changed {
		err = b.save()
	}
	return changed, err
}

// retain forgets the peers that keep refuses.
func (b *book) retain(keep func(peer) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.peers)
	for id, p := range b.peers {
		if id != b.self.identity() && !keep(p) {
			delete(b.peers, id)
		}
	}
	if len(b.peers) == n {
		return nil
	}
	return b.save()
}

// promise remembers who may found which cluster with this node; "" releases it. It is not ok when another has the
// promise.
func (b *book) promise(id, cluster string) (ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id != "" && b.promised != "" && b.promised != id {
		return false, nil
	}
	if b.promised == id && b.cluster == cluster {
		return true, nil
	}
	b.promised, b.cluster = id, cluster
	return true, b.save()
}

// release takes a promise back. One of another attempt of the same founder stands: this release may have been on its way
// for long, and the founder may have founded with what it was promised since.
func (b *book) release(id, cluster string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.promised != id || b.cluster != cluster {
		return nil
	}
	b.promised, b.cluster = "", ""
	return b.save()
}

// noteLevel remembers the cluster's feature level.
func (b *book) noteLevel(level uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if level <= b.level {
		return nil
	}
	b.level = level
	return b.save()
}

// clusterID returns which cluster this node belongs to, or is about to.
func (b *book) clusterID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cluster
}

// adopt notes which cluster this node joins.
func (b *book) adopt(cluster string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cluster == cluster {
		return nil
	}
	b.cluster = cluster
	return b.save()
}

func (b *book) promisedTo() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.promised
}

func (b *book) lookup(identity string) (peer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.peers[identity]
	return p, ok
}

// where returns the address of an identity.
func (b *book) where(identity string) (addr string, ok bool) {
	p, ok := b.lookup(identity)
	return p.Addr, ok
}

// all returns everybody known, this node included, by identity.
func (b *book) all() []peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ps []peer
	for _, p := range b.peers {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b peer) int { return strings.Compare(a.identity(), b.identity()) })
	return ps
}

// me returns this node's own entry.
func (b *book) me() peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.self
}
