package scaffold

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// TestTemplatesPinWhatThisModulePins: where this module was built, a new plugin in Go builds without fetching
// anything, and the sums that it comes with are this module's.
func TestTemplatesPinWhatThisModulePins(t *testing.T) {
	for name, own := range map[string]string{"go.mod": "../../../../go.mod", "go.sum": "../../../../go.sum"} {
		text, err := fs.ReadFile(templates, path.Join(templatesDir, "go", name+templateSuffix))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for line := range strings.Lines(string(ours)) {
			known[pinned(line)] = true
		}
		checked := 0
		for line := range strings.Lines(string(text)) {
			switch fields := strings.Fields(line); {
			case len(fields) < 2 || !strings.Contains(fields[0], ".") || strings.Contains(line, "{{"):
			case !known[pinned(line)]:
				t.Errorf("templates/go/%s%s has %q, which %s has not", name, templateSuffix, line, own)
			default:
				checked++
			}
		}
		if checked < 4 {
			t.Errorf("%s: only %d lines were found", name, checked)
		}
	}
}

// pinned is a line of go.mod or go.sum without space and comments, which pin nothing.
func pinned(line string) string {
	line, _, _ = strings.Cut(line, "//")
	return strings.Join(strings.Fields(line), " ")
}

func TestReleaseVersions(t *testing.T) {
	for version, is := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc1": true, "v1.0.0-beta.2": true, "v0.0.0-20261123020034-d55fbda9c1d2": true,
		"v1.2.4-0.20261123020034-d55fbda9c1d2": true, "v1.2.3-rc1.0.20261123020034-d55fbda9c1d2": true,
		"": false, "(devel)": false, "d55fbda": false, "v1.2.3-dirty": false, "v1.2.3-5-gd55fbda": false, "unknown": false,
		"v0.0.0-20261123020034-d55fbda9c1d2+dirty": false, "v1.2.3 ": false,
	} {
		if releaseVersion.MatchString(version) != is {
			t.Errorf("%q: want %t", version, is)
		}
	}
}
