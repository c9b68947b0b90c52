package guard

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// hclogTo returns a logger for the raft library that writes to l. Everything is one level lower here: the library
// speaks of ordinary things at Info, and of expected ones (a peer that is down) at Error.
func hclogTo(l *slog.Logger) hclog.Logger {
	il := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "raft", Output: io.Discard, Level: hclog.Off})
	il.RegisterSink(slogSink{l})
	return il
}

type slogSink struct{ l *slog.Logger }

// Accept implements hclog.SinkAdapter.
func (s slogSink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug - 4
	switch level {
	case hclog.Info:
		to = slog.LevelDebug
	case hclog.Warn:
		to = slog.LevelInfo
	case hclog.Error:
		to = slog.LevelWarn
	}
	if !s.l.Enabled(context.Background(), to) {
		return
	}
	for i, a := range args {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			if format, ok := f[0].(string); ok {
				args[i] = fmt.Sprintf(format, f[1:]...)
			}
		}
	}
	s.l.Log(context.Background(), to, name+": "+msg, args...)
}
