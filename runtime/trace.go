package runtime

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/taskrt/taskrt/runtime/lines"
	"github.com/taskrt/taskrt/runtime/meter"
)

// Bounds of the trace that is kept with a trap.
const (
	maxTrace  = 4 << 10 // bytes
	maxFrames = 32
	maxFrame  = 512 // bytes of one frame
)

// What wazero writes behind the message of a trap: a line for each frame, the innermost first; if the module has
// DWARF (meter.Module.Debug), also a line with the frame's offset in the metered code.
const (
	trapStack    = "wasm stack trace:\n"
	trapHost     = "\n\nGo runtime stack trace:" // of a bug of ours, which is nobody's affair but ours
	framePrefix  = "\t"
	offsetPrefix = "\t\t0x"
)

// unnamed matches a function that the module gives no name: its index in the metered module.
var unnamed = regexp.MustCompile(`^\$([0-9]{1,9})\(`)

// trace tells the frames of a trap as they are in the guest's file, a line each: the function, and the lines of
// source if the module has DWARF.
func (m *Module) trace(ctx context.Context, err error) string {
	_, text, _ := strings.Cut(err.Error(), trapStack)
	text, _, _ = strings.Cut(text, trapHost)
	var b strings.Builder
	frames := 0
	shown := false // the frame that was last looked at
	for line := range strings.SplitSeq(text, "\n") {
		told := ""
		if hex, ok := strings.CutPrefix(line, offsetPrefix); ok {
			if shown {
				told = m.source(ctx, hex)
			}
		} else if frame, ok := strings.CutPrefix(line, framePrefix); ok {
			frame, shown = m.frame(frame)
			if !shown {
				continue
			}
			if frames++; frames > maxFrames {
				break
			}
			if told = frame; b.Len() > 0 {
				told = "\n" + frame
			}
		}
		if told = told[:min(len(told), maxFrame)]; b.Len()+len(told) > maxTrace {
			break
		}
		b.WriteString(told)
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// uncaught says whether a trap is an exception that nobody catches: such a trap is in the function that metering puts
// around what the host calls.
func (m *Module) uncaught(err error) bool {
	message, text, ok := strings.Cut(err.Error(), "\n"+trapStack+framePrefix)
	if !ok || !strings.HasSuffix(message, "unreachable") {
		return false
	}
	top, _, _ := strings.Cut(text, "\n")
	_, own := m.frame(top)
	return !own
}

// frame is a frame's function by the guest's own index or name. ok is false for functions that metering has added.
func (m *Module) frame(text string) (frame string, ok bool) {
	text = strings.TrimPrefix(text, ".") // between the module's name, which is none, and the function's
	if strings.HasPrefix(text, meter.Import+".") {
		return "", false
	}
	found := unnamed.FindStringSubmatchIndex(text)
	if found == nil {
		return text, true
	}
	index, _ := strconv.Atoi(text[found[2]:found[3]]) // 9 digits
	if index > m.parsed.ImportedFunctions() {
		index-- // tick stands before the guest's own functions
	}
	if index >= m.parsed.ImportedFunctions()+m.parsed.Functions() {
		return "", false
	}
	return "$" + strconv.Itoa(index) + text[found[3]:], true
}

// source tells where the code at an offset in the metered code comes from: " at FILE:LINE:COLUMN", and the calls
// around it that were replaced by their code; "" if nothing is known.
func (m *Module) source(ctx context.Context, hex string) string {
	hex, _, _ = strings.Cut(hex, ":")
	offset, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return ""
	}
	p := m.engine.places.of(ctx, m)
	if p == nil {
		return ""
	}
	var b strings.Builder
	for i, at := range p.lines.At(p.origins.Of(uint32(offset))) {
		b.WriteString([...]string{" at ", ", inlined at "}[min(i, 1)] + at.String())
	}
	return b.String()
}

// places are the tables that tell where modules trapped. The tables are large and slow to make, and few modules trap.
// So the tables of the last two modules are kept, and one table is made at a time.
type places struct {
	turn chan struct{} // holds a token while nobody uses the rest
	last []*place      // the latest used at the end
}

// place is what there is to know about a module. lines is nil if nothing is known.
type place struct {
	digest  string
	origins *meter.Origins
	lines   *lines.Table
}

const keptPlaces = 2

func newPlaces() *places {
	p := &places{turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// of returns what is known about a module, and finds it out first if need be; nil: nothing is known, or ctx is done.
func (p *places) of(ctx context.Context, m *Module) *place {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil
	}
	var found *place
	for i, x := range p.last {
		if x.digest == m.digest {
			found = x
			p.last = append(p.last[:i], p.last[i+1:]...)
			break
		}
	}
	if found == nil {
		var err error
		if found, err = findPlace(ctx, m); err != nil {
			m.engine.cfg.Logger.Debug("no lines for the traps of a module", "digest", m.digest, "err", err)
			if ctx.Err() != nil {
				return nil // somebody with more time may find more
			}
			found = &place{digest: m.digest}
		}
	}
	p.last = append(p.last, found)
	if len(p.last) > keptPlaces {
		p.last = append(p.last[:0], p.last[1:]...)
	}
	if found.lines == nil {
		return nil
	}
	return found
}

func findPlace(ctx context.Context, m *Module) (*place, error) {
	table, err := lines.Read(ctx, func(name string) []byte {
		if sections := m.parsed.Custom(name); len(sections) > 0 {
			return sections[0]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	origins, err := meter.FindOrigins(m.parsed.BoundTables())
	if err != nil {
		return nil, err
	}
	return &place{m.digest, origins, table}, nil
}
