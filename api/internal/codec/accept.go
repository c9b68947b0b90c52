package codec

import (
	"mime"
	"strings"
)

// TakesEvents reports whether a client asks for a stream.
func TakesEvents(accept []string) bool {
	for _, list := range accept {
		for one := range strings.SplitSeq(list, ",") {
			if media, _, _ := mime.ParseMediaType(one); media == EventMedia {
				return true
			}
		}
	}
	return false
}
