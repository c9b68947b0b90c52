package child

import (
	"sync"
	"time"

	"github.com/taskrt/taskrt/internal/subproc"
	"github.com/taskrt/taskrt/runtime"
	"github.com/taskrt/taskrt/worker"
)

// events is what the child tells its parent without being asked. A teller never waits for the socket, because it may
// hold the worker's locks.
type events struct {
	conn *subproc.Conn
	wake chan struct{}

	sending sync.Mutex // held while sending, so that messages are sent in their order

	mu       sync.Mutex
	session  worker.Held // the last session; Session 0: none
	news     bool        // session has not been sent
	suspect  bool        // whether suspects wait
	told     bool        // the value of suspect that the parent was told
	attempts []byte      // attempts that have ended; see appendEnded
	made     []compiled
	reports  []report
}

const (
	// endedEvery is how long ended attempts wait for further ones.
	endedEvery = 10 * time.Millisecond
	// maxEnded bounds in bytes the news that waits for a parent that does not read. The parent is not told of further attempts, and does not count
	// them.
	maxEnded = maxMessage / 2
	// aliveEvery is how often a child without a session, which has nothing to renew, says that it lives, and that no guest
	// executes for aliveTTL.
	aliveEvery = 3 * time.Second
	aliveTTL   = 30 * time.Second
)

func newEvents(conn *subproc.Conn) *events {
	return &events{conn: conn, wake: make(chan struct{}, 1), news: true}
}

func (e *events) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// held is the child's OnSession of worker.Config.
func (e *events) held(h worker.Held) {
	e.mu.Lock()
	e.session, e.news = h, true
	e.mu.Unlock()
	e.nudge()
}

// suspects is the child's OnSuspects of worker.Config.
func (e *events) suspects(wait bool) {
	e.mu.Lock()
	e.suspect = wait
	e.mu.Unlock()
	e.nudge()
}

// ended is the child's OnEnd of worker.Config.
func (e *events) ended(x worker.Ended) {
	e.mu.Lock()
	first := len(e.attempts) == 0
	if len(e.attempts) < maxEnded {
		e.attempts = appendEnded(e.attempts, &x)
	}
	e.mu.Unlock()
	if first {
		e.nudge()
	}
}

// compiled is the child's OnCompile of runtime.Config.
func (e *events) compiled(x runtime.Compiled) {
	c := compiled{Digest: x.Digest, Took: x.Took, Cached: x.Cached}
	if x.Err != nil {
		c.Err = x.Err.Error()
	}
	e.mu.Lock()
	e.made = append(e.made, c)
	e.mu.Unlock()
	e.nudge()
}

// ask answers the parent's question, behind everything that happened before it.
func (e *events) ask(r report) {
	e.mu.Lock()
	e.reports = append(e.reports, r)
	e.mu.Unlock()
	e.nudge()
}

// run sends what waits, for the process's life.
func (e *events) run() {
	alive := time.NewTicker(aliveEvery)
	for {
		select {
		case <-e.wake:
		case <-alive.C:
			e.mu.Lock()
			e.news = e.news || e.session.Session == 0
			e.mu.Unlock()
		}
		if e.flush() {
			time.Sleep(endedEvery)
		}
	}
}

// flush sends what waits. busy says that attempts have ended, so that more may follow soon. If the socket is broken, listen ends the process.
func (e *events) flush() (busy bool) {
	e.sending.Lock()
	defer e.sending.Unlock()
	e.mu.Lock()
	session, news, attempts, made, reports := e.session, e.news, e.attempts, e.made, e.reports
	e.news, e.attempts, e.made, e.reports = false, nil, nil, nil
	suspect, tell := e.suspect, e.suspect != e.told
	e.told = e.suspect
	e.mu.Unlock()
	if news {
		if session.Session == 0 {
			session = worker.Held{TTL: aliveTTL, Sent: runtime.Boottime()}
		}
		_ = send(e.conn, msgHeld, session)
	}
	if tell {
		_ = send(e.conn, msgSuspects, suspect)
	}
	if len(attempts) > 0 {
		_ = e.conn.Send(msgEnded, attempts)
	}
	for _, c := range made {
		_ = send(e.conn, msgCompiled, c)
	}
	for _, r := range reports {
		_ = send(e.conn, msgReport, r)
	}
	return len(attempts) > 0
}
