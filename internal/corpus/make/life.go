package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/internal/leash"
)

//go:embed first.sh second.sh
var lives embed.FS

// prelude are the commands of the lives.
const prelude = `
api() {
  local args=(-sSf -X "$1" "$S$2"); (( $# > 2 )) && args+=(--json "@-")
  if (( LEVEL >= 2 )); then args+=(--cacert "$TASKRT_CA" -H "Authorization: Bearer $(cat "$TASKRT_TOKEN_FILE")"); fi
  printf %s "${3:-}" | curl "${args[@]}"
}
refused() { if "$@" > refused.out 2>&1; then echo "it was not refused: $*"; exit 1; fi }
crash() { kill -9 "$(pgrep -P "$SERVER" -f guests)"; }
NODE=(--cluster-secret "$SECRET" --node "$RAFT")
set -x
`

// life lets a script work with the server. Its tokens are kept.
func (s *server) life(ctx context.Context, script string) error {
	text, err := lives.ReadFile(script)
	if err != nil {
		return err
	}
	bin := filepath.Join(s.dir, "life", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(s.m.exe, filepath.Join(bin, "taskrt")); err != nil && !os.IsExist(err) {
		return err
	}
	cmd := leash.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", prelude+string(text))
	cmd.Dir = filepath.Join(s.dir, "life")
	cmd.Env = append(append(os.Environ(), s.connect()...), "S="+s.url, fmt.Sprint("LEVEL=", s.d.Level), "WASM="+s.m.wasm, "SECRET="+s.secret(),
		"RAFT="+s.raft, "BACKUPS="+filepath.Join(s.dir, corpus.BackupsDir), "SAVES="+s.saves(), fmt.Sprint("SERVER=", s.cmd.Process.Pid), "PATH="+bin+":"+os.Getenv("PATH"))
	said, err := os.Create(filepath.Join(s.dir, "life", "said")) // a file: a pipe would be held open by what a script leaves behind
	if err != nil {
		return err
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		out, _ := os.ReadFile(said.Name())
		return fmt.Errorf("%s: %w\n%s\nthe server says:\n%s", script, err, out[max(0, len(out)-8000):], s.log())
	}
	tokens, err := filepath.Glob(filepath.Join(cmd.Dir, "*.token"))
	if err != nil {
		return err
	}
	for _, file := range tokens {
		if file == s.rootToken() {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(s.dir, corpus.TokensDir, filepath.Base(file)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
