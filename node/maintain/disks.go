package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrUnreachable says that a member did not answer. An answer that is an error is another matter.
var ErrUnreachable = errors.New("maintain: the member cannot be reached")

// eachFile shows what all members keep in an area. A member that cannot be reached is passed over, and the run says so:
// the next run finds the member's leftovers. If a member answers with an error the step fails (SPEC M3), because the
// disk is not what the run takes it for.
func (r *Run) eachFile(ctx context.Context, what Area, see func(member string, fs []File) error) error {
	for _, member := range r.disks.Members() {
		after := ""
		for {
			fs, err := r.disks.Files(ctx, member, what, after, page)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, ErrUnreachable) {
				r.note("the %s of %s were not scanned: %v", what, member, err)
				break
			}
			if err != nil {
				return fmt.Errorf("the %s of %s: %w", what, member, err)
			}
			if err := r.limitScans(ctx, min(len(fs), page)); err != nil {
				return err
			}
			if err := see(member, fs); err != nil {
				return err
			}
			if len(fs) < page {
				break
			}
			after = fs[len(fs)-1].Name
		}
	}
	return nil
}

// retained counts an object of the scan that is known to be needed.
func (r *Run) retained(o *Object) {
	line := r.counts.of(o.Kind, o.Namespace)
	line.Scanned++
	line.Retained++
}

// object makes the object that a file is scanned as. It is of the area's kind, unless it is foreign there.
func (f *File) object(kind string) Object {
	return Object{Kind: cmp.Or(f.Kind, kind), Name: f.Name, Time: max(f.Modified, 1)}
}

// memberName names something on one member's disk.
func memberName(member, file string) string { return member + "\x00" + file }

// cutMember undoes memberName.
func cutMember(name string) (member, file string, ok bool) { return strings.Cut(name, "\x00") }
