// Package devsecret keeps the cluster secret of a `taskrt dev --secure`.
package devsecret

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/taskrt/taskrt/cmd/taskrt/internal/keys"
	"github.com/taskrt/taskrt/internal/durable"
	"github.com/taskrt/taskrt/internal/mux"
	"github.com/taskrt/taskrt/trust"
)

// Secret is the cluster secret of a `taskrt dev --secure`. It lies in the directory of the cluster, with the root token that follows from
// it.
type Secret struct {
	file, token string // names of files
	pin         string // whom clients trust
}

// Open draws the secret at the first start of a cluster that is secure. It returns nil for a cluster that is not secure.
func Open(dir string, secure bool) (*Secret, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Secret{file: filepath.Join(dir, "cluster.secret"), token: filepath.Join(dir, "root.token")}
	_, err = os.Stat(s.file)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return nil, err
	case !secure && missing:
		return nil, nil //nolint:nilnil // no secret is an answer
	case !secure:
		return nil, &keys.UsageError{Err: fmt.Errorf("the cluster in %s has a secret: say --secure, or give another --dir", dir)}
	case missing:
		if _, err := os.Stat(filepath.Join(dir, "n1")); err == nil {
			return nil, &keys.UsageError{Err: fmt.Errorf("the cluster in %s is open: give another --dir, or none", dir)}
		}
		if err := durable.WriteFile(s.file, []byte(trust.Draw().Text()+"\n")); err != nil {
			return nil, err
		}
	}
	all, err := trust.ReadSecrets(s.file) // several, while somebody tries how they are replaced
	if err != nil {
		return nil, err
	}
	s.pin = all[0].APIPin()
	return s, durable.WriteFile(s.token, []byte(all[0].RootToken().Text()+"\n"))
}

// Keys returns the keys of a node; nil without a secret.
func (s *Secret) Keys(id string, log *slog.Logger) (*trust.Keys, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // no keys is an answer
	}
	return keys.OpenSecret(mux.Node, id, s.file, log)
}

// Use is the line by which a shell's clients use the cluster.
func (s *Secret) Use(url string) string {
	quoted := "'" + strings.ReplaceAll(s.token, "'", `'\''`) + "'"
	return fmt.Sprintf("export TASKRT_SERVER=%s TASKRT_CA=%s TASKRT_TOKEN_FILE=%s", url, s.pin, quoted)
}
