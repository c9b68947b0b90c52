package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/server/lobby"
	"github.com/taskrt/taskrt/api/server/socket"
)

// These are timeouts and limits of a connection, so that no client can hold a connection, or its memory, by being slow
// (slowloris).
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second // of a body that no action reads; see handler.readBody for other bodies
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 128 << 10
	shutdownTimeout   = 5 * time.Second
)

// Serve serves h on ln until ctx ends. Then it lets requests under way finish for a few seconds. Long polls end at once if ctx
// is also Config.Stopping, as it should be: their clients ask another node. Streams belong to the context's socket.Group, if it has one. Serve closes ln, and returns nil after a clean end. Connections are bounded by a
// lobby: by ln, if it is one.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, log *slog.Logger) error {
	streams := socket.GroupOf(ctx)
	requests := streams.In(context.WithoutCancel(ctx))
	bounded, ok := ln.(*lobby.Lobby)
	if !ok {
		bounded = lobby.New(ln, lobby.Config{Log: log})
	}
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnState:         bounded.Follow,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(bounded) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := s.Shutdown(grace)
	streams.Stop(grace)
	if err != nil {
		err = s.Close()
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// untilStopping returns a context for a long poll: it also ends when the server begins to stop.
func (h *handler) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(h.config.Stopping, func() {
		cancel(api.NewError(api.CodeNotReady, "this node is stopping"))
	})
	return ctx, func() { stop(); cancel(nil) }
}

// waiting makes a call that waits. The call also ends when the server begins to stop, and then the error says so.
func waiting[T any](ctx context.Context, h *handler, call func(context.Context) (T, error)) (T, error) {
	until, cancel := h.untilStopping(ctx)
	defer cancel()
	v, err := call(until)
	if err != nil && until.Err() != nil && ctx.Err() == nil {
		err = context.Cause(until)
	}
	return v, err
}
