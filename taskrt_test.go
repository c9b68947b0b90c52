package taskrt

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVersion (SPEC C9): the version stands in one file, and the log of changes begins with it.
func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-dev)?$`).MatchString(Version) {
		t.Errorf("VERSION holds %q", version)
	}
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## ")
	if first, _, _ := strings.Cut(rest, "\n"); !strings.HasPrefix(first, strings.TrimSuffix(Version, "-dev")) {
		t.Errorf("VERSION is %s, and CHANGELOG.md begins with %q", Version, first)
	}
}
