package scan

// MaxDepth bounds how deep a JSON body may nest, because everything that walks params later (schema, canonical form) recurses.
const MaxDepth = 256

// TooDeep reports whether a text nests deeper than MaxDepth. It counts brackets outside strings, and runs before anything that
// recurses.
func TooDeep(b []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// CompactLen returns the length of a JSON text without insignificant white space.
func CompactLen(text []byte) int {
	n, inString, escaped := 0, false, false
	for _, c := range text {
		switch {
		case inString:
			inString = escaped || c != '"'
			escaped = c == '\\' && !escaped
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			continue
		default:
			inString = c == '"'
		}
		n++
	}
	return n
}
