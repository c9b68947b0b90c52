//go:build !linux

package child

// breakOut is tried on Linux only: there is no wall elsewhere.
func breakOut(string) map[string]string { return nil }
