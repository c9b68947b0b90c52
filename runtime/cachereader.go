package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
)

// errNotMade: what should have been compiled is not there, or is of no use here.
var errNotMade = errors.New("runtime: the cache has no code of this module")

// read calls f with code that another process has compiled (Config.Compile), which it is asked to do if there is none.
func (c *codeCache) read(ctx context.Context, digest string, size int64, f compileFunc) (wazero.Runtime, wazero.CompiledModule, error) {
	place := c.place(digest)
	err := verifySums(place)
	if err != nil {
		if err := c.other(ctx, digest, size); err != nil {
			return nil, nil, err
		}
		err = verifySums(place)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotMade, err)
	}
	rt, made, added, err := c.open(place, f)
	if err != nil {
		return nil, nil, err
	}
	if added != 0 { // for another CPU: the library has compiled it here
		return nil, nil, errors.Join(errNotMade, rt.Close(ctx))
	}
	return rt, made, nil
}

// CacheSize returns the bytes of the code and images in a CacheDir.
func CacheSize(dir string) int64 { return dirSize(dir) }
