package keys

import (
	"context"
	"errors"
	"time"

	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/node/peers"
)

// enableRootTimeout is longer than a node waits for a majority.
const enableRootTimeout = 15 * time.Second

// EnableRoot turns the root token on (SPEC A4): it asks one node after the other by the cluster secret, until one answers. refused says that a node
// has answered with the error.
func EnableRoot(ctx context.Context, own mux.Guard, nodes []string) (refused bool, err error) {
	var errs []error
	for _, addr := range nodes {
		one, cancel := context.WithTimeout(ctx, enableRootTimeout)
		_, err := peers.Ask(one, mux.Dialer{Guard: own}, addr, peers.Request{Op: peers.OpEnableRoot})
		cancel()
		if err == nil || peers.Answered(err) {
			return err != nil, err
		}
		errs = append(errs, err)
	}
	return false, errors.Join(errs...)
}
