package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/taskrt/taskrt/internal/corpus"
	"github.com/taskrt/taskrt/internal/idle"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
	"github.com/taskrt/taskrt/raftstore/logstore"
)

// server is a server of the version, started or not.
type server struct {
	m         *maker
	d         *corpus.Directory
	dir, ttl  string
	http, url string
	raft      string
	recipient string // of what is encrypted
	maintain  bool
	cmd       *exec.Cmd
	gone      chan struct{}
}

// capabilities grant what the life needs.
const capabilities = `{"grants":[{"namespace":"default","behavior":"submits*","tasks":["*"]}]}`

// server starts a server in the directory dir, which it makes.
func (m *maker) server(ctx context.Context, dir string, d *corpus.Directory, maintain bool) (*server, error) {
	s := &server{m: m, d: d, dir: dir, ttl: "3s", maintain: maintain}
	for _, sub := range []string{"life", corpus.TokensDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	addrs, err := trio.FreeAddresses(2)
	if err != nil {
		return nil, err
	}
	s.http, s.raft = addrs[0], addrs[1]
	if err := os.WriteFile(filepath.Join(dir, "life", "capabilities.json"), []byte(capabilities), 0o600); err != nil {
		return nil, err
	}
	if d.Secured() {
		for _, made := range []struct {
			file string
			args []string
		}{
			{s.secret(), []string{"secret", "new"}},
			{s.rootToken(), []string{"token", "root", "--cluster-secret", s.secret()}},
			{s.ca(), []string{"secret", "ca", "--pem", s.secret()}},
		} {
			text, err := leash.CommandContext(ctx, m.exe, made.args...).Output()
			if err != nil {
				return nil, fmt.Errorf("taskrt %s: %w", strings.Join(made.args, " "), err)
			}
			if err := os.WriteFile(made.file, text, 0o600); err != nil {
				return nil, err
			}
		}
	}
	if err := s.prepareBackups(); err != nil {
		return nil, err
	}
	return s, s.start(ctx)
}

func (s *server) secret() string    { return filepath.Join(s.dir, corpus.SecretFile) }
func (s *server) rootToken() string { return filepath.Join(s.dir, "life", "root.token") }
func (s *server) ca() string        { return filepath.Join(s.dir, "life", "ca.pem") }

// start starts the process and waits until it is ready.
func (s *server) start(ctx context.Context) error {
	args := []string{
		"server", "--id", "n1", "--dir", filepath.Join(s.dir, corpus.DataDir), "--http", s.http, "--raft", s.raft, "--log-store", s.d.Store,
		"--session-ttl", s.ttl, "--worker-slots", "4", "--capabilities", filepath.Join(s.dir, "life", "capabilities.json"), "--maintenance-every", "0s",
	}
	s.url = "http://" + s.http
	if s.d.Secured() {
		args = append(args, "--cluster-secret", s.secret())
		s.url = "https://" + s.http
	}
	if s.maintain && s.d.Level == 1 {
		args = append(args, "--hold-feature-level")
	}
	if s.maintain {
		args = append(args, "--maintenance-grace", "1ms", "--maintenance-grace-for-tests")
	}
	args = append(args, s.backupFlags()...)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = leash.Command(s.m.exe, args...)
	s.cmd.Stderr = log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	gone, ready := make(chan struct{}), make(chan bool, 1)
	s.gone = gone
	go func(cmd *exec.Cmd) {
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		ready <- strings.HasPrefix(line, "ready ")
		_, _ = io.Copy(io.Discard, r)
		_ = cmd.Wait()
		close(gone)
	}(s.cmd)
	if !<-ready {
		return errors.New("the server does not start: " + s.log())
	}
	return s.eventually(ctx, "it leads", func() bool {
		st, err := s.status(ctx)
		return err == nil && st.Leader == "n1"
	})
}

func (s *server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// stop ends the server as an operator does: it writes a snapshot.
func (s *server) stop(ctx context.Context) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.gone:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server ended with code %d: %s", code, s.log())
	}
	return nil
}

// kill ends it with all that it has started.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.gone
}

// connect are the flags and variables by which a command reaches the server.
func (s *server) connect() []string {
	env := []string{"TASKRT_SERVER=" + s.url}
	if s.d.Secured() {
		env = append(env, "TASKRT_CA="+s.ca(), "TASKRT_TOKEN_FILE="+s.rootToken())
	}
	return env
}

// cli runs a command, and returns its standard output.
func (s *server) cli(ctx context.Context, args ...string) (string, error) {
	cmd := leash.CommandContext(ctx, s.m.exe, args...)
	cmd.Env = append(os.Environ(), s.connect()...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("taskrt %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// status is the part of a cluster's status that is needed here.
type status struct {
	Leader string
	Nodes  []struct {
		Applied uint64 `json:"applied_index"`
		Digest  string
	}
	Level struct{ Level, Known uint64 } `json:"feature_level"`
}

func (s *server) status(ctx context.Context) (st status, err error) {
	text, err := s.cli(ctx, "cluster", "status", "-o", "json")
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal([]byte(text), &st)
}

func (s *server) eventually(ctx context.Context, what string, ok func() bool) error {
	for !ok() {
		if !idle.For(ctx, 200*time.Millisecond) {
			return fmt.Errorf("it is not so that %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// settle waits until nothing is written any more, and notes the state.
func (s *server) settle(ctx context.Context, d *corpus.Directory) error {
	st, err := s.status(ctx)
	if err != nil {
		return err
	}
	if st.Level.Level != d.Level {
		return fmt.Errorf("the level is %d, not %d", st.Level.Level, d.Level)
	}
	before, same := "", 0
	return s.eventually(ctx, "nothing is written", func() bool {
		st, err := s.status(ctx)
		if err != nil || len(st.Nodes) != 1 {
			return false
		}
		if same++; st.Nodes[0].Digest != before {
			before, same = st.Nodes[0].Digest, 0
		}
		_, err = fmt.Sscanf(strings.Replace(before, ":", " ", 1), "%d %s", &d.Index, &d.Digest)
		return err == nil && same > 15
	})
}

// lastEntry checks that nothing was written after the digest was read, and notes the cluster's ID.
func lastEntry(dir string, d *corpus.Directory) error {
	copied := filepath.Join(dir, "life", "copy")
	if err := os.CopyFS(copied, os.DirFS(filepath.Join(dir, corpus.RaftDir))); err != nil {
		return err
	}
	log, err := logstore.Open(copied, logstore.Kind(d.Store), logstore.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	last, err := log.LastIndex()
	if err != nil {
		return err
	}
	for ; last > d.Index; last-- {
		var e raft.Log
		if err := log.GetLog(last, &e); err != nil {
			return err
		}
		if e.Type == raft.LogCommand {
			return fmt.Errorf("entry %d was written after the digest of entry %d was read: try again", last, d.Index)
		}
	}
	text, err := os.ReadFile(filepath.Join(copied, "node.json"))
	if err != nil {
		return err
	}
	var book struct{ Cluster string }
	if err := json.Unmarshal(text, &book); err != nil || book.Cluster == "" {
		return fmt.Errorf("node.json names no cluster: %s, %w", text, err)
	}
	d.Cluster = book.Cluster
	return nil
}
