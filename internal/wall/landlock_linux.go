package wall

import (
	"errors"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// landlockLacks says why this kernel restricts no paths; nil: it does.
func landlockLacks() error {
	if v, err := ll.LandlockGetABIVersion(); err != nil || v < 1 {
		return errors.New("not supported by this kernel, or switched off: any file of its user can be read")
	}
	return nil
}

// restrictPaths leaves the paths of the Plan in all threads, as far as this kernel can.
func restrictPaths(p Plan) error {
	if landlockLacks() != nil {
		return nil //nolint:nilerr // what lacks is shown, and is no failure
	}
	var rules []landlock.Rule
	if len(p.Reads) > 0 {
		rules = append(rules, landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, p.Reads...).IgnoreIfMissing())
	}
	if len(p.Writes) > 0 {
		rules = append(rules, landlock.RWDirs(p.Writes...).IgnoreIfMissing())
	}
	return landlock.V11.BestEffort().Restrict(rules...)
}

// triedPath opens a directory that no Plan names.
func triedPath() error {
	fd, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd) // nothing can be lost
		return errNotInForce
	}
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	return nil
}
