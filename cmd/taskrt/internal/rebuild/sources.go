package rebuild

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

const maxSources = 20_000 // files of a plugin

// fingerprint tells by names, sizes and times whether anything in a plugin's directory has changed that it is built of. What compilers leave there
// does not count, nor do hidden files.
func fingerprint(dir string) (string, error) {
	h, n := sha256.New(), 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if e.IsDir() {
			if path != dir && (name[0] == '.' || name == "node_modules" || name == "target" || name == "build") {
				return fs.SkipDir
			}
			return nil
		}
		if name[0] == '.' || name == "Cargo.lock" || strings.HasSuffix(name, ".wasm") || strings.HasSuffix(name, "~") {
			return nil
		}
		if n++; n > maxSources {
			return fmt.Errorf("%s holds more than %d files: name the directory of one plugin", dir, maxSources)
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it has just gone: the next look does not see it
		}
		_, _ = h.Write(fmt.Appendf(nil, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())) // a hash takes all
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
