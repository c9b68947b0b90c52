package compiler

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/internal/wall"
)

// TestServerLooksLate: a process stays until its server ends it. On a busy machine the server comes to look at the wall around the process when
// the process has said its result long ago.
func TestServerLooksLate(t *testing.T) {
	t.Parallel()
	module, err := subproc.Content(wasm(t, "echo"))
	if err != nil {
		t.Fatal(err)
	}
	defer module.Close()
	body, err := json.Marshal(job{Inspect: true, Name: "echo", CPU: 10 * time.Second, Memory: 200 << 20, MaxModuleBytes: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	p, err := subproc.Start(subproc.Command{Args: []string{"compile"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { p.Kill(); <-p.Done(); _ = p.Conn.Close() }()
	if err := p.Conn.Send(msgJob, body, module); err != nil {
		t.Fatal(err)
	}
	var said []byte
	for kind := byte(0); kind != msgResult; {
		m, err := p.Conn.Recv(maxMessage)
		if err != nil {
			t.Fatal(err)
		}
		if kind = m.Kind; kind == msgWall {
			said = m.Body
		}
	}
	select {
	case <-p.Done():
		t.Fatal("it has ended by itself")
	case <-time.After(500 * time.Millisecond):
	}
	var s wall.State
	if err := json.Unmarshal(said, &s); err != nil {
		t.Fatal(err)
	}
	if _, err := wall.Prove(p.PID(), s); err != nil {
		t.Error(err)
	}
}
