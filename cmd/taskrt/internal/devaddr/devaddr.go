// Package devaddr keeps the addresses of a cluster that runs in one process: `taskrt dev`.
package devaddr

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/exit"
	"github.com/taskrt/taskrt/internal/durable"
)

// state is what DIR/dev.json keeps: the node-to-node addresses, so that a restart finds them again.
type state struct {
	Raft []string `json:"raft"`
}

const freeAddress = "127.0.0.1:0"

// Listen listens on the node-to-node addresses of the cluster in dir: the addresses of its last run, where they are
// free, else new ones. A node's identity is its ID, so its address may change (SPEC C1). The members get the listeners
// themselves, so that no other process takes an address in between. The caller closes them, also after an error.
func Listen(dir string, n int) (listeners []net.Listener, err error) {
	file := filepath.Join(dir, "dev.json")
	var kept state
	b, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kept.Raft = make([]string, n)
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(b, &kept); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(kept.Raft) != n {
		return nil, fmt.Errorf("%s holds a cluster of %d nodes: give --nodes %d, or another --dir", dir, len(kept.Raft), len(kept.Raft))
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, err
	}
	for i, addr := range kept.Raft {
		if addr == "" {
			addr = freeAddress
		}
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			if ln, err = net.Listen("tcp", freeAddress); err != nil {
				return listeners, exit.With(exit.Start, err)
			}
		}
		listeners = append(listeners, ln)
		kept.Raft[i] = ln.Addr().String()
	}
	if b, err = json.Marshal(kept); err != nil {
		return listeners, err
	}
	return listeners, os.WriteFile(file, append(b, '\n'), 0o600)
}

// Close closes listeners. Listeners that a member has taken are closed already.
func Close(listeners []net.Listener) {
	for _, ln := range listeners {
		ln.Close()
	}
}

// Of are the addresses of listeners.
func Of(listeners []net.Listener) (addrs []string) {
	for _, ln := range listeners {
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs
}

// Nth is addr with i added to its port; port 0 stays.
func Nth(addr string, i int) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", fmt.Errorf("--http: %q is not a port number", port)
	}
	if number > 0 {
		number += uint64(i)
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}
