package runtime

import (
	"fmt"
	"regexp"
	goruntime "runtime"
	"runtime/debug"
	"sync"

	"github.com/taskrt/taskrt/runtime/meter"
)

// codeFlags counts the settings that code was compiled with: raise it with every change of those in the function compile,
// and of the form of images.
const codeFlags = 4

// generation names all that native code depends on beside the module. wazero's own files tell its version and the CPU's
// features apart, but not how the module was rewritten.
var generation = sync.OnceValue(func() string {
	return fmt.Sprintf("wazero%s-%s-%s-m%d-f%d", wazeroVersion(), goruntime.GOOS, goruntime.GOARCH, meter.Version, codeFlags)
})

// wazeroVersion is that of go.mod; "dev" in binaries that do not know.
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

// semver is what may stand in a file's name.
var semver = regexp.MustCompile(`^v[0-9A-Za-z.-]{1,64}$`)
