package series

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/target"
)

// key tells one stored blob from all others, also from an earlier and a later one of the same digest. It never comes back: no token does.
type key struct {
	digest [sha256.Size]byte // of the blob
	token  uint64            // of the run that wrote it
	sealed [sha256.Size]byte // digest of the object, if it is encrypted
	tag    Tag               // to whom it is encrypted; zero: it is not
}

// Tag tells those to whom something is encrypted from others.
type Tag [8]byte

// String returns the key's name: DIGEST.TOKEN, or DIGEST.TOKEN.SUM.TAG of an encrypted blob.
func (k key) String() string {
	text := fmt.Sprintf("%x.%016x", k.digest, k.token)
	if k.tag != (Tag{}) {
		text += fmt.Sprintf(".%x.%x", k.sealed, k.tag)
	}
	return text
}

// object names the key's object below the folder of blobs.
func (k key) object() string {
	text := k.String()
	return text[:2] + "/" + text
}

// sum is the digest of the object.
func (k key) sum() [sha256.Size]byte {
	if k.tag != (Tag{}) {
		return k.sealed
	}
	return k.digest
}

// parseKey reads what String writes.
func parseKey(text string) (k key, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 4 {
		return k, false
	}
	token, err := strconv.ParseUint(parts[1], 16, 64)
	k.token = token
	ok = err == nil && unhex(k.digest[:], parts[0]) && (len(parts) == 2 || unhex(k.sealed[:], parts[2]) && unhex(k.tag[:], parts[3]))
	return k, ok && k.String() == text
}

func unhex(to []byte, text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && copy(to, b) == len(to) && len(b) == len(to)
}

// stored is a blob of a backup, and where it lies.
type stored struct {
	backup.Blob
	key key
}

// The text of a list. Its first line says what it is. Its last line says that it is whole.
const (
	listHead = "taskrt blobs 1"
	listEnd  = "end"
)

// writeList writes the blobs of a backup, one a line.
func writeList(all []stored) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, listHead)
	for _, x := range all {
		fmt.Fprintln(&b, x.Size, x.key)
	}
	fmt.Fprintln(&b, listEnd, len(all))
	return b.Bytes()
}

// readList reads a list, and hands each blob to fn.
func readList(r io.Reader, fn func(stored) error) error {
	lines, n := bufio.NewScanner(r), 0
	if !lines.Scan() || lines.Text() != listHead {
		return errors.Join(fmt.Errorf("%w: it is no list of blobs", backup.ErrDamaged), lines.Err())
	}
	for lines.Scan() {
		first, second, _ := strings.Cut(lines.Text(), " ")
		if first == listEnd {
			if second != strconv.Itoa(n) || lines.Scan() {
				break
			}
			return lines.Err()
		}
		size, err := strconv.ParseInt(first, 10, 64)
		k, ok := parseKey(second)
		if err != nil || !ok || size < 0 {
			return fmt.Errorf("%w: line %d of the list of blobs cannot be read", backup.ErrDamaged, n+2)
		}
		if err := fn(stored{backup.Blob{Digest: hex.EncodeToString(k.digest[:]), Size: size}, k}); err != nil {
			return err
		}
		n++
	}
	return errors.Join(fmt.Errorf("%w: the list of blobs has no end behind line %d", backup.ErrDamaged, n+1), lines.Err())
}

// keys lists the stored blobs.
func (s Series) keys(ctx context.Context, fn func(key, target.Object) error) error {
	folder := s.folder() + blobs
	for o, err := range s.Target.List(ctx, folder) {
		if err != nil {
			return err
		}
		if k, ok := parseKey(o.Name[strings.LastIndexByte(o.Name, '/')+1:]); ok && o.Name == folder+k.object() {
			if err := fn(k, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// due reports whether a blob's turn comes between two times: each digest has one in every period.
func due(digest [sha256.Size]byte, since, now time.Time, period time.Duration) bool {
	if now.Sub(since) >= period {
		return true
	}
	high, _ := bits.Mul64(binary.BigEndian.Uint64(digest[:]), uint64(period))
	turn := func(t time.Time) int64 { return (t.UnixNano() - int64(high)) / int64(period) }
	return turn(since) != turn(now)
}
