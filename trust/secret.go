package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

// secretBytes is the length of a cluster secret and of a worker seed.
const secretBytes = 32

// The texts of secrets begin so. A scanner finds a published secret by this, and no secret is taken for one of the other kind.
const (
	clusterPrefix = "trs_"
	workerPrefix  = "trw_"
)

// Pin names a public key: the SHA-256 of its SPKI form.
type Pin [sha256.Size]byte

// Secret is a cluster secret. A holder of it acts as the cluster.
type Secret [secretBytes]byte

// Draw returns a new cluster secret.
func Draw() (s Secret) {
	_, _ = rand.Read(s[:]) // never fails (crypto/rand)
	return s
}

// Text is the line of a file that holds the secret.
func (s Secret) Text() string { return encode(clusterPrefix, s[:]) }

// String hides the secret, because what has this method ends up in logs.
func (s Secret) String() string { return clusterPrefix + "…" }

// WorkerSecret is what a worker needs that is trusted less than a node: it opens the workers' part of the node port.
type WorkerSecret struct {
	seed [secretBytes]byte
	pins []workerPins
}

// workerPins are the authorities of one cluster secret that a worker trusts.
type workerPins struct{ node, api Pin }

// Worker derives the worker secret of a cluster secret. All are the cluster's secrets, of which s is one: workers trust the authorities of
// all of them.
func (s Secret) Worker(all []Secret) WorkerSecret {
	w := WorkerSecret{seed: s.derive(workerLabel)}
	for _, x := range all {
		w.pins = append(w.pins, workerPins{x.authority(nodeLabel).pin, x.api().pin})
	}
	return w
}

// Text is the line of a file that holds the worker secret.
func (w WorkerSecret) Text() string {
	b := bytes.Clone(w.seed[:])
	for _, p := range w.pins {
		b = append(append(b, p.node[:]...), p.api[:]...)
	}
	return encode(workerPrefix, b)
}

// String hides the secret, because what has this method ends up in logs.
func (w WorkerSecret) String() string { return workerPrefix + "…" }

// The labels of keys (SPEC A2): a key is of no use for anything but its label.
const (
	nodeLabel   = "taskrt/v1/node"
	workerLabel = "taskrt/v1/worker"
	apiLabel    = "taskrt/v1/api"
)

func (s Secret) bytes(label string, n int) []byte {
	b, err := hkdf.Key(sha256.New, s[:], nil, label, n)
	if err != nil {
		panic(err) // a length that HKDF cannot give
	}
	return b
}

func (s Secret) derive(label string) (key [secretBytes]byte) {
	return [secretBytes]byte(s.bytes(label, secretBytes))
}

func (s Secret) authority(label string) authority {
	seed := s.derive(label)
	return newAuthority(ed25519.NewKeyFromSeed(seed[:]), label)
}

// api is the authority of the ports for clients. Browsers take no Ed25519, so its key is of P-256: 64 bits more than the order of the curve,
// reduced, as FIPS 186-5, A.2.1 has it.
func (s Secret) api() authority {
	n := elliptic.P256().Params().N
	d := new(big.Int).SetBytes(s.bytes(apiLabel, secretBytes+8))
	d.Mod(d, new(big.Int).Sub(n, big.NewInt(1))).Add(d, big.NewInt(1))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d.FillBytes(make([]byte, secretBytes)))
	if err != nil {
		panic(err) // a number out of range
	}
	return newAuthority(key, apiLabel)
}

// encode returns prefix, and b with its checksum in base64url.
func encode(prefix string, b []byte) string {
	b = binary.BigEndian.AppendUint32(bytes.Clone(b), crc32.ChecksumIEEE(b))
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

var (
	errDamaged = errors.New("it is cut off or mistyped: its checksum is wrong")
	errKind    = errors.New("it is no secret of taskrt")
)

// decode is the reverse of encode. Its errors say nothing of the text.
func decode(prefix, text string) ([]byte, error) {
	text, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return nil, errKind
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 4 {
		return nil, errDamaged
	}
	b, sum := b[:len(b)-4], b[len(b)-4:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(b) {
		return nil, errDamaged
	}
	return b, nil
}

// ParseSecret reads the text of a cluster secret.
func ParseSecret(text string) (s Secret, err error) {
	if strings.HasPrefix(text, workerPrefix) {
		return s, errors.New("it is a worker secret: nodes need the cluster secret")
	}
	b, err := decode(clusterPrefix, text)
	if err == nil && len(b) != secretBytes {
		err = errDamaged
	}
	copy(s[:], b)
	return s, err
}

// ParseWorkerSecret reads the text of a worker secret.
func ParseWorkerSecret(text string) (w WorkerSecret, err error) {
	b, err := decode(workerPrefix, text)
	if err != nil {
		return w, err
	}
	const each = 2 * len(Pin{})
	pins := (len(b) - secretBytes) / each
	if len(b) != secretBytes+pins*each || pins < 1 || pins > maxSecrets {
		return w, errDamaged
	}
	copy(w.seed[:], b)
	for b = b[secretBytes:]; len(b) > 0; b = b[each:] {
		w.pins = append(w.pins, workerPins{Pin(b[:each/2]), Pin(b[each/2 : each])})
	}
	return w, nil
}

// maxSecrets bounds the secrets of a file, and those whose authorities a worker secret trusts.
const maxSecrets = 8

// parseAll reads the lines of a file of secrets. Empty lines and those that begin with # are passed over.
func parseAll[T any](file string, text []byte, parse func(string) (T, error)) (all []T, err error) {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		x, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, number, err)
		}
		if all = append(all, x); len(all) > maxSecrets {
			return nil, fmt.Errorf("%s: more than %d secrets", file, maxSecrets)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no secret: taskrt secret new draws one", file)
	}
	return all, nil
}

// ReadSecrets reads a file of cluster secrets. The secret that issues certificates comes first.
func ReadSecrets(file string) ([]Secret, error) {
	text, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseAll(file, text, ParseSecret)
}
