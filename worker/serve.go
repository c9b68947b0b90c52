package worker

import (
	"context"
	"slices"
	"time"

	"github.com/taskrt/taskrt/worker/making"
	"github.com/taskrt/taskrt/worker/stream"
)

// serve speaks over a connection until it breaks, hangs, or the session is over. The error says which of these happened.
func (s *session) serve(conn *stream.Conn) error {
	ctx, cancel := context.WithCancelCause(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cancel(s.read(conn))
	}()
	err := s.write(ctx, conn)
	_ = conn.Close()
	<-done
	return err
}

// read handles what the leader says.
func (s *session) read(conn *stream.Conn) error {
	for {
		f, err := conn.Recv()
		if err != nil {
			return err
		}
		switch {
		case f.Renewed != nil:
			s.renewed(f.Renewed)
		case f.Acks != nil:
			for _, a := range f.Acks {
				s.ack(a)
			}
			s.nudge()
		case f.Assign != nil:
			s.assign(f.Assign)
		case f.Cancel != nil:
			s.cancel(f.Cancel)
		case f.Halt != nil:
			s.halt(f.Halt)
		case f.Answer != nil:
			s.answered(*f.Answer)
		case f.Suspects != nil:
			s.w.cfg.OnSuspects(f.Suspects.Wait)
		case f.Prepare != nil:
			s.w.modules.prepare(f.Prepare)
		case f.Refused != nil:
			return &refusedError{*f.Refused}
		case f.NotFound:
			s.lose(errSessionNotFound)
			return errSessionNotFound
		case f.Goodbye != nil:
			s.lose(errSessionClosed)
			return errSessionClosed
		}
	}
}

// renewed handles a committed renewal. The margin counts from before the renewal was sent (SPEC L5). The halts and cancels in it are
// the fallback for pushes that were lost (SPEC L8).
func (s *session) renewed(f *stream.Renewed) {
	s.mu.Lock()
	sent, ok := s.renewals[f.N]
	delete(s.renewals, f.N)
	s.mu.Unlock()
	if ok {
		if s.fence.extend(sent) {
			s.w.cfg.OnSession(Held{Session: s.id, TTL: s.ttl, Sent: sent})
		}
		s.clocked(sent, f.LeaseNow)
	}
	if !s.alive() {
		return
	}
	s.halt(f.Halt)
	s.cancel(f.Cancel)
}

// said is what the worker has told the leader over one connection.
type said struct {
	credits stream.Credits
	ready   []string
	pace    toldPace
	making  making.Told
	bye     bool
}

// write sends whatever waits, renewals in time, and gives up on a leader that does not answer them.
func (s *session) write(ctx context.Context, conn *stream.Conn) error {
	renew := time.NewTicker(s.ttl / renewFraction)
	defer renew.Stop()
	logs := time.NewTicker(logEvery)
	defer logs.Stop()
	answer := time.NewTimer(time.Hour)
	answer.Stop()
	defer answer.Stop()
	pause := time.NewTimer(0) // after live progress: progress that comes meanwhile is told together
	defer pause.Stop()
	pausing := true
	var told said
	s.nudge()
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-answer.C:
			if s.unanswered() {
				return errNoAnswer
			}
		case <-renew.C:
			answer.Reset(s.ttl / answerFraction)
			if err = s.renew(conn); err == nil {
				s.queueProgress()
				err = s.flush(conn, &told)
			}
		case <-logs.C:
			s.queueLogs()
			err = s.flush(conn, &told)
		case <-s.wake:
			err = s.flush(conn, &told)
		case <-s.live:
			if !pausing {
				pausing = true
				pause.Reset(0)
			}
		case <-pause.C:
			if pausing, err = s.sendLive(conn); pausing {
				pause.Reset(liveEvery)
			}
		}
		if err != nil {
			return err
		}
	}
}

// renew sends a Renew. It reads the clock first; a session past its margin is not renewed.
func (s *session) renew(conn *stream.Conn) error {
	sent := s.w.cfg.Boottime()
	if !s.alive() {
		return context.Cause(s.ctx)
	}
	s.mu.Lock()
	s.renewal++
	s.renewals[s.renewal] = sent
	f := &stream.Renew{N: s.renewal, Acked: s.acked, Held: s.heldLocked()}
	s.mu.Unlock()
	return conn.Send(stream.Frame{Renew: f})
}

func (s *session) unanswered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.renewals) > 0
}

// flush sends everything that waits, each kind in one frame. Logs go before the report that ends their attempt, reports
// before the credits for the slots that they free. Nothing of a session past its margin is sent (SPEC L5).
func (s *session) flush(conn *stream.Conn, told *said) error {
	now := s.w.cfg.Boottime()
	if !s.aliveAt(now) {
		return context.Cause(s.ctx)
	}
	ready := s.w.modules.digests()
	s.mu.Lock()
	logs, reports := s.logs, s.takeLocked()
	s.logs = nil
	credits := s.creditsLocked(now)
	bye := s.bye && !told.bye
	asks := s.takeAsksLocked()
	s.mu.Unlock()

	var frames []stream.Frame
	if len(logs) > 0 {
		frames = append(frames, stream.Frame{Logs: logs})
	}
	if len(reports) > 0 {
		frames = append(frames, stream.Frame{Reports: reports})
	}
	for _, q := range asks {
		frames = append(frames, stream.Frame{Ask: q})
	}
	if len(ready) > 0 && !slices.Equal(ready, told.ready) {
		frames = append(frames, stream.Frame{Ready: ready})
	}
	if news := s.w.modules.making.News(&told.making); len(news) > 0 {
		frames = append(frames, stream.Frame{Unready: news})
	}
	if news := s.w.pace.news(&told.pace); len(news) > 0 {
		frames = append(frames, stream.Frame{Pace: news})
	}
	if credits != told.credits {
		frames = append(frames, stream.Frame{Credits: &credits})
	}
	if bye {
		frames = append(frames, stream.Frame{Bye: &stream.Bye{}})
	}
	if err := conn.Send(frames...); err != nil {
		return err
	}
	told.credits, told.ready, told.bye = credits, ready, told.bye || bye
	return nil
}
