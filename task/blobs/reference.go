package blobs

import (
	"bytes"
	"slices"
)

// A reference to a blob in JSON is an object of exactly one member, {"$blob": "sha256:<64 hex>"}, written so: no escapes.
const (
	refMember = `"$blob"`
	refPrefix = `"sha256:`
	refDigits = 64
)

// Named returns the digests that a JSON text names in references, sorted, each once. The text must be valid JSON: then
// the member's name is found by its bytes alone, as no other text can hold them (a quote inside a string is escaped).
func Named(text []byte) []string {
	var named []string
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(refMember))
		if i < 0 {
			break
		}
		at += i + len(refMember)
		if open := bytes.TrimRight(text[:at-len(refMember)], " \t\r\n"); !bytes.HasSuffix(open, []byte("{")) {
			continue
		}
		if digest, _, ok := refValue(text[at:]); ok {
			named = append(named, digest)
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}

// Reference returns the digest of a JSON text that is a reference as a whole.
func Reference(text []byte) (digest string, ok bool) {
	const enough = 1 << 10 // white space included: longer texts are not looked at
	if len(text) > enough {
		return "", false
	}
	text, ok = bytes.CutPrefix(bytes.TrimSpace(text), []byte("{"))
	if ok {
		text, ok = bytes.CutPrefix(bytes.TrimSpace(text), []byte(refMember))
	}
	if !ok {
		return "", false
	}
	digest, rest, ok := refValue(text)
	return digest, ok && len(bytes.TrimSpace(rest)) == 0
}

// refValue reads what stands behind the member's name, to the end of the object.
func refValue(text []byte) (digest string, rest []byte, ok bool) {
	for _, want := range []string{":", refPrefix} {
		if text, ok = bytes.CutPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte(want)); !ok {
			return "", nil, false
		}
	}
	if len(text) <= refDigits || text[refDigits] != '"' || !ValidDigest(string(text[:refDigits])) {
		return "", nil, false
	}
	digest = string(text[:refDigits])
	rest, ok = bytes.CutPrefix(bytes.TrimLeft(text[refDigits+1:], " \t\r\n"), []byte("}"))
	return digest, rest, ok
}
