package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"filippo.io/age"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/internal/leash"
)

// backups are where the life of a server saves: one is encrypted, and which one differs from directory to directory.
func backups(d *corpus.Directory) []corpus.Backup {
	if !d.Saved() {
		return nil
	}
	return []corpus.Backup{
		{Place: path.Join(corpus.BackupsDir, "saved.taskrt"), Sealed: d.Store == "wal"},
		{Place: path.Join(corpus.BackupsDir, "target"), Sealed: d.Store == "bolt", Target: true},
	}
}

// prepareBackups makes the target, and draws the secret key for what is encrypted.
func (s *server) prepareBackups() error {
	if !s.maintain || !s.d.Saved() {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(s.dir, corpus.BackupsDir, "target"), 0o700); err != nil {
		return err
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	s.recipient = key.Recipient().String()
	return os.WriteFile(filepath.Join(s.dir, corpus.IdentityFile), []byte(key.String()+"\n"), 0o600)
}

// backupFlags let the server back itself up.
func (s *server) backupFlags() (args []string) {
	for _, b := range backups(s.d) {
		if b.Target && s.maintain {
			args = append(args, "--backup-to", filepath.Join(s.dir, b.Place), "--backup-every", "240h")
			if b.Sealed {
				args = append(args, "--backup-encrypt-to", s.recipient)
			}
		}
	}
	return args
}

// saves are the flags with which the life saves a file.
func (s *server) saves() string {
	for _, b := range backups(s.d) {
		if !b.Target && b.Sealed {
			return "--encrypt-to " + s.recipient
		}
	}
	return ""
}

// noteBackups notes what the version says of its backups, after it has verified them.
func (s *server) noteBackups(ctx context.Context, d *corpus.Directory) error {
	for _, b := range backups(d) {
		args := []string{filepath.Join(s.dir, b.Place), "-o", "json"}
		if b.Target {
			args = append(args, "--cluster", d.Cluster)
		}
		if b.Sealed {
			args = append(args, "--identity", filepath.Join(s.dir, corpus.IdentityFile))
		}
		out, err := s.cli(ctx, append([]string{"snapshot", "verify"}, args...)...)
		if err != nil {
			return err
		}
		var v struct {
			Header struct {
				Cluster string
				Index   uint64
				Digest  uint64 `json:",string"`
			}
		}
		if err := json.Unmarshal([]byte(out), &v); err != nil || v.Header.Cluster != d.Cluster {
			return fmt.Errorf("%s: %s, %w", b.Place, out, err)
		}
		b.Index, b.Digest = v.Header.Index, fmt.Sprintf("%016x", v.Header.Digest)
		d.Backups = append(d.Backups, b)
	}
	return nil
}

// recover founds a new cluster of the directory of the server, which does not run.
func (s *server) recover(ctx context.Context) error {
	args := []string{"cluster", "recover", "--dir", filepath.Join(s.dir, corpus.DataDir), "-o", "json"}
	for _, more := range []bool{false, true} {
		out, err := leash.CommandContext(ctx, s.m.exe, args...).Output()
		var had struct{ Cluster, Founded string }
		if err := errors.Join(err, json.Unmarshal(out, &had)); err != nil || more && had.Founded == "" {
			return fmt.Errorf("recover: %s, %w", out, err)
		}
		args = append(args, "--cluster", had.Cluster)
	}
	return nil
}
