package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/taskrt/taskrt/internal/bench"
	"github.com/taskrt/taskrt/internal/leash"
	"github.com/taskrt/taskrt/internal/trio"
)

// startTime is how long it may take until a stream with three replicas is there.
const startTime = time.Minute

// servers are three processes of nats-server, their directory, and a connection to each.
type servers struct {
	dir   string
	ended []chan struct{}
	cmds  []*exec.Cmd
	conns []*nats.Conn
	js    []jetstream.JetStream
}

// config of one server. sync_interval is what makes it compare: the default lets the page cache keep two minutes of acknowledged
// messages.
const config = `server_name: %[1]s
listen: "%[2]s"
jetstream {
  store_dir: %[3]q
  sync_interval: always
  max_memory_store: 64MB
  max_file_store: 16GB
}
cluster {
  name: bench
  listen: "%[4]s"
  routes: [%[5]s]
}
`

// startServers starts three on loopback, and makes the stream.
func startServers(ctx context.Context, binary string) (*servers, error) {
	dir, err := os.MkdirTemp("", "jetstream-bench-")
	if err != nil {
		return nil, err
	}
	s := &servers{dir: dir}
	if err := s.start(ctx, binary); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *servers) start(ctx context.Context, binary string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("JetStream was not ready within %v", startTime))
	defer cancel()
	addrs, err := trio.FreeAddresses(2 * trio.Size)
	if err != nil {
		return err
	}
	var routes []string
	for _, a := range addrs[trio.Size:] {
		routes = append(routes, `"nats-route://`+a+`"`)
	}
	for i := range trio.Size {
		name := fmt.Sprintf("n%d", i+1)
		file := filepath.Join(s.dir, name+".conf")
		text := fmt.Sprintf(config, name, addrs[i], filepath.Join(s.dir, name), addrs[trio.Size+i], strings.Join(routes, ", "))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		cmd := leash.Command(binary, "-c", file, "-l", filepath.Join(s.dir, name+".log"))
		if err := cmd.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		s.cmds, s.ended = append(s.cmds, cmd), append(s.ended, ended)
	}
	for _, addr := range addrs[:trio.Size] {
		if err := s.connect(ctx, "nats://"+addr); err != nil {
			return err
		}
	}
	return s.makeStream(ctx)
}

// connect tries until the server answers.
func (s *servers) connect(ctx context.Context, url string) error {
	for {
		conn, err := nats.Connect(url)
		if err == nil {
			js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(maxPending))
			s.conns, s.js = append(s.conns, conn), append(s.js, js)
			return err
		}
		if err := bench.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

const (
	streamName = "BENCH"
	subject    = "bench.task"
)

// makeStream makes a work queue in three files. It tries until the servers have a leader that takes it.
func (s *servers) makeStream(ctx context.Context) error {
	for {
		once, cancel := context.WithTimeout(ctx, 2*time.Second) // nobody answers a request that came before there was a leader
		_, err := s.js[0].CreateStream(once, jetstream.StreamConfig{
			Name: streamName, Subjects: []string{subject}, Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: trio.Size,
		})
		cancel()
		if err == nil {
			return nil
		}
		if ended := bench.Pause(ctx, 100*time.Millisecond); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}

func (s *servers) pids() (list []int) {
	for _, cmd := range s.cmds {
		list = append(list, cmd.Process.Pid)
	}
	return list
}

// stop ends all and removes what they kept.
func (s *servers) stop() error {
	for _, c := range s.conns {
		c.Close()
	}
	for i, cmd := range s.cmds {
		_ = cmd.Process.Kill()
		<-s.ended[i]
	}
	return os.RemoveAll(s.dir)
}
