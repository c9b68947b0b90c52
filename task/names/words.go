package names

// Word returns the word of a value that counts from 1. For any other value it returns none.
func Word[T ~uint8](value T, none string, words ...string) string {
	if value == 0 || int(value) > len(words) {
		return none
	}
	return words[value-1]
}

// Ascend reports whether n names ascend. Then each is there only once.
func Ascend(n int, name func(i int) string) bool {
	for i := 1; i < n; i++ {
		if name(i-1) >= name(i) {
			return false
		}
	}
	return true
}

// Note adds n names to those seen.
func Note(seen map[string]bool, n int, name func(i int) string) {
	for i := range n {
		seen[name(i)] = true
	}
}
