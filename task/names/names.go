// Package names says which texts can name a task, an operation, a behavior or a namespace. It also computes the name that a task gets from
// its params (SPEC I2).
package names

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
)

// idChars tells of each byte whether it can be in an ID. It is a table, because a processor would guess half of the branches wrong that depend on
// characters of a random ID.
const idChars = "................" + "................" +
	".............xx." + // - .
	"xxxxxxxxxxx....." + // 0 to 9, :
	".xxxxxxxxxxxxxxx" + // from A
	"xxxxxxxxxxx....x" + // to Z, _
	".xxxxxxxxxxxxxxx" + // from a
	"xxxxxxxxxxx....." + // to z
	"................................................................" +
	"................................................................"

// IsTask reports whether id can name a task: 3..128 characters of [A-Za-z0-9._:-] (SPEC I1).
func IsTask(id string) bool {
	if len(id) < 3 || len(id) > 128 {
		return false
	}
	for i := range len(id) { // written out, because every command asks
		if idChars[id[i]] == '.' {
			return false
		}
	}
	return true
}

// IsOperation reports whether id can name an operation: 3..100 characters of [A-Za-z0-9._-]. It has no ":", so it is not the beginning of IDs of
// another operation's tasks. It is so short that the IDs of its own tasks fit into the length of a task's ID.
func IsOperation(id string) bool {
	return len(id) <= maxOperationID && IsTask(id) && strings.IndexByte(id, ':') < 0
}

const maxOperationID = 100

// IsBehavior reports whether name can name a behavior: 3..128 characters of [a-z0-9._-] (SPEC B1).
func IsBehavior(name string) bool {
	return IsTask(name) && !strings.ContainsFunc(name, func(c rune) bool { return 'A' <= c && c <= 'Z' || c == ':' })
}

// IsNamespace reports whether a namespace may be created under the name (SPEC N1).
func IsNamespace(name string) bool {
	if len(name) < 3 || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// OfParams returns the ID of a task whose behavior derives it from the params (SPEC I2): lower-case base32
// without padding of the first 20 bytes of SHA-256 over the three strings, each after its length as a big-endian
// uint32. canonicalJSON is RFC 8785 canonical JSON: of the params, or of the array of the values that the manifest's
// pointers pick.
func OfParams(namespace, behavior string, canonicalJSON []byte) string {
	var input []byte
	for _, s := range [][]byte{[]byte(namespace), []byte(behavior), canonicalJSON} {
		input = binary.BigEndian.AppendUint32(input, uint32(len(s)))
		input = append(input, s...)
	}
	sum := sha256.Sum256(input)
	encoding := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	return encoding.EncodeToString(sum[:20])
}
