package server

import (
	"cmp"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/keyed"
)

// readKey reads the Idempotency-Key of a request that may change something.
func readKey(r *request) (k keyed.Once, err error) {
	if !r.route.changes() {
		return k, nil
	}
	key, err := keyed.Read(r.Header)
	if key == "" || err != nil {
		return k, err
	}
	return keyed.Once{
		Key: key, Route: r.route.method + " " + r.route.path, Method: r.Method,
		Target: r.URL.EscapedPath() + "?" + r.query.values.Encode(), Namespace: cmp.Or(r.query.values.Get("namespace"), api.DefaultNamespace),
	}, nil
}
