package show

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/taskrt/taskrt/api"
	"github.com/taskrt/taskrt/internal/terminal"
	"github.com/taskrt/taskrt/task/blobs"
)

// Files is who has the content of blobs.
type Files interface {
	BlobContent(ctx context.Context, r api.BlobRange) (*api.BlobContent, error)
}

// Result writes a result: a line of JSON, or bytes. A result that is a blob is fetched from files; nil: its reference is the result. To a file or
// pipe all of them are written as they are.
func Result(ctx context.Context, out *terminal.Output, files Files, text json.RawMessage, raw []byte) error {
	if raw != nil {
		return out.Content(bytes.NewReader(raw))
	}
	if text == nil {
		text = json.RawMessage("null")
	}
	digest, is := blobs.Reference(text)
	if !is || files == nil {
		return out.Content(io.MultiReader(bytes.NewReader(text), newLine()))
	}
	content, err := files.BlobContent(ctx, api.BlobRange{Digest: api.ShowDigest(digest), Length: -1})
	if err != nil {
		return fmt.Errorf("the result is a blob: %w", err)
	}
	defer content.Body.Close()
	b, err := io.ReadAll(content.Body) // no blob has more than api.MaxBlob
	if err != nil {
		return fmt.Errorf("the result is a blob: %w", err)
	}
	if !api.ValidJSON(b) {
		return out.Content(bytes.NewReader(b))
	}
	return out.Content(io.MultiReader(bytes.NewReader(b), newLine()))
}

func newLine() io.Reader { return bytes.NewReader([]byte("\n")) }
