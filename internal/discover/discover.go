// Package discover finds the addresses of nodes by name (SPEC C1): HOST:PORT, all addresses of a name, or a service record. Nothing is kept:
// names are looked up anew each time, because their addresses change.
package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// The forms of an entry besides HOST:PORT.
const (
	dns = "dns:" // dns:NAME:PORT, all addresses of a name
	srv = "srv:" // srv:NAME, a service record, which has the ports
)

// The bounds of one entry.
const (
	maxFound = 64 // addresses
	patience = 2 * time.Second
)

// Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupHost(ctx context.Context, host string) (addrs []string, err error)
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, addrs []*net.SRV, err error)
}

// Check returns an error if an entry has none of the forms.
func Check(entry string) error {
	if name, is := strings.CutPrefix(entry, srv); is {
		if name == "" || strings.ContainsAny(name, ":/ ") {
			return fmt.Errorf("%q must be srv:NAME, the name of a service record such as _taskrt._tcp.example.org", entry)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(entry, dns))
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || host == "" || e != nil || n == 0 {
		return fmt.Errorf("%q must be HOST:PORT, dns:NAME:PORT or srv:NAME", entry)
	}
	return nil
}

// Expand returns the addresses that entries stand for, in their order. What cannot be looked up now is left out, and err says why.
func Expand(ctx context.Context, r Resolver, entries []string) (addrs []string, err error) {
	var errs []error
	for _, entry := range entries {
		found, err := expand(ctx, r, entry)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", entry, err))
		}
		addrs = append(addrs, found[:min(len(found), maxFound)]...)
	}
	return addrs, errors.Join(errs...)
}

func expand(ctx context.Context, r Resolver, entry string) (addrs []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if name, is := strings.CutPrefix(entry, srv); is {
		_, records, err := r.LookupSRV(ctx, "", "", name)
		for _, x := range records { // by priority; some may be there beside an error
			addrs = append(addrs, net.JoinHostPort(strings.TrimSuffix(x.Target, "."), strconv.Itoa(int(x.Port))))
		}
		return addrs, err
	}
	rest, is := strings.CutPrefix(entry, dns)
	if !is {
		return []string{entry}, nil
	}
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		return nil, err
	}
	found, err := r.LookupHost(ctx, name)
	for _, ip := range found {
		addrs = append(addrs, net.JoinHostPort(ip, port))
	}
	return addrs, err
}
