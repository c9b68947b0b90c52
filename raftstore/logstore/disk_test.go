package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// A power failure leaves of a file system what the following list says. This is the weakest form of what ext4 and xfs
// leave, or weaker.
//
//   - A sync of a file keeps the bytes and the size that the file had when the sync began. It does not keep the file's name.
//   - A sync of a directory keeps the names that were in it, and which file each name is. It does not keep the contents of
//     the files, nor the directory's own name.
//   - A sector of 512 bytes, or a page of 4 KiB, keeps or loses its writes since the last sync on its own. It is whole, as it
//     was after any one of these writes. The file's size is any size that the file had since, whatever its sectors are. A
//     sector that was never written holds zeros. Behind the synced end of a file that was not allocated (fallocate) it may
//     hold what the disk held before.
//   - A step in a directory since its last sync (a name made, removed or moved) is kept or lost on its own, or all steps up
//     to one are kept. Steps that share a name happen in their order. A rename happens whole: there are never both names,
//     nor neither, and the name that it replaces is never missing.
//   - Nothing else is lost. What was synced stays, however often it is synced again.
//
// ext4 and xfs keep more, because their journal has one order over all files. A trace does not show what a process
// writes through a mapping. No log does that (bbolt maps its file to read it), and the test would notice: see
// power.run.

// inode is a file. With names it is a directory.
type inode struct {
	content   []byte // the content for processes
	synced    []byte // the content that the disk has for certain
	writes    []write
	allocated int64

	now   map[string]*inode
	disk  map[string]*inode
	steps []step

	done int // how many changes are on the disk
}

// write is a change of a file.
type write struct {
	at   int64
	data []byte
	size int64 // the file's size from then on
}

// step is a change of a directory. From then on name is at, or with a nil at there is no such name. A file that was
// moved had the name from.
type step struct {
	name, from string
	at         *inode
}

func (n *inode) change(at int64, data []byte, size int64) {
	w := write{at, data, size}
	n.writes = append(n.writes, w)
	n.content = w.on(n.content)
}

// on returns the content after the write.
func (w *write) on(content []byte) []byte {
	if grow := w.size - int64(len(content)); grow > 0 {
		content = append(content, make([]byte, grow)...)
	} else if grow < 0 {
		clear(content[w.size:])
		content = content[:w.size]
	}
	copy(content[min(w.at, w.size):], w.data)
	return content
}

func (n *inode) enter(e step) {
	n.steps = append(n.steps, e)
	e.in(n.now)
}

func (e *step) in(names map[string]*inode) {
	if e.from != "" {
		delete(names, e.from)
	}
	if e.at != nil {
		names[e.name] = e.at
	} else {
		delete(names, e.name)
	}
}

// changes returns how many changes there were.
func (n *inode) changes() int { return n.done + len(n.writes) + len(n.steps) }

// sync puts the first k changes on the disk.
func (n *inode) sync(k int) {
	k -= n.done
	if k <= 0 { // another thread has put them there
		return
	}
	n.done += k
	if n.now != nil {
		for _, e := range n.steps[:k] {
			e.in(n.disk)
		}
		n.steps = slices.Clone(n.steps[k:])
		return
	}
	for _, w := range n.writes[:k] {
		n.synced = w.on(n.synced)
	}
	n.writes = slices.Clone(n.writes[k:])
}

// fate says how a power failure treats what was not synced.
type fate struct {
	rng     *rand.Rand
	newest  float64 // how likely a sector keeps its last write, and a step is kept
	sector  int
	ordered bool // a directory keeps all steps up to one of them
	garbage bool // sectors that were never written hold something
}

// newFate draws a fate. The same seed treats the same files in the same way.
func newFate(seed uint64) *fate {
	rng := rand.New(rand.NewPCG(seed, 3))
	newest := min(max(rng.Float64()*1.4-0.2, 0), 1) // now and then 0 or 1
	return &fate{rng: rng, newest: newest, sector: []int{512, 4096}[rng.IntN(2)], ordered: rng.IntN(2) == 0, garbage: rng.IntN(4) == 0}
}

func (f *fate) String() string {
	return fmt.Sprintf("newest %.2f, sectors of %d, ordered %v, garbage %v", f.newest, f.sector, f.ordered, f.garbage)
}

// file returns what is left of a file.
func (f *fate) file(n *inode) []byte {
	if len(n.writes) == 0 {
		return n.synced
	}
	sizes := []int64{int64(len(n.synced))}
	longest := sizes[0]
	for _, w := range n.writes {
		sizes = append(sizes, w.size)
		longest = max(longest, w.size)
	}
	size := sizes[f.pick(len(sizes))]
	// The versions of each sector, as numbers of the writes that made them. 0 is the synced version.
	versions := make(map[int64][]int)
	unit := int64(f.sector)
	for i, w := range n.writes {
		from, to := w.at, w.at+int64(len(w.data))
		if before := sizes[i]; w.size < before { // the write also cuts the file
			from, to = w.size, before
		}
		for s := from / unit; s*unit < to; s++ {
			versions[s] = append(versions[s], i+1)
		}
	}
	out := make([]byte, longest)
	copy(out, n.synced)
	chosen := make(map[int]bool) // all versions that occur in the result
	which := make(map[int64]int)
	for _, s := range slices.Sorted(maps.Keys(versions)) {
		of := append([]int{0}, versions[s]...)
		which[s] = of[f.pick(len(of))]
		chosen[which[s]] = true
		if start := s * unit; which[s] == 0 && f.garbage && start >= max(int64(len(n.synced)), n.allocated) {
			for i := start; i < min(start+unit, longest); i++ {
				out[i] = byte(f.rng.Uint32())
			}
		}
	}
	content := slices.Clone(n.synced)
	for i := range n.writes {
		content = n.writes[i].on(content)
		if !chosen[i+1] {
			continue
		}
		for s, k := range which {
			if k != i+1 {
				continue
			}
			start := min(s*unit, longest)
			end := min(start+unit, longest)
			clear(out[start:end])
			if start < int64(len(content)) {
				copy(out[start:end], content[start:])
			}
		}
	}
	return out[:size]
}

// pick chooses one of n. The last one is as likely as the fate says.
func (f *fate) pick(n int) int {
	if f.rng.Float64() < f.newest {
		return n - 1
	}
	return f.rng.IntN(max(n-1, 1))
}

// names returns what is left of a directory.
func (f *fate) names(n *inode) map[string]*inode {
	names := maps.Clone(n.disk)
	upTo := f.rng.IntN(len(n.steps) + 1)
	lost := map[string]bool{} // their later steps rest on a lost step
	for i, e := range n.steps {
		there := f.rng.Float64() < f.newest
		if f.ordered {
			there = i < upTo
		}
		if !there || lost[e.name] || e.from != "" && lost[e.from] {
			lost[e.name] = true
			if e.from != "" {
				lost[e.from] = true
			}
			continue
		}
		e.in(names)
	}
	return names
}

// put writes down what a power failure leaves of a directory.
func (f *fate) put(n *inode, path string) error {
	names := f.names(n)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at, path := names[name], filepath.Join(path, name)
		var err error
		if at.now != nil {
			if err = os.Mkdir(path, 0o700); err == nil {
				err = f.put(at, path)
			}
		} else {
			err = os.WriteFile(path, f.file(at), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadDisk reads a directory that is on the disk as a whole.
func loadDisk(path string) (*inode, error) {
	n := &inode{now: map[string]*inode{}, disk: map[string]*inode{}}
	files, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		at, path := &inode{}, filepath.Join(path, file.Name())
		if file.IsDir() {
			at, err = loadDisk(path)
		} else if at.content, err = os.ReadFile(path); err == nil {
			at.synced, at.allocated = slices.Clone(at.content), int64(len(at.content))
		}
		if err != nil {
			return nil, err
		}
		n.now[file.Name()], n.disk[file.Name()] = at, at
	}
	return n, nil
}

// differs compares what processes see according to the trace with what they really see.
func (n *inode) differs(m *inode, path string) (err error) {
	if (n.now == nil) != (m.now == nil) || !bytes.Equal(n.content, m.content) {
		return fmt.Errorf("%s is not what the trace says: %d bytes, not %d", path, len(m.content), len(n.content))
	}
	for name := range m.now {
		if n.now[name] == nil {
			err = errors.Join(err, fmt.Errorf("%s/%s is there, and the trace knows nothing of it", path, name))
		}
	}
	for name, at := range n.now {
		if m.now[name] == nil {
			err = errors.Join(err, fmt.Errorf("%s/%s is not there, and the trace says it is", path, name))
		} else {
			err = errors.Join(err, at.differs(m.now[name], path+"/"+name))
		}
	}
	return err
}
