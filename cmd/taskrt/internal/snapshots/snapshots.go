// Package snapshots is the commands for backups of a whole cluster: to save, to look at, to verify and to restore one (SPEC C8).
package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"

	"github.com/taskrt/taskrt/api/snapshot"
	"github.com/taskrt/taskrt/backup"
	"github.com/taskrt/taskrt/backup/sealed"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/show"
	"github.com/taskrt/taskrt/cmd/taskrt/internal/whole"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/node/restoring"
)

// Saved says what was saved.
type Saved struct {
	File   string        `json:"file"`
	Bytes  int64         `json:"bytes"` // of the file
	Header backup.Header `json:"header"`
	End    backup.End    `json:"end"`
}

// source is where a backup is read from.
type source struct {
	path  string
	stdin io.Reader // what - means
	keys  []age.Identity

	of *chosen // nil: path is a file
}

// opened is a backup that is read, decrypted if it is encrypted.
type opened struct {
	io.Reader
	io.Closer

	size   int64 // of the file; 0: not known
	sealed bool
}

func (s *source) open(ctx context.Context) (*opened, error) {
	if s.of != nil {
		return s.of.open(ctx, s.keys)
	}
	o := &opened{Closer: io.NopCloser(nil)}
	in := s.stdin
	if s.path != "-" {
		f, err := os.Open(s.path)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			o.size = info.Size()
		}
		in, o.Closer = f, f
	}
	var err error
	if o.Reader, o.sealed, err = sealed.Open(in, s.keys); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

// save saves a backup of a cluster into a file, which is there only when it is whole. - is standard output. Without keys it is not encrypted.
func save(ctx context.Context, s snapshot.Snapshots, r snapshot.SaveRequest, file string, keys []age.Recipient, out terminal.Answer) error {
	if file == "-" {
		if out.IsTerminal() {
			return errors.New("a backup is no text: name a file, or send standard output elsewhere")
		}
		saved, err := receive(ctx, s, r, out.Exact(), keys, out.Status)
		if err != nil {
			return err
		}
		return out.Status.Printf("saved %s\n%s\n", saved.line(), secrecy(keys))
	}
	f, err := whole.Create(file, 0o600)
	if err != nil {
		return err
	}
	saved, err := receive(ctx, s, r, f, keys, out.Status)
	if err != nil {
		return f.Drop(err)
	}
	if err := f.Finish(); err != nil {
		return err
	}
	saved.File = file
	if out.JSON != nil {
		return out.JSON(saved)
	}
	return errors.Join(out.Printf("saved %s: %s\n", file, saved.line()), out.Status.Printf("%s\n", secrecy(keys)))
}

// secrecy says who can read a backup.
func secrecy(keys []age.Recipient) string {
	if len(keys) > 0 {
		return fmt.Sprintf("It is encrypted to %d keys: without one of the secret keys nobody restores it.", len(keys))
	}
	return "It is not encrypted: whoever can read it can read params, results and files. --encrypt-to encrypts it."
}

// receive copies a backup that a node sends, and checks it on its way.
func receive(ctx context.Context, s snapshot.Snapshots, r snapshot.SaveRequest, to io.Writer, keys []age.Recipient, status *terminal.Output) (*Saved, error) {
	from, err := s.Save(ctx, r)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	counted := &counting{to: to}
	sink := io.WriteCloser(counted)
	if len(keys) > 0 {
		if sink, err = sealed.Seal(counted, keys); err != nil {
			return nil, err
		}
	}
	bar := newProgress(status, "saved")
	v, err := backup.Check(io.TeeReader(from, sink), bar.tell)
	bar.end()
	if err == nil {
		err = sink.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case counted.err != nil:
		return nil, counted.err
	case err != nil:
		return nil, err
	}
	return &Saved{Bytes: counted.n, Header: v.Header, End: v.End}, nil
}

// counting counts what is written, and remembers why something was not.
type counting struct {
	to  io.Writer
	n   int64
	err error
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// Close implements io.Closer. It does nothing, because the code that has opened the file closes it.
func (*counting) Close() error { return nil }

func (s *Saved) line() string {
	text := fmt.Sprintf("index %d of cluster %s, %d tasks, %s", s.Header.Index, s.Header.Cluster, s.Header.Tasks, blobs(s.Header, s.End))
	return text + fmt.Sprintf("; %s in the file", show.Bytes(s.Bytes))
}

// blobs says how many blobs a backup has.
func blobs(h backup.Header, e backup.End) string {
	switch {
	case !h.WithBlobs:
		return fmt.Sprintf("without the %d blobs that it knows", h.Blobs)
	case e.Missing > 0:
		return fmt.Sprintf("%d blobs of %s, and %d missing that no node had", e.Blobs, show.Bytes(e.BlobBytes), e.Missing)
	}
	return fmt.Sprintf("%d blobs of %s", e.Blobs, show.Bytes(e.BlobBytes))
}

// progress shows people how far it is.
type progress struct {
	out  *terminal.Output
	word string
	next time.Time
}

func newProgress(out *terminal.Output, word string) *progress { return &progress{out: out, word: word} }

// pulse is how often the line changes.
const pulse = 200 * time.Millisecond

func (p *progress) tell(h backup.Header, seen backup.End) {
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(pulse)
		if !h.WithBlobs || h.BlobBytes == 0 || seen.Blobs == 0 {
			p.out.Status("%s of the state %s", show.Bytes(seen.StateBytes), p.word)
			return
		}
		p.out.Status("%s  %s of %s of blobs %s", terminal.Bar(min(seen.BlobBytes, h.BlobBytes), h.BlobBytes), show.Bytes(seen.BlobBytes), show.Bytes(h.BlobBytes), p.word)
	}
}

func (p *progress) end() { p.out.EndStatus() }

// inspect shows what the header of a backup says. The rest is not read.
func inspect(ctx context.Context, from source, out terminal.Answer) error {
	in, err := from.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	b, err := backup.NewReader(in)
	if err != nil {
		return err
	}
	defer b.Close()
	h := b.Header()
	return out.Show(h, func(w *terminal.Table) {
		showHeader(w, h)
		if from.of != nil {
			w.Field("backup", from.of.entry.Name)
		}
		if in.size > 0 {
			w.Field("file", show.Bytes(in.size))
		}
		w.Field("encrypted", map[bool]string{true: "yes", false: "no"}[in.sealed])
		if err := b.Known(); err != nil {
			w.Field("restorable", err)
		}
	})
}

func showHeader(w *terminal.Table, h backup.Header) {
	w.Field("cluster", h.Cluster)
	w.Field("saved by", fmt.Sprintf("%s, at %s", h.Node, h.Begun.Format(time.RFC3339)))
	w.Field("version", fmt.Sprintf("%s, log format %d, feature level %d", h.Version, h.LogFormat, h.Level))
	w.Field("state", fmt.Sprintf("index %d of term %d, at %s", h.Index, h.Term, h.Time.Format(time.RFC3339)))
	w.Field("digest", fmt.Sprintf("%016x", h.Digest))
	w.Field("namespaces", h.Namespaces)
	w.Field("tasks", h.Tasks)
	w.Field("operations", h.Operations)
	w.Field("store records", h.Records)
	w.Field("access tokens", h.Tokens)
	if h.WithBlobs {
		w.Field("blobs", fmt.Sprintf("%d of %s", h.Blobs, show.Bytes(h.BlobBytes)))
	} else {
		w.Field("blobs", fmt.Sprintf("none of %d", h.Blobs))
	}
}

// verify restores a backup in memory, runs every check, and shows what it has.
func verify(ctx context.Context, from source, out terminal.Answer) error {
	in, err := from.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	bar := newProgress(out.Status, "verified")
	v, err := backup.Verify(backup.Until(ctx, in), bar.tell)
	bar.end()
	if err != nil {
		return err
	}
	return out.Show(v, func(w *terminal.Table) {
		showHeader(w, v.Header)
		w.Field("in the file", blobs(v.Header, v.End))
		for _, b := range v.Missing {
			w.Field("missing", fmt.Sprintf("%s of %s", b.Digest, show.Bytes(b.Size)))
		}
		w.Field("sha256", v.End.SHA256+", of all before the last piece")
		w.Field("verified", "every check of the state, its digest, and the digest of each blob")
	})
}

// restore founds a new cluster of a backup.
func restore(ctx context.Context, from source, p restoring.Plan, out terminal.Answer) error {
	p.Open = func() (io.ReadCloser, error) { return from.open(ctx) }
	bars := map[string]*progress{"verify": newProgress(out.Status, "verified"), "restore": newProgress(out.Status, "restored")}
	p.Progress = func(phase string, h backup.Header, seen backup.End) { bars[phase].tell(h, seen) }
	r, err := restoring.Restore(ctx, p)
	out.Status.EndStatus()
	if err != nil {
		return err
	}
	return out.Show(r, func(w *terminal.Table) {
		w.Field("cluster", r.Cluster)
		w.Field("node", r.Node)
		w.Field("directory", r.Dir)
		w.Field("from", fmt.Sprintf("index %d of cluster %s, at %s", r.From.Index, r.From.Cluster, r.From.Time.Format(time.RFC3339)))
		w.Field("blobs", r.Blobs)
		if r.Missing > 0 {
			w.Field("missing", fmt.Sprintf("%d blobs: tasks that need them will fail", r.Missing))
		}
		showNext(w, r, p)
	})
}

// showNext says what to do with the directory.
func showNext(w *terminal.Table, r *restoring.Restored, p restoring.Plan) {
	w.Printf("\nStart the first node on it: taskrt server --id %s --dir %s --bootstrap-expect 1 …\n"+
		"Others join it with empty directories, and vote after `taskrt cluster approve NODE`.\n"+
		"Leases, sessions and answers under idempotency keys of the former cluster hold no longer, and its workers are halted.\n", r.Node, r.Dir)
	if p.DropTokens {
		w.Printf("Access tokens were dropped: the root token holds.\n")
	}
}

// showHolds shows who keeps blobs from being dropped.
func showHolds(w *terminal.Table, r *snapshot.HoldsReply) {
	show.List(w, r.Holds, true, []show.Column[snapshot.Hold]{
		{Name: "HOLD", Cell: func(h snapshot.Hold) any { return h.ID }},
		{Name: "FOR", Cell: func(h snapshot.Hold) any { return h.Holder }},
		{Name: "LEFT", Cell: func(h snapshot.Hold) any { return time.Duration(h.Left).Truncate(time.Second) }},
	})
}
