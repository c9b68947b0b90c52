package api

import (
	"encoding/json"
	"strings"

	"github.com/taskrt/taskrt/api/internal/scan"
	"github.com/taskrt/taskrt/task/blobs"
)

// digestPrefix says by which function a digest is made.
const digestPrefix = "sha256:"

// ShowDigest returns a digest as the API shows it.
func ShowDigest(hex string) string { return digestPrefix + hex }

// BlobRef returns the JSON that stands for a payload that is a blob: {"$blob": "sha256:…"} (SPEC H3).
func BlobRef(hex string) json.RawMessage {
	return json.RawMessage(`{"` + blobMember + `":"` + ShowDigest(hex) + `"}`)
}

// blobMember is the name that makes an object a reference.
const blobMember = "$blob"

// ValidJSON reports whether a blob that stands for params or a result counts as JSON: whether its content could be sent as
// JSON.
func ValidJSON(content []byte) bool {
	valid, _ := scan.Valid(content)
	return valid
}

// ParseDigest parses a digest as the API shows it, or its 64 hex digits alone, as sha256sum prints them.
func ParseDigest(field, s string) (hex string, err error) {
	hex = strings.TrimPrefix(s, digestPrefix)
	if !blobs.ValidDigest(hex) {
		return "", FieldError(CodeInvalidField, field, "%.80q is not a digest: write sha256: and 64 characters of 0-9 a-f", s)
	}
	return hex, nil
}

// Check tells what is wrong with an upload before any byte of it is read. want is the digest that the upload must have, in hex;
// "" if any digest will do.
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

// CheckContent tells what is wrong with an upload that has been read: want is what Check returned, got and size are those of
// its bytes.
func (r *PutBlobRequest) CheckContent(want, got string, size int64) error {
	switch {
	case r.Size >= 0 && size != r.Size:
		return FieldError(CodeBadRequest, "body", "%d bytes were announced, %d came", r.Size, size)
	case want != "" && want != got:
		return FieldError(CodeDigestMismatch, "digest", "the bytes have the digest sha256:%s", got)
	}
	return nil
}

// Check tells what is wrong with a range, whatever the size of the blob is.
func (r *BlobRange) Check() (hex string, err error) {
	switch {
	case r.From < 0:
		return "", FieldError(CodeInvalidField, "from", "must not be negative")
	case r.Length < -1 || r.Length == 0:
		return "", FieldError(CodeInvalidField, "length", "must be positive, or -1 for the rest")
	}
	return ParseDigest("digest", r.Digest)
}

// Of returns how many bytes of a blob the range has, if the blob has size bytes.
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
