package spaces

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/task"
	"github.com/taskrt/taskrt/task/archive"
)

// Export streams a namespace of a frozen state, as fast as it is read: only what fits into a buffer is made ahead. The caller
// must close the reader, which lets go of the state. The end of ctx ends the stream with an error.
func Export(ctx context.Context, state *task.Frozen, blobs archive.Open, r api.ExportRequest) (io.ReadCloser, error) {
	from, to := io.Pipe()
	x := &export{pipe: from, buffered: bufio.NewReaderSize(from, exportBuffer), done: make(chan struct{})}
	go func() {
		defer close(x.done)
		out := bufio.NewWriterSize(to, exportBuffer)
		err := (&archive.Source{State: state, Blob: blobs}).Write(out, r.Name, r.Raw)
		if err != nil && !errors.Is(err, archive.ErrNoNamespace) {
			_ = out.Flush() // its last line may say why
		}
		_ = to.CloseWithError(errors.Join(err, out.Flush()))
	}()
	x.stop = context.AfterFunc(ctx, func() { _ = to.CloseWithError(context.Cause(ctx)) })
	// If there is no such namespace, this must be the answer to the request, not the end of a stream. So read before answering.
	if _, err := x.buffered.Peek(1); errors.Is(err, archive.ErrNoNamespace) {
		_ = x.Close()
		return nil, Unknown(r.Name)
	}
	return x, nil
}

// exportBuffer is how many bytes of an export are made before they are read.
const exportBuffer = 64 << 10

// export is the reading end of an export.
type export struct {
	pipe     *io.PipeReader
	buffered *bufio.Reader
	done     chan struct{}
	stop     func() bool
}

// Read implements io.Reader.
func (x *export) Read(p []byte) (int, error) { return x.buffered.Read(p) }

// Close implements io.Closer. When it returns, the export no longer holds the state.
func (x *export) Close() error {
	x.stop()
	_ = x.pipe.Close()
	<-x.done
	return nil
}
