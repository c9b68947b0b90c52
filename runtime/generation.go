package runtime

import (
	"fmt"
	"regexp"
	goruntime "runtime"
	"runtime/debug"
	"sync"

	"github.com/taskrt/taskrt/runtime/meter"
)

// codeFlags counts the settings that code was compiled with. Raise it with every change of the settings in the
// function compile, and of the form of images.
const codeFlags = 4

// generation names all that native code depends on beside the module. wazero's own files tell its version and the
// CPU's features apart, but not how the module was rewritten.
var generation = sync.OnceValue(func() string {
	return fmt.Sprintf("wazero%s-%s-%s-m%d-f%d", wazeroVersion(), goruntime.GOOS, goruntime.GOARCH, meter.Version, codeFlags)
})

// wazeroVersion is the version of wazero in go.mod; "dev" in binaries that do not know it.
func wazeroVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/tetratelabs/wazero" && semver.MatchString(d.Version) {
				return d.Version
			}
		}
	}
	return "dev"
}

// semver matches versions that may stand in a file's name.
var semver = regexp.MustCompile(`^v[0-9A-Za-z.-]{1,64}$`)
