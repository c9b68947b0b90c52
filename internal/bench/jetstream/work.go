package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/taskrt/taskrt/internal/bench"
)

const (
	maxPending   = 4096   // unanswered publishes of a connection in bulk
	maxUnacked   = 20_000 // of the consumer; the default of 1,000 slows it down
	pulled       = 1000   // messages that each pull asks for
	confirmers   = 256    // acks waited for at a time, by each of the three consumers
	answerHeader = "Answer"
	answerTime   = 30 * time.Second
)

// submit publishes one message per call, and waits for its ack.
func (s *servers) submit(ctx context.Context, c settings, callers int) (figures, error) {
	l := bench.Loop{Callers: callers, Warmup: c.warmup, Length: c.length, Call: func(ctx context.Context, caller int) error {
		_, err := s.js[caller%len(s.js)].Publish(ctx, subject, c.payload)
		return err
	}}
	return s.measure(ctx, l, 1)
}

// bulk publishes batches without waiting in between, then waits for the acks of all.
func (s *servers) bulk(ctx context.Context, c settings, callers int) (figures, error) {
	l := bench.Loop{Callers: callers, Warmup: c.warmup, Length: c.length, Call: func(ctx context.Context, caller int) error {
		return s.batch(ctx, caller, c.batch, c.payload)
	}}
	return s.measure(ctx, l, c.batch)
}

// measure runs a loop whose calls are so many messages each.
func (s *servers) measure(ctx context.Context, l bench.Loop, messages int) (figures, error) {
	cpu := bench.MeterCPU(s.pids()...)
	m, err := l.Run(ctx)
	if err != nil {
		return figures{}, err
	}
	return figures{m.Rate() * float64(messages), float64(m.Times.ValueAtQuantile(50)) / 1000, cpu.PerTask(m.All * int64(messages))}, nil
}

func (s *servers) batch(ctx context.Context, caller, n int, payload []byte) error {
	js := s.js[caller%len(s.js)]
	acks := make([]jetstream.PubAckFuture, n)
	for i := range acks {
		var err error
		if acks[i], err = js.PublishAsync(subject, payload); err != nil {
			return err
		}
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// endToEnd publishes one message per call, and waits until a consumer has handled it, acked it, and said so.
func (s *servers) endToEnd(ctx context.Context, c settings, confirmed bool) (figures, error) {
	stop, err := s.consume(ctx, confirmed, func(conn *nats.Conn, m jetstream.Msg) error {
		return conn.Publish(m.Headers().Get(answerHeader), m.Data())
	})
	if err != nil {
		return figures{}, err
	}
	defer stop()
	inboxes := make([]*nats.Subscription, e2eCallers)
	for i := range inboxes {
		conn := s.conns[i%len(s.conns)]
		if inboxes[i], err = conn.SubscribeSync(conn.NewInbox()); err != nil {
			return figures{}, err
		}
		defer func() { _ = inboxes[i].Unsubscribe() }()
	}
	l := bench.Loop{Callers: e2eCallers, Warmup: c.warmup, Length: c.length, Call: func(ctx context.Context, caller int) error {
		inbox := inboxes[caller]
		m := &nats.Msg{Subject: subject, Header: nats.Header{answerHeader: {inbox.Subject}}, Data: c.payload}
		if _, err := s.js[caller%len(s.js)].PublishMsg(ctx, m); err != nil {
			return err
		}
		answer, err := inbox.NextMsg(answerTime)
		if err == nil && !bytes.Equal(answer.Data, c.payload) {
			err = errors.New("an answer is not what was sent")
		}
		return err
	}}
	return s.measure(ctx, l, 1)
}

// drain handles and acks so many messages that wait already; it ends when the stream is empty.
func (s *servers) drain(ctx context.Context, c settings, confirmed bool) (figures, error) {
	const callers = 4
	fill := bench.Loop{Callers: callers, Limit: int64(c.tasks / c.batch), Call: func(ctx context.Context, caller int) error { return s.batch(ctx, caller, c.batch, c.payload) }}
	if _, err := fill.Run(ctx); err != nil {
		return figures{}, fmt.Errorf("fill the queue: %w", err)
	}
	begun, cpu := time.Now(), bench.MeterCPU(s.pids()...)
	var handled atomic.Int64
	stop, err := s.consume(ctx, confirmed, func(*nats.Conn, jetstream.Msg) error { handled.Add(1); return nil })
	if err != nil {
		return figures{}, err
	}
	defer stop()
	stream, err := s.js[0].Stream(ctx, streamName)
	if err != nil {
		return figures{}, err
	}
	for {
		info, err := stream.Info(ctx)
		if err != nil {
			return figures{}, err
		}
		if info.State.Msgs == 0 {
			break
		}
		if err := bench.Pause(ctx, 20*time.Millisecond); err != nil {
			return figures{}, err
		}
	}
	took := time.Since(begun)
	if n := handled.Load(); n < int64(c.tasks) {
		return figures{}, fmt.Errorf("%d messages were handled, and %d sent", n, c.tasks)
	}
	return figures{rate: float64(c.tasks) / took.Seconds(), cpu: cpu.PerTask(int64(c.tasks))}, nil
}

// consume pulls through each server's connection, all of one durable consumer, until stop is called. What handle took is acked: confirmed
// waits until the servers say that they have the ack, before then is called; else the ack is only sent.
func (s *servers) consume(ctx context.Context, confirmed bool, then func(*nats.Conn, jetstream.Msg) error) (stop func(), err error) {
	const name = "worker"
	var running []jetstream.ConsumeContext
	var wg sync.WaitGroup
	stop = func() {
		for _, r := range running {
			r.Stop()
			<-r.Closed()
		}
		wg.Wait()
		_ = s.js[0].DeleteConsumer(ctx, streamName, name) // the servers are stopped with what they keep
	}
	for i, js := range s.js {
		consumer, err := js.CreateOrUpdateConsumer(ctx, streamName, jetstream.ConsumerConfig{
			Durable: name, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: maxUnacked,
		})
		if err != nil {
			stop()
			return nil, err
		}
		room := make(chan struct{}, confirmers)
		run, err := consumer.Consume(func(m jetstream.Msg) {
			if !confirmed {
				if m.Ack() == nil {
					_ = then(s.conns[i], m) // a caller who is not told ends the run
				}
				return
			}
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				if m.DoubleAck(ctx) == nil {
					_ = then(s.conns[i], m)
				}
			})
		}, jetstream.PullMaxMessages(pulled))
		if err != nil {
			stop()
			return nil, err
		}
		running = append(running, run)
	}
	return stop, nil
}
