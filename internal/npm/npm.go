// Package npm installs packages of npm by a lock file, for tests, once per machine.
package npm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/taskrt/taskrt/internal/leash"
)

// Missing says which program is not there; nil: none.
func Missing() error {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w: Debian's nodejs and npm, or https://nodejs.org", err)
		}
	}
	return nil
}

// Install runs `npm ci`, unless a test on this machine has done so for the same lock file. It returns a directory node_modules, which nobody may
// change. The lock file, and its package.json, are in files; name tells them apart for people.
func Install(name string, files fs.FS) (modules string, err error) {
	sum := sha256.New()
	texts := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		texts[name] = text
		sum.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "taskrt")
	dir := filepath.Join(cache, name+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	modules = filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(cache, "npm-*") // of this process alone: another may be installing, too
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(made, name), text, 0o666); err != nil {
			return "", err
		}
	}
	cmd := leash.Command("npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return modules, nil
}
