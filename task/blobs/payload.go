package blobs

import (
	"fmt"
	"iter"
)

// MaxNamed bounds the blobs that one payload names, besides the blob that it is.
const MaxNamed = 1_000

// Wrong says what is wrong with the blobs of a payload; "": nothing. content is the blob that the payload is, of size bytes, or "". named are the
// blobs that it names. data is how many bytes it has itself. none says that it has no encoding.
func Wrong(content string, size int64, named []string, data int, none bool) string {
	switch {
	case content == "" && (size != 0 || len(named) == 0 || data == 0):
		return "a payload that is no blob and names none has no blobs"
	case content != "" && (!ValidDigest(content) || size < 0 || data > 0):
		return "a payload that is a blob has its digest, its size and no data"
	case none:
		return "a payload with blobs has an encoding"
	case len(named) > MaxNamed:
		return fmt.Sprintf("a payload names at most %d blobs", MaxNamed)
	}
	for i, s := range named {
		if !ValidDigest(s) || i > 0 && named[i-1] >= s {
			return "the blobs that a payload names are digests, sorted, each once"
		}
	}
	return ""
}

// Each yields the blobs of a payload: the blob that it is, unless content is "", and the blobs that it names.
func Each(content string, named []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if content != "" && !yield(content) {
			return
		}
		for _, s := range named {
			if !yield(s) {
				return
			}
		}
	}
}
