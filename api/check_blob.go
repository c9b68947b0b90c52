package api

import (
	"encoding/json"
	"strings"

	"github.com/taskrt/taskrt/api/internal/scan"
	"github.com/taskrt/taskrt/task"
)

// digestPrefix says how a digest is made.
const digestPrefix = "sha256:"

// ShowDigest is a digest as the API shows it.
func ShowDigest(hex string) string { return digestPrefix + hex }

// BlobRef is what stands for a payload that is a blob: {"$blob": "sha256:…"} (SPEC H3).
func BlobRef(hex string) json.RawMessage {
	return json.RawMessage(`{"` + blobMember + `":"` + ShowDigest(hex) + `"}`)
}

// blobMember is the name that makes an object a reference.
const blobMember = "$blob"

// ValidJSON reports whether a blob counts as JSON where it stands for params or a result: what could be sent as such.
func ValidJSON(content []byte) bool {
	valid, _ := scan.Valid(content)
	return valid
}

// ParseDigest takes a digest as the API shows it, or its 64 hex digits alone, which is what sha256sum prints.
func ParseDigest(field, s string) (hex string, err error) {
	hex = strings.TrimPrefix(s, digestPrefix)
	if !task.ValidDigest(hex) {
		return "", FieldError(CodeInvalidField, field, "%.80q is not a digest: write sha256: and 64 characters of 0-9 a-f", s)
	}
	return hex, nil
}

// Check says what is wrong with an upload before any byte of it is read; want is the digest that it must have, in hex, ""
// for whatever it is.
func (r *PutBlobRequest) Check() (want string, err error) {
	if r.Size > MaxBlob {
		return "", blobTooLarge()
	}
	if r.Digest == "" {
		return "", nil
	}
	return ParseDigest("digest", r.Digest)
}

func blobTooLarge() *Error { return LimitError("body", MaxBlob, "at most %d bytes", MaxBlob) }

// CheckContent says what is wrong with an upload that has been read.
func (r *PutBlobRequest) CheckContent(want, got string, size int64) error {
	switch {
	case r.Size >= 0 && size != r.Size:
		return FieldError(CodeBadRequest, "body", "%d bytes were announced, %d came", r.Size, size)
	case want != "" && want != got:
		return FieldError(CodeDigestMismatch, "digest", "the bytes have the digest sha256:%s", got)
	}
	return nil
}

// Check says what is wrong with a range whatever the blob is.
func (r *BlobRange) Check() (hex string, err error) {
	switch {
	case r.From < 0:
		return "", FieldError(CodeInvalidField, "from", "must not be negative")
	case r.Length < -1 || r.Length == 0:
		return "", FieldError(CodeInvalidField, "length", "must be positive, or -1 for the rest")
	}
	return ParseDigest("digest", r.Digest)
}

// Of returns how many bytes the range has of a blob of size bytes.
func (r *BlobRange) Of(size int64) (length int64, err error) {
	if r.From > size || r.From == size && size > 0 {
		e := FieldError(CodeNoRange, "from", "the blob has %d bytes", size)
		e.Limit = size
		return 0, e
	}
	if length = size - r.From; r.Length >= 0 {
		length = min(length, r.Length)
	}
	return length, nil
}
