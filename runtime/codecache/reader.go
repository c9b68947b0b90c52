package codecache

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
)

// errNotMade says that code which should have been compiled is not there, or is of no use here.
var errNotMade = errors.New("runtime: the cache has no code of this module")

// Read calls f with code that another process has compiled. If there is none, Config.Compile asks for it.
func (c *Cache) Read(ctx context.Context, digest string, size int64, f compileFunc) (wazero.Runtime, wazero.CompiledModule, error) {
	place := c.place(digest)
	err := verifySums(place)
	if err != nil {
		if err := c.cfg.Compile(ctx, digest, size); err != nil {
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
