package trust

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/taskrt/taskrt/internal/idle"
)

// watchPause is how often files are looked at.
const watchPause = time.Second

// source is a file of keys or certificates.
type source struct {
	name   string
	secret bool // only its owner may read it
}

// sources are files that are read again when they have changed. They belong to one goroutine.
type sources struct {
	files []source
	taken [][]byte // what was used last; nil: nothing yet
}

// load reads the files and hands their contents to use, unless use has taken the same before. changed: it has taken other ones.
func (s *sources) load(use func(texts [][]byte) error) (changed bool, err error) {
	var texts [][]byte
	for _, f := range s.files {
		read := os.ReadFile
		if f.secret {
			read = ReadFile
		}
		text, err := read(f.name)
		if err != nil {
			return false, err
		}
		texts = append(texts, text)
	}
	same := s.taken != nil
	for i := range s.taken {
		same = same && bytes.Equal(texts[i], s.taken[i])
	}
	if same {
		return false, nil
	}
	if err := use(texts); err != nil {
		return false, err
	}
	s.taken = texts
	return true, nil
}

// watch loads again and again, until ctx ends. What goes wrong is logged once, and changes nothing.
func (s *sources) watch(ctx context.Context, log *slog.Logger, use func(texts [][]byte) error) {
	var names []string
	for _, f := range s.files {
		names = append(names, f.name)
	}
	complained := ""
	for idle.For(ctx, watchPause) {
		changed, err := s.load(use)
		switch {
		case err != nil && err.Error() != complained:
			complained = err.Error()
			log.Error("the keys stay what they were: a file cannot be used", "err", err)
		case err == nil:
			if complained = ""; changed {
				log.Info("read the keys again", "files", names)
			}
		}
	}
}
