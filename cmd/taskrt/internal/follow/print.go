package follow

import (
	"strings"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
)

// Print prints pieces of logs. The pieces of each attempt stand behind a line that names it, or each piece is printed as a program wants it.
type Print struct {
	Out    *terminal.Output
	Encode func(piece any) error // nil: people read it

	token uint64
	open  bool // the last line has no end
}

// All prints all of a log.
func (p *Print) All(attempts []api.AttemptLog) error {
	for _, a := range attempts {
		if err := p.Piece(a); err != nil {
			return err
		}
	}
	return p.End()
}

// Piece prints what came next.
func (p *Print) Piece(a api.AttemptLog) error {
	if p.Encode != nil {
		return p.Encode(a)
	}
	if a.Token != p.token || p.token == 0 {
		if err := p.End(); err != nil {
			return err
		}
		if err := p.Out.Printf("--- attempt %d\n", a.Attempt); err != nil {
			return err
		}
	}
	p.token = a.Token
	if a.Text != "" {
		p.open = !strings.HasSuffix(a.Text, "\n")
	}
	return p.Out.Content(strings.NewReader(a.Text))
}

// End ends the last line.
func (p *Print) End() error {
	if !p.open {
		return nil
	}
	p.open = false
	return p.Out.Printf("\n")
}
