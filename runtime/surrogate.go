package runtime

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taskrt/taskrt/internal/jsontext"
)

// loneSurrogateAt finds the text of a JSON value that has a lone surrogate, or the object's member whose name has one.
func loneSurrogateAt(data []byte, path string) string {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	switch {
	case json.Unmarshal(data, &object) == nil:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if jsontext.LoneSurrogate(object[name]) {
				return loneSurrogateAt(object[name], under(path, name))
			}
		}
		for name := range object { // it became this, when it was read
			if strings.ContainsRune(name, utf8.RuneError) {
				return under(path, name)
			}
		}
	case json.Unmarshal(data, &list) == nil:
		for i, value := range list {
			if jsontext.LoneSurrogate(value) {
				return loneSurrogateAt(value, fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	return path
}
