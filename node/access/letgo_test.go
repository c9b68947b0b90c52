package access_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/api/apitest"
	"github.com/taskrt/taskrt/node/access"
)

// holder is a Service whose answers hold something until they are closed or given back. meanwhile happens during each call.
type holder struct {
	*apitest.Fake
	meanwhile func()
	held      int
}

type heldFile struct {
	io.Reader
	of *holder
}

func (f heldFile) Close() error { f.of.held--; return nil }

type heldStream struct {
	api.EventStream
	of *holder
}

func (s heldStream) Close() { s.of.held-- }

func (s *holder) take() { s.held++; s.meanwhile() }

func (s *holder) ExportNamespace(context.Context, api.ExportRequest) (io.ReadCloser, error) {
	s.take()
	return heldFile{strings.NewReader("x"), s}, nil
}

func (s *holder) Events(context.Context, api.EventsRequest) (api.EventStream, error) {
	s.take()
	return heldStream{nil, s}, nil
}

func (s *holder) Accept(context.Context, api.AcceptRequest) (*api.AcceptReply, error) {
	s.take()
	return &api.AcceptReply{Undelivered: func() { s.held-- }}, nil
}

func (s *holder) BlobContent(context.Context, api.BlobRange) (*api.BlobContent, error) {
	s.take()
	return &api.BlobContent{Body: heldFile{strings.NewReader("x"), s}}, nil
}

// TestNothingIsHeldForNobody: an answer that comes when the token holds no longer is handed to nobody, so it gives back what it holds: one of few
// places among those that export or follow, an open file, leases. An answer that is handed on gives it back when its caller is done (SPEC A4).
func TestNothingIsHeldForNobody(t *testing.T) {
	calls := map[string]func(ctx context.Context, s api.Service) (done func(), err error){
		"export": func(ctx context.Context, s api.Service) (func(), error) {
			f, err := s.ExportNamespace(ctx, api.ExportRequest{Name: "default"})
			return func() { _ = f.Close() }, err
		},
		"events": func(ctx context.Context, s api.Service) (func(), error) {
			e, err := s.Events(ctx, api.EventsRequest{})
			return func() { e.Close() }, err
		},
		"accept": func(ctx context.Context, s api.Service) (func(), error) {
			r, err := s.Accept(ctx, api.AcceptRequest{Behavior: mine, Worker: "w"})
			return func() { r.Undelivered() }, err
		},
		"blob": func(ctx context.Context, s api.Service) (func(), error) {
			b, err := s.BlobContent(ctx, api.BlobRange{})
			return func() { _ = b.Body.Close() }, err
		},
	}
	for name, call := range calls {
		for what, meanwhile := range map[string]func(*site){
			"holds": func(*site) {},
			"ends":  func(s *site) { s.revoke(caller) },
			"ended, though another look finds that it holds": func(s *site) {
				s.revoke(caller)
				s.mu.Lock()
				s.revoked[caller] = false
				s.mu.Unlock()
			},
		} {
			t.Run(name+", the token "+what, func(t *testing.T) {
				s := newSite(t)
				h := &holder{Fake: s.Fake, meanwhile: func() { meanwhile(s) }}
				guarded := s.gate.Guard(h, access.Looks{Local: s.look, Read: func(_ context.Context, fn func(access.Records)) error { s.look(fn); return nil }})
				ctx := as(t, "*", "read", "work", "submit")
				for range 3 {
					done, err := call(ctx, guarded)
					switch {
					case err == nil && h.held != 1:
						t.Fatalf("%d are held by an answer that was handed on", h.held)
					case err == nil:
						done()
					case what == "holds" || api.CodeOf(err) != api.CodeUnauthenticated:
						t.Fatal(err)
					}
					if h.held != 0 {
						t.Fatalf("%d are held for nobody: %v", h.held, err)
					}
				}
			})
		}
	}
}
