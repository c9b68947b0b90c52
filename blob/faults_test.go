package blob

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
)

// bytesOf returns n random bytes, the same for the same n.
func bytesOf(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)}).Read(data)
	return data
}

const large = 5*pieceBytes + 1234

// flip changes one byte of a file, as a failing disk does.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

func TestFetchGoesOnWhereItBrokeOff(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		d := Digest(data)
		var mu sync.Mutex
		var offsets []uint64
		const each = 100_000
		b.peer("breaks", func(c net.Conn, offset uint64) {
			mu.Lock()
			offsets = append(offsets, offset)
			mu.Unlock()
			_, _ = c.Write(append([]byte{statusOK}, number(large)...))
			_, _ = c.Write(data[offset:min(offset+each, large)])
		})
		s := b.store("a")
		got, err := s.Get(t.Context(), d, []string{"breaks"})
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if want := []uint64{0, each, 2 * each, 3 * each}; !slices.Equal(offsets, want) {
			t.Errorf("asked from %v, want %v", offsets, want)
		}
	})
}

// TestFetchPassesOverWhoStandsStill: a peer that is cut off before or while it sends does not hold up a file that another peer
// has (SPEC L6: tasks of a leader that is cut off start elsewhere within the TTL and 2 s, on a worker that may need their
// module).
func TestFetchPassesOverWhoStandsStill(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		d := Digest(data)
		b.peer("silent", func(c net.Conn, _ uint64) { _, _ = c.Read(make([]byte, 1)) })
		b.peer("stops", func(c net.Conn, offset uint64) {
			_, _ = c.Write(append([]byte{statusOK}, number(large)...))
			_, _ = c.Write(data[offset : offset+1000])
			_, _ = c.Read(make([]byte, 1))
		})
		honest := b.store("a")
		put(t, honest, string(data))
		for range 16 { // because the order of peers is random
			s := b.store("b")
			begun := time.Now()
			got, err := s.Get(t.Context(), d, []string{"silent", "stops", "a"})
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if took := time.Since(begun); took > 5*time.Second { // twice standstill, and the time for the bytes that were sent
				t.Errorf("it took %v", took)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestFetchWaitsForTheOnlyOne: if no other peer has the file, a peer that is slow to answer is asked again with more patience.
func TestFetchWaitsForTheOnlyOne(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		b.peer("slow", func(c net.Conn, offset uint64) {
			time.Sleep(20 * time.Second)
			_, _ = c.Write(append([]byte{statusOK}, number(large)...))
			_, _ = c.Write(data[offset:])
		})
		b.store("has nothing")
		got, err := b.store("a").Get(t.Context(), Digest(data), []string{"slow", "has nothing"})
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	})
}

func TestFetchGoesOnLaterWithAnotherPeer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		d := Digest(data)
		first := true
		b.peer("dies", func(c net.Conn, offset uint64) {
			if first {
				first = false
				_, _ = c.Write(append([]byte{statusOK}, number(large)...))
				_, _ = c.Write(data[:200_000])
			}
		})
		var asked uint64
		b.peer("whole", func(c net.Conn, offset uint64) {
			asked = offset
			_, _ = c.Write(append([]byte{statusOK}, number(large)...))
			_, _ = c.Write(data[offset:])
		})
		s := b.store("a")
		if _, err := s.Get(t.Context(), d, []string{"dies"}); !errors.Is(err, ErrNotFound) {
			t.Fatalf("got %v", err)
		}
		if s.Has(d) {
			t.Fatal("half a file has its name")
		}
		got, err := s.Get(t.Context(), d, []string{"whole"})
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		if asked != 200_000 {
			t.Errorf("asked from %d", asked)
		}
	})
}

// TestPeersThatContradictEachOther: a file that is put together from a liar and an honest peer is thrown away, and the honest
// peer is asked for the whole file.
func TestPeersThatContradictEachOther(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		honest, s := b.store("a"), b.store("b")
		d := put(t, honest, string(data))
		b.liar("longer", append(slices.Clone(data), 'x'))
		b.peer("begins wrong", func(c net.Conn, offset uint64) {
			_, _ = c.Write(append([]byte{statusOK}, number(large)...))
			_, _ = c.Write(make([]byte, 1000))
		})
		b.peer("endless", func(c net.Conn, offset uint64) {
			_, _ = c.Write(append([]byte{statusOK}, number(1<<62)...))
		})
		for range 16 {
			got, err := s.Get(t.Context(), d, []string{"longer", "begins wrong", "endless", "a"})
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if _, err := s.Unlink(d, func() bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestTornWhileItIsRead: the piece that the disk has torn is never returned; the file is fetched again and the reader does
// not notice.
func TestTornWhileItIsRead(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		s1, s2 := b.store("a"), b.store("b")
		d := put(t, s1, string(data))
		put(t, s2, string(data))
		for _, tear := range []struct {
			name string
			do   func(path string)
		}{
			{"flipped", func(path string) { flip(t, path, 3*pieceBytes+7) }},
			{"short", func(path string) {
				if err := os.Truncate(path, 2*pieceBytes+1); err != nil {
					t.Fatal(err)
				}
			}},
		} {
			f, err := s1.Open(t.Context(), d, []string{"b"})
			if err != nil {
				t.Fatal(err)
			}
			before := s1.Corrupt()
			tear.do(s1.path(d))
			got := make([]byte, large)
			if n, err := f.ReadAt(got, 0); n != large || err != nil {
				t.Errorf("%s: %d bytes, %v", tear.name, n, err)
			}
			if !bytes.Equal(got, data) {
				t.Errorf("%s: other bytes", tear.name)
			}
			if n := s1.Corrupt() - before; n != 1 {
				t.Errorf("%s: %d corrupt files reported", tear.name, n)
			}
			if err := s1.Verify(d); err != nil {
				t.Errorf("%s: not healed: %v", tear.name, err)
			}
			_ = f.Close()
		}
		// If nobody has the file, the reader gets an error, and no byte of the torn piece.
		f, err := s1.Open(t.Context(), d, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		flip(t, s1.path(d), 100)
		got := make([]byte, 200)
		if n, err := f.ReadAt(got, 0); n != 0 || !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes, %v", n, err)
		}
		if !bytes.Equal(got, make([]byte, 200)) && bytes.Contains(data, got[:100]) {
			t.Error("bytes that were not checked were handed out")
		}
	})
}

// TestTornFileIsNotServed: a node that finds a torn piece while it sends hangs up, and the peer goes on with another node.
func TestTornFileIsNotServed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		s1, s2, s3 := b.store("a"), b.store("b"), b.store("c")
		d := put(t, s1, string(data))
		put(t, s2, string(data))
		flip(t, s1.path(d), 4*pieceBytes) // this piece lies behind pieces that are right
		for _, peers := range [][]string{{"a", "b"}, {"b"}} {
			got, err := s3.Get(t.Context(), d, peers)
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		if s1.Has(d) && s1.Corrupt() == 0 && s1.Verify(d) == nil {
			t.Error("the torn file passes for right")
		}
	})
}

func TestFlippedByteIsFound(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s := b.store("a")
		var told []string
		s.cfg.OnCorrupt = func(d string) { told = append(told, d) }
		d := put(t, s, string(bytesOf(large)))
		good := put(t, s, "good")
		s.sheets = newSheets() // as after a restart
		flip(t, s.path(d), large-1)
		found := map[string]error{}
		if err := s.Scrub(t.Context(), 1<<20, func(d string, err error) { found[d] = err }); err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || !errors.Is(found[d], ErrCorrupt) || !slices.Equal(told, []string{d}) {
			t.Errorf("found %v, told %v", found, told)
		}
		if s.Has(d) || !s.Has(good) {
			t.Errorf("torn %v, good %v", s.Has(d), s.Has(good))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Scrub(ctx, 1, func(string, error) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// fullFile is a file on a disk that has room for some bytes.
type fullFile struct {
	*os.File
	room   *int64
	noSync bool
}

func (f fullFile) Write(p []byte) (int, error) {
	n := min(int64(len(p)), *f.room)
	*f.room -= n
	written, err := f.File.Write(p[:n])
	if err == nil && written < len(p) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return written, err
}

// ReadFrom keeps io.Copy from going around Write.
func (f fullFile) ReadFrom(r io.Reader) (int64, error) { return io.Copy(onlyWriter{f}, r) }

func (f fullFile) Sync() error {
	if f.noSync {
		return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.EDQUOT}
	}
	return f.File.Sync()
}

// fill leaves a store's disk this many bytes of room. Below 0 there is no room even for a name.
func fill(s *Store, room int64, noSync bool) {
	s.cfg.Create = func(dir, pattern string) (TempFile, error) {
		if room < 0 {
			return nil, &os.PathError{Op: "open", Path: dir, Err: syscall.ENOSPC}
		}
		f, err := os.CreateTemp(dir, pattern)
		return fullFile{f, &room, noSync}, err
	}
}

func TestFullDisk(t *testing.T) {
	for name, fault := range map[string]struct {
		room   int64
		noSync bool
	}{"no name": {-1, false}, "no byte": {0, false}, "half": {large / 2, false}, "no sync": {1 << 30, true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				data := bytesOf(large)
				s, s2, s3 := b.store("a"), b.store("b"), b.store("c")
				full := func(s *Store) { fill(s, fault.room, fault.noSync) }
				full(s)
				d, err := s.Put(t.Context(), data)
				if !errors.Is(err, ErrNoSpace) {
					t.Fatalf("put: %v", err)
				}
				if err := s.DiskError(time.Minute); !errors.Is(err, ErrNoSpace) {
					t.Errorf("the store does not know of its disk: %v", err)
				}
				// The other nodes have room, and they are a majority.
				upload := func() error {
					b, err := s.Stage(t.Context(), bytes.NewReader(data))
					if err != nil {
						return err
					}
					defer b.Close()
					err = s.Spread(t.Context(), b, Spread{Peers: []string{"b", "c"}, Need: 2, Self: true})
					synctest.Wait()
					return err
				}
				for range 3 * maxInMemory { // files that were held in memory are let go
					full(s)
					if err := upload(); err != nil {
						t.Fatalf("put at the others: %v", err)
					}
				}
				if s.Has(d) || !s2.Has(d) || !s3.Has(d) {
					t.Fatalf("a %v b %v c %v", s.Has(d), s2.Has(d), s3.Has(d))
				}
				// A file can be read although it cannot be kept.
				full(s)
				if got, err := s.Get(t.Context(), d, []string{"b"}); err != nil || !bytes.Equal(got, data) {
					t.Fatalf("get: %d bytes, %v", len(got), err)
				}
				full(s)
				if err := s.Heal(t.Context(), d, []string{"b"}); !errors.Is(err, ErrNoSpace) {
					t.Errorf("heal: %v", err)
				}
				// All disks are full.
				for _, s := range []*Store{s2, s3} {
					if _, err := s.Unlink(d, func() bool { return false }); err != nil {
						t.Fatal(err)
					}
					full(s)
				}
				full(s)
				if err := upload(); !errors.Is(err, ErrTooFew) || !errors.Is(err, ErrNoSpace) {
					t.Errorf("put: %v", err)
				}
				for _, s := range []*Store{s, s2, s3} {
					left, err := os.ReadDir(filepath.Join(s.cfg.Dir, tmpName))
					if err != nil || len(left) > 0 {
						t.Errorf("left behind: %v, %v", left, err)
					}
				}
				// There is room again.
				fill(s, 1<<30, false)
				if _, err := s.Put(t.Context(), data); err != nil || s.DiskError(time.Minute) != nil {
					t.Errorf("put: %v; %v", err, s.DiskError(time.Minute))
				}
			})
		})
	}
}

// TestTooManyInMemory: a few files that the disk does not take are held in memory. Further files are refused, before memory
// grows.
func TestTooManyInMemory(t *testing.T) {
	s, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fill(s, -1, false)
	for range maxInMemory {
		b, err := s.Stage(t.Context(), bytes.NewReader([]byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
	}
	if _, err := s.Stage(t.Context(), bytes.NewReader([]byte("x"))); !errors.Is(err, ErrNoSpace) {
		t.Errorf("got %v", err)
	}
}

func TestDeletedFolder(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		data := bytesOf(large)
		s1, s2 := b.store("a"), b.store("b")
		d := put(t, s1, string(data))
		put(t, s2, string(data))
		remove := func() {
			if err := os.RemoveAll(s1.cfg.Dir); err != nil {
				t.Fatal(err)
			}
		}
		remove()
		if s1.Has(d) {
			t.Fatal("still there")
		}
		if _, err := s1.Get(t.Context(), d, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
		if err := s1.Heal(t.Context(), d, []string{"b"}); err != nil || !s1.Has(d) {
			t.Fatalf("healed: %v, %v", s1.Has(d), err)
		}
		if n := s1.Remade(); n == 0 {
			t.Error("nobody is told")
		}
		// The folder is deleted in the middle of an upload: the file has lost its name, but not its bytes.
		up, err := s1.Stage(t.Context(), bytes.NewReader([]byte("upload")))
		if err != nil {
			t.Fatal(err)
		}
		defer up.Close()
		remove()
		if err := up.keep(); err != nil {
			t.Fatal(err)
		}
		if err := s1.Verify(up.Digest); err != nil {
			t.Error(err)
		}
		remove()
		if err := s1.EnsureDir(); err != nil {
			t.Fatal(err)
		}
		if n := s1.Remade(); n < 3 {
			t.Errorf("found deleted %d times", n)
		}
		remove()
		if err := s1.List(func(i Info) bool { t.Errorf("lists %v", i); return true }); err == nil {
			t.Error("a folder that is not there was listed")
		}
	})
}

// TestKeepAgain: a file that was unlinked after it was stored is stored again, from the bytes that the upload still holds,
// unless these bytes are torn by now.
func TestKeepAgain(t *testing.T) {
	s, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	data := bytesOf(large)
	up, err := s.Stage(t.Context(), bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	for range 3 {
		if err := up.keep(); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(up.Digest); err != nil {
			t.Fatal(err)
		}
		if removed, err := s.Unlink(up.Digest, func() bool { return false }); !removed || err != nil {
			t.Fatal(removed, err)
		}
	}
	if got, err := io.ReadAll(up.Reader()); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	torn, err := s.Stage(t.Context(), bytes.NewReader([]byte("torn")))
	if err != nil {
		t.Fatal(err)
	}
	defer torn.Close()
	if err := torn.keep(); err != nil {
		t.Fatal(err)
	}
	flip(t, s.path(torn.Digest), 1) // this also tears the upload's own file
	if err := torn.keep(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if s.Has(torn.Digest) {
		t.Error("wrong bytes have the name")
	}
}

// TestNotedIsNeverUnlinked: an upload notes a digest before it writes the file, and only then looks whether the file is there.
// It never loses the file to an unlinking of files that are not noted. Only the order guarantees this.
func TestNotedIsNeverUnlinked(t *testing.T) {
	s, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const digests, rounds = 3, 400
	var mu sync.Mutex
	noted := map[string]int{} // how many uploads rely on a digest
	is := func(d string) bool { mu.Lock(); defer mu.Unlock(); return noted[d] > 0 }
	note := func(d string, n int) { mu.Lock(); defer mu.Unlock(); noted[d] += n }
	var writers, unlinkers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range rounds {
				up, err := s.StageBytes([]byte{byte(random.IntN(digests))})
				if err != nil {
					t.Error(err)
					return
				}
				note(up.Digest, 1)
				if err := up.keep(); err != nil {
					t.Error(err)
				}
				if err := s.Verify(up.Digest); err != nil {
					t.Errorf("a noted file is gone: %v", err)
				}
				note(up.Digest, -1)
				up.Close()
			}
		})
	}
	unlinked := 0
	unlinkers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			d := Digest([]byte{byte(i % digests)})
			removed, err := s.Unlink(d, func() bool { return is(d) })
			if err != nil {
				t.Error(err)
			}
			if removed {
				unlinked++
			}
		}
	})
	writers.Wait()
	close(stop)
	unlinkers.Wait()
	if unlinked == 0 {
		t.Error("nothing was ever unlinked: the test shows nothing")
	}
	if len(s.locks.by) > 0 {
		t.Errorf("%d locks are left", len(s.locks.by))
	}
}

// TestListAndUnlink: a file that is not a blob is not listed, and no path leads out of the folder.
func TestListAndUnlink(t *testing.T) {
	s, err := Open(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var want []string
	for i := range 300 {
		want = append(want, put(t, s, string(rune('a'+i))))
	}
	slices.Sort(want)
	alien := filepath.Join(s.cfg.Dir, want[0][:2], "alien")
	if err := os.WriteFile(alien, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.cfg.Dir, want[0][:2], want[0][:2]+want[1][2:]), 0o700); err != nil {
		t.Fatal(err)
	}
	var got []string
	list := func(most int) {
		got = nil
		if err := s.List(func(i Info) bool { got = append(got, i.Digest); return len(got) < most }); err != nil {
			t.Fatal(err)
		}
	}
	if list(1000); !slices.Equal(got, want) {
		t.Errorf("lists %d of %d", len(got), len(want))
	}
	if list(7); !slices.Equal(got, want[:7]) {
		t.Errorf("lists %d", len(got))
	}
	for _, c := range []struct {
		digest   string
		keep, is bool
	}{{want[0], true, false}, {want[0], false, true}, {want[0], false, false}} {
		if removed, err := s.Unlink(c.digest, func() bool { return c.keep }); removed != c.is || err != nil {
			t.Errorf("%+v: %v, %v", c, removed, err)
		}
	}
	if _, err := s.Unlink("../x", func() bool { return false }); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestNothingIsWrittenBeforeTheNoteIsApplied: a node that is behind neither stores the file nor says that it has it.
func TestNothingIsWrittenBeforeTheNoteIsApplied(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2, s3 := b.store("a"), b.store("b"), b.store("c")
		applied := make(chan struct{})
		behind := func(ctx context.Context, index uint64) error {
			if index != 1 {
				t.Errorf("index %d", index)
			}
			select {
			case <-applied:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s2.cfg.Applied, s3.cfg.Applied = behind, behind
		d := put(t, s3, "x") // the file is there, but may be about to be unlinked
		if _, err := putAll(t.Context(), s1, "x", []string{"b", "c"}, 2); !errors.Is(err, ErrTooFew) {
			t.Fatalf("got %v", err)
		}
		if s2.Has(d) {
			t.Error("b has it")
		}
		done := make(chan error)
		go func() {
			_, err := putAll(t.Context(), s1, "x", []string{"b", "c"}, 3)
			done <- err
		}()
		synctest.Wait()
		close(applied)
		if err := <-done; err != nil || !s2.Has(d) {
			t.Errorf("%v, %v", err, s2.Has(d))
		}
	})
}

// TestCache: the file that was used least recently goes. A file that is open can be read to its end.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	const each = 1000
	s, err := Open(Config{Dir: dir, KeepBytes: 3 * each})
	if err != nil {
		t.Fatal(err)
	}
	var d []string
	for i := range 3 {
		d = append(d, put(t, s, string(bytesOf(each + i)[:each])))
	}
	f, err := s.Open(t.Context(), d[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), d[0], nil); err != nil { // used
		t.Fatal(err)
	}
	d = append(d, put(t, s, string(bytesOf(each + 3)[:each])), put(t, s, string(bytesOf(each + 4)[:each])))
	has := func(s *Store) (have []bool) {
		for _, d := range d {
			have = append(have, s.Has(d))
		}
		return have
	}
	if got := has(s); !slices.Equal(got, []bool{true, false, false, true, true}) {
		t.Errorf("keeps %v", got)
	}
	if n, err := f.ReadAt(make([]byte, each), 0); n != each || err != nil {
		t.Errorf("an open file: %d, %v", n, err)
	}
	_ = f.Close()
	_ = s.Close()
	if s, err = Open(Config{Dir: dir, KeepBytes: 2 * each}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := has(s); slices.Index(got, true) < 0 || slices.Contains(got[1:3], true) {
		t.Errorf("after a restart it keeps %v", got)
	}
	big := put(t, s, string(bytesOf(5*each))) // a file that does not fit stays as long as it is the last used
	if !s.Has(big) {
		t.Error("the file that was just put is gone")
	}
}

func TestRemote(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2, own := b.store("a"), b.store("b"), b.store("worker")
		fail := error(nil)
		s1.cfg.PutFor = func(ctx context.Context, b *Staged) error {
			if fail != nil {
				return fail
			}
			return s1.Spread(ctx, b, Spread{Peers: []string{"b"}, Need: 2, Self: true})
		}
		r := Remote{Store: own, Peers: func() []string { return []string{"b", "a"} }} // b stores for nobody
		data := bytesOf(large)
		d, err := r.Put(t.Context(), data)
		if err != nil || !s1.Has(d) || !s2.Has(d) || !own.Has(d) {
			t.Fatalf("%v; a %v b %v own %v", err, s1.Has(d), s2.Has(d), own.Has(d))
		}
		other := put(t, s2, "other")
		f, err := r.Open(t.Context(), other)
		if err != nil || f.Size() != 5 || f.Digest() != other {
			t.Fatalf("%v, %v", f, err)
		}
		_ = f.Close()
		if got, err := r.Fetch(t.Context(), d, large); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		fail = ErrTooFew
		if _, err := r.Put(t.Context(), []byte("y")); !errors.Is(err, ErrTooFew) {
			t.Errorf("got %v", err)
		}
		fail = ErrNoSpace
		if _, err := r.Put(t.Context(), []byte("y")); !errors.Is(err, ErrNoSpace) {
			t.Errorf("got %v", err)
		}
		r.Peers = func() []string { return nil }
		if _, err := r.Put(t.Context(), []byte("y")); !errors.Is(err, ErrTooFew) {
			t.Errorf("without nodes: %v", err)
		}
		if _, err := r.Open(t.Context(), Digest([]byte("y"))); !errors.Is(err, ErrNotFound) {
			t.Errorf("without nodes: %v", err)
		}
	})
}

// TestWire checks a node by the bytes on the wire, also with requests of nodes from before there were notes, and with hostile
// requests.
func TestWire(t *testing.T) {
	data := bytesOf(70_000)
	d := Digest(data)
	id := func(op byte, digest string) []byte {
		raw, err := hex.DecodeString(digest)
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{op}, raw...)
	}
	absent := Digest([]byte("absent"))
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	whole := cat([]byte{statusOK}, number(uint64(len(data))), data)
	for _, c := range []struct {
		name  string
		send  []byte
		want  []byte
		hangs bool // the node hangs up afterwards
	}{
		{"get", id(opGet, d), whole, false},
		{"get from", cat(id(opGetFrom, d), number(69_999)), cat(whole[:9], data[69_999:]), false},
		{"get from the end", cat(id(opGetFrom, d), number(70_000)), whole[:9], false},
		{"get from behind", cat(id(opGetFrom, d), number(70_001)), []byte{statusRefused}, false},
		{"get what is not there", id(opGet, absent), []byte{statusNotFound}, false},
		{"has", id(opHas, d), []byte{statusOK}, false},
		{"has not", cat(id(opHasAt, absent), number(0)), []byte{statusNotFound}, false},
		{"put", cat(id(opPut, absent), number(6), []byte("absent")), []byte{statusOK}, false},
		{"put something else", cat(id(opPutAt, absent), number(0), number(6), []byte("Absent")), []byte{statusRefused}, false},
		{"put too much", cat(id(opPut, absent), number(1<<63)), []byte{statusRefused}, true},
		{"put for", cat(id(opPutFor, absent), number(6), []byte("absent")), []byte{statusFailed}, false},
		{"put less than said", cat(id(opPut, absent), number(7), []byte("absent")), nil, true},
		{"nothing known", id(99, absent), nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				s := b.store("a")
				put(t, s, string(data))
				conn, err := b.net.Node("x").Dial(t.Context(), "a", mux.Blob)
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				go func() { _, _ = conn.Write(c.send) }()
				got := make([]byte, len(c.want))
				if n, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, c.want) {
					t.Fatalf("answers %d bytes %x…, %v", n, got[:min(n, 16)], err)
				}
				if c.hangs {
					if _, err := conn.Read(make([]byte, 1)); err == nil {
						t.Error("more bytes")
					}
					return
				}
				go func() { _, _ = conn.Write(id(opHas, d)) }() // the connection can still be used
				if _, err := io.ReadFull(conn, got[:0]); err != nil {
					t.Fatal(err)
				}
				one := make([]byte, 1)
				if _, err := io.ReadFull(conn, one); err != nil || one[0] != statusOK {
					t.Errorf("then %v, %v", one, err)
				}
			})
		})
	}
}

// TestStandingPeersGiveUpTheirPlace: peers that ask and then neither send nor read do not keep other peers out for ever.
func TestStandingPeersGiveUpTheirPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		s1, s2 := b.store("a"), b.store("b")
		d := put(t, s1, string(bytesOf(large)))
		for range 2 * maxBusy {
			conn, err := b.net.Node("x").Dial(t.Context(), "a", mux.Blob)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			head := append([]byte{opPutAt}, make([]byte, 32)...)
			go func() { _, _ = conn.Write(append(head, append(number(0), number(1000)...)...)) }()
			synctest.Wait()
		}
		began := time.Now()
		for {
			if _, err := s2.Get(t.Context(), d, []string{"a"}); err == nil {
				break
			}
			if time.Since(began) > 5*time.Minute {
				t.Fatal("nobody gets in")
			}
		}
	})
}
