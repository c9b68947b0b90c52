package members

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
)

// Peer is what nodes tell each other about themselves.
//
// A node's identity is its ID and an instance, which is random and drawn with its directory. In raft's configuration the identity stands where the
// library expects an address. So addresses may change all at once (SPEC C1) without a log entry. And a node that comes back under its ID with an
// empty directory is another server: it cannot vote or acknowledge entries as if it had what its predecessor had promised.
type Peer struct {
	ID          string `cbor:"1,keyasint" json:"id"`
	Instance    string `cbor:"2,keyasint" json:"instance"`
	Addr        string `cbor:"3,keyasint" json:"addr"`
	HTTP        string `cbor:"4,keyasint,omitempty" json:"http,omitempty"`
	Incarnation uint64 `cbor:"5,keyasint" json:"incarnation"` // +1 at every start: the later address wins

	Format uint64 `cbor:"6,keyasint,omitempty" json:"format,omitempty"` // of its build's log; 0: the build told none
	Level  uint64 `cbor:"7,keyasint,omitempty" json:"level,omitempty"`  // the highest feature level that its build knows
	Hold   bool   `cbor:"8,keyasint,omitempty" json:"hold,omitempty"`   // the cluster's level must not be raised

	Start string `cbor:"9,keyasint,omitempty" json:"start,omitempty"` // drawn at every start (SPEC C7)
}

// Identity is what raft takes for the node's address.
func (p Peer) Identity() string { return p.ID + "/" + p.Instance }

// IDOf returns the node ID in an identity.
func IDOf(identity string) string {
	id, _, _ := strings.Cut(identity, "/")
	return id
}

// InstanceOf returns the instance in an identity.
func InstanceOf(identity string) string {
	_, instance, _ := strings.Cut(identity, "/")
	return instance
}

// nodeFile is the content of node.json.
type nodeFile struct {
	Version  int    `json:"version"`
	Self     Peer   `json:"self"`
	Cluster  string `json:"cluster,omitempty"`  // drawn by the founder: it tells clusters apart that meet by mistake
	Promised string `json:"promised,omitempty"` // ID of the node that may found a cluster with this one
	Level    uint64 `json:"level,omitempty"`    // feature level of the cluster, as last seen
	Peers    []Peer `json:"peers"`

	Starts    []string          `json:"starts,omitempty"`    // the last of Self, the newest last (SPEC C7)
	Confirmed map[string]string `json:"confirmed,omitempty"` // the start that was confirmed last, by identity
	KnownBy   map[string]string `json:"known_by,omitempty"`  // by member's identity: the start of Self that the member last said to remember

	Unfinished string `json:"unfinished,omitempty"` // the command that is making another cluster of this directory, and must be run again
}

// nodeFileVersion is the version in directories with the present format of the log. Version 1 was written by builds
// with another format.
const nodeFileVersion = 2

// Book has the addresses of the members by identity. It is kept in node.json.
type Book struct {
	path string

	mu       sync.Mutex
	self     Peer
	cluster  string
	promised string
	level    uint64
	peers    map[string]Peer

	starts    []string
	confirmed map[string]string
	knownBy   map[string]string
}

func bookPath(dir string) string { return filepath.Join(dir, "node.json") }

// OpenBook reads or creates dir/node.json and counts one more start. self is what the node knows of itself: everything
// but its instance and its incarnation.
func OpenBook(dir string, self Peer) (*Book, error) {
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("raftstore: %w", err)
	}
	b := &Book{path: bookPath(dir), peers: map[string]Peer{}}
	f, err := vet(dir, self)
	if err != nil {
		return nil, err
	}
	self.Instance, self.Incarnation, self.Start = f.Self.Instance, f.Self.Incarnation+1, Draw()
	b.confirmed, b.knownBy = f.Confirmed, f.KnownBy
	for _, m := range []*map[string]string{&b.confirmed, &b.knownBy} {
		if *m == nil {
			*m = map[string]string{}
		}
	}
	b.starts = keepStarts(append(f.Starts, self.Start), b.knownBy)
	b.self, b.cluster, b.promised, b.level = self, f.Cluster, f.Promised, f.Level
	for _, p := range f.Peers {
		b.peers[p.Identity()] = p
	}
	b.peers[b.self.Identity()] = b.self
	return b, b.save()
}

// Vet says why a node cannot start with what is in a directory, or returns nil. It changes nothing.
func Vet(dir string, self Peer) error {
	_, err := vet(dir, self)
	return err
}

// vet is Vet. It returns what is in the directory, or what a new one begins with.
func vet(dir string, self Peer) (nodeFile, error) {
	f, err := readBook(bookPath(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nodeFile{Self: Peer{ID: self.ID, Instance: Draw()}}, nil
	case err != nil:
		return f, err
	case f.Unfinished != "":
		return f, fmt.Errorf("raftstore: %s: `%s` was interrupted here: run it again", dir, f.Unfinished)
	case f.Self.ID != self.ID:
		return f, fmt.Errorf("raftstore: %s belongs to node %q, not %q", dir, f.Self.ID, self.ID)
	}
	if why := levelError("this build", self.Level, f.Level); why != "" {
		return f, fmt.Errorf("raftstore: %s: %s", dir, why)
	}
	return f, nil
}

// readBook reads a node.json.
func readBook(path string) (f nodeFile, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("raftstore: %w", err)
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("raftstore: %s: %w", path, err)
	}
	if f.Version == 1 {
		return f, fmt.Errorf("raftstore: %s was written by a build from before 0.1.0 that kept its log in another format: this one cannot read it, and has changed nothing; %s", filepath.Dir(path), moveOver)
	}
	if f.Version != nodeFileVersion {
		return f, fmt.Errorf("raftstore: %s has version %d, this build reads %d", path, f.Version, nodeFileVersion)
	}
	return f, nil
}

// Draw returns 16 random hexadecimal digits.
func Draw() string {
	var r [8]byte
	_, _ = rand.Read(r[:]) // crypto/rand never fails
	return hex.EncodeToString(r[:])
}

// save writes node.json durably, under mu (or before the book is shared).
func (b *Book) save() error {
	f := nodeFile{Self: b.self, Cluster: b.cluster, Promised: b.promised, Level: b.level, Starts: b.starts, Confirmed: b.confirmed, KnownBy: b.knownBy}
	for id, p := range b.peers {
		if id != b.self.Identity() {
			f.Peers = append(f.Peers, p)
		}
	}
	slices.SortFunc(f.Peers, func(a, b Peer) int { return strings.Compare(a.Identity(), b.Identity()) })
	return f.write(b.path)
}

// write writes a node.json durably.
func (f *nodeFile) write(path string) error {
	f.Version = nodeFileVersion
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = durable.WriteFile(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("raftstore: write %s: %w", path, err)
	}
	return nil
}

// maxPeers is how many nodes a book has. No cluster has so many. A node that names more cannot fill the disk.
const maxPeers = 1_000

// Learn takes over what is newer than the book. It reports whether anything was.
func (b *Book) Learn(ps ...Peer) (changed bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range ps {
		id := p.Identity()
		if id == b.self.Identity() {
			continue
		}
		old, ok := b.peers[id]
		if ok && old.Incarnation >= p.Incarnation || !ok && len(b.peers) >= maxPeers {
			continue
		}
		if c := b.confirmed[id]; c != "" && c != p.Start { // a start that nobody has confirmed moves no address
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

// full reports whether there may be no room for so many more.
func (b *Book) full(more int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.peers)+more > maxPeers
}

// retain forgets the peers for which keep returns false.
func (b *Book) retain(keep func(Peer) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.peers)
	for id, p := range b.peers {
		if id != b.self.Identity() && !keep(p) {
			delete(b.peers, id)
			delete(b.confirmed, id)
			delete(b.knownBy, id)
		}
	}
	if len(b.peers) == n {
		return nil
	}
	return b.save()
}

// promise remembers who may found which cluster with this node; "" releases the promise. ok is false if another node
// has the promise.
func (b *Book) promise(id, cluster string) (ok bool, err error) {
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

// release takes back the promise for one cluster ID, which is one attempt of the founder. A promise for another attempt stays: this release may have
// been under way for long, and the founder may have founded the cluster by a later promise.
func (b *Book) release(id, cluster string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.promised != id || b.cluster != cluster {
		return nil
	}
	b.promised, b.cluster = "", ""
	return b.save()
}

// NoteLevel remembers the cluster's feature level.
func (b *Book) NoteLevel(level uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if level <= b.level {
		return nil
	}
	b.level = level
	return b.save()
}

// clusterID returns the cluster that this node belongs to, or is about to belong to.
func (b *Book) clusterID() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cluster
}

// adopt notes which cluster this node joins.
func (b *Book) adopt(cluster string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cluster == cluster {
		return nil
	}
	b.cluster = cluster
	return b.save()
}

func (b *Book) promisedTo() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.promised
}

// Lookup returns what is known of an identity.
func (b *Book) Lookup(identity string) (Peer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.peers[identity]
	return p, ok
}

// Where returns the address of an identity.
func (b *Book) Where(identity string) (addr string, ok bool) {
	p, ok := b.Lookup(identity)
	return p.Addr, ok
}

// all returns all known peers, this node included, by identity.
func (b *Book) all() []Peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ps []Peer
	for _, p := range b.peers {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b Peer) int { return strings.Compare(a.Identity(), b.Identity()) })
	return ps
}

// Me returns this node's own entry.
func (b *Book) Me() Peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.self
}
