package runtime

import (
	"context"
	"errors"
)

// Engine compiles and runs modules.
type Engine struct{ cfg Config }

// Module is a compiled module, ready to run.
type Module struct{}

// Inspected is what an upload amounts to.
type Inspected struct {
	Digest       string // lower-case hex SHA-256 of the file
	Size         int64
	Manifest     Manifest
	ManifestJSON []byte // canonical
	Version      string // lower-case hex SHA-256 over digest and manifest (SPEC B2)
}

var errWIP = errors.New("runtime: being built")

func New(cfg Config) (*Engine, error)             { return &Engine{cfg.withDefaults()}, cfg.Validate() }
func (e *Engine) Close(ctx context.Context) error { return nil }
func (e *Engine) Inspect(ctx context.Context, wasm []byte, given *Manifest, name string) (*Inspected, error) {
	return nil, errWIP
}
func (e *Engine) Load(ctx context.Context, digest string, wasm []byte) (*Module, error) {
	return nil, errWIP
}
func (e *Engine) Module(digest string) (*Module, bool)                  { return nil, false }
func (e *Engine) Drop(digest string)                                    {}
func (m *Module) Run(ctx context.Context, a Attempt, host Host) Outcome { return Outcome{} }

// ParseManifest decodes strictly.
func ParseManifest(data []byte) (*Manifest, error) { return nil, errWIP }

// Settings returns all values of behavior i, defaults filled in.
func (m *Manifest) Settings(i int) Settings { return Settings{} }
