package logstore

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/memdir"
)

var (
	powerPoints = flag.Int("power.points", 40, "how many power failures the trace of each process gets")
	powerSeed   = flag.Uint64("power.seed", 0, "0: another one every time")
)

// power is a test by power failures. It traces what child processes do. For many moments of the trace it builds
// directories as a disk may have them after a power failure at this moment. disk_test.go says what may be lost.
type power struct {
	*suite
	rng *rand.Rand
	process
	told   told
	images int
	last   uint64 // the seed of the newest power failure
}

// newPower begins with the directory of s, which is on the disk or empty.
func newPower(s *suite) *power {
	s.t.Helper()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	seed := *powerSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	s.t.Logf("-power.seed %d", seed)
	p := &power{suite: s, rng: rand.New(rand.NewPCG(seed, 2))}
	p.process = process{root: s.dir, said: func(line string) { p.told.hear(line) }}
	p.reload()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			p.keep()
		}
	})
	return p
}

func (p *power) reload() {
	p.t.Helper()
	disk, err := loadDisk(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	p.disk = disk
}

// run traces a child, and calls failed at a number of moments. The timing of the child's threads changes which calls it
// makes, so the moments are fractions of the trace.
func (p *power) run(steps int, dies death, times int, failed func()) {
	p.t.Helper()
	events := p.traced(steps, dies)
	p.files = map[int64]*opened{}
	moments := p.moments(events, times)
	for i, e := range events {
		for ; len(moments) > 0 && moments[0] == i; moments = moments[1:] {
			failed()
		}
		if err := p.apply(e); err != nil {
			p.t.Fatal(err)
		}
	}
	if p.told.err != nil {
		p.t.Fatal(p.told.err)
	}
	// The directory must be as the trace says. Then the trace misses no way to write.
	seen, err := loadDisk(p.dir)
	if err == nil {
		err = p.disk.differs(seen, p.dir)
	}
	if err != nil {
		p.t.Fatal("calls that change files are missing in the trace: ", err)
	}
}

var syncs = []string{"fsync", "fdatasync"}

// dies draws a death before one of the first n syncs.
func (p *power) dies(n int) death { return death{syncs[p.rng.IntN(2)], 1 + p.rng.IntN(n)} }

// moments chooses events, in order. The power fails before each of them. Two thirds of them stand before a sync, where
// most changes are not on the disk.
func (p *power) moments(events []event, times int) (moments []int) {
	var begun []int
	for i, e := range events {
		if e.begin && slices.Contains(syncs, e.call.name) {
			begun = append(begun, i)
		}
	}
	for i := range times {
		if i%3 == 0 {
			moments = append(moments, p.rng.IntN(len(events)))
		} else {
			moments = append(moments, begun[p.rng.IntN(len(begun))])
		}
	}
	slices.Sort(moments)
	return moments
}

// image builds a directory as the disk may have it now.
func (p *power) image() *suite {
	p.t.Helper()
	s := &suite{t: p.t, dir: memdir.New(p.t), kind: p.kind}
	p.last = p.rng.Uint64()
	if err := newFate(p.last).put(p.disk, s.dir); err != nil {
		p.t.Fatal(err)
	}
	p.images++
	return s
}

// keep builds the newest image once more, so that there is one that nobody has opened.
func (p *power) keep() {
	f := newFate(p.last)
	dir, err := os.MkdirTemp("", "power-failure-")
	if err == nil {
		err = f.put(p.disk, dir)
	}
	p.t.Logf("power failure %d: %v; the child had said %+v\nwhat is on the disk: %s %v", p.images, f, p.told, dir, err)
}

// TestPowerFailure: a power failure at any moment loses nothing that a log has reported durable.
func TestPowerFailure(t *testing.T) {
	needStrace(t)
	eachKind(t, func(t *testing.T, s *suite) {
		s.close()
		s.dir = filepath.Join(memdir.New(t), "node")
		p := newPower(s)
		for range 3 {
			// One child dies before one of its syncs. Another goes on with the files as the kernel has them.
			p.run(90, p.dies(100), *powerPoints, p.after)
			p.run(2, never, *powerPoints, p.after)
			// Then the power fails, and a child goes on with the files as the disk has them.
			at := p.image()
			at.after(&p.told)
			p.replace(at)
		}
		t.Logf("%d power failures", p.images)
	})
}

// TestPowerFailureAtFirst does the same while a log begins, for every sync before which the first process can die.
func TestPowerFailureAtFirst(t *testing.T) {
	needStrace(t)
	for _, kind := range Kinds {
		for _, call := range syncs {
			for nth, more := 1, true; more && !t.Failed(); nth++ {
				t.Run(fmt.Sprintf("%s, %s %d", kind, call, nth), func(t *testing.T) {
					p := newPower(&suite{t: t, dir: filepath.Join(memdir.New(t), "node"), kind: kind})
					p.run(1, death{call, nth}, *powerPoints/2, p.after)
					if more = p.told.failed != ""; more { // otherwise the child made all its syncs
						p.run(1, never, *powerPoints/2, p.after)
					}
				})
			}
		}
	}
}

// after lets the power fail now. It demands that the directory has all that was reported durable, and that the log goes
// on.
func (p *power) after() {
	p.t.Helper()
	x := p.told
	at := p.image()
	at.after(&x)
	at.drop()
}

// replace goes on in another directory.
func (p *power) replace(at *suite) {
	p.t.Helper()
	if err := errors.Join(os.RemoveAll(p.dir), os.Rename(at.dir, p.dir)); err != nil {
		p.t.Fatal(err)
	}
	p.reload()
}

// drop removes the directory.
func (s *suite) drop() {
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Fatal(err)
	}
}

// TestPowerFailureMigrating: a power failure at any moment of a migration leaves the whole old log or the whole new
// one. After the end of the migration it leaves the new one.
func TestPowerFailureMigrating(t *testing.T) {
	needStrace(t)
	dir := memdir.New(t)
	dir = filepath.Join(dir, "node")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := filledIn(t, dir, Bolt)
	s.kind = ""
	p := newPower(s)
	may := map[Kind]bool{Bolt: true} // its present format
	p.said = func(line string) {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "to":
			may[Kind(rest)] = true
		case "is":
			may = map[Kind]bool{Kind(rest): true}
		}
	}
	check := func() *suite {
		at := p.image()
		kind, err := Find(at.dir)
		if err != nil {
			t.Fatal(err)
		}
		if !may[kind] {
			t.Fatalf("a log of %q, and it must be one of %v", kind, may)
		}
		at.intact(kind)
		return at
	}
	for range 2 {
		for _, dies := range []death{p.dies(20), p.dies(40), never} {
			p.run(2, dies, *powerPoints/2, func() { check().drop() })
		}
		at := check()
		may = map[Kind]bool{at.kind: true}
		p.replace(at)
	}
	t.Logf("%d power failures", p.images)
}
