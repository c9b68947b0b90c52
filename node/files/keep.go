package files

import "context"

// Keep stores bytes on a majority, and returns their digest.
func (f *Files) Keep(ctx context.Context, data []byte) (digest string, err error) {
	b, err := f.StageBytes(data)
	if err != nil {
		return "", err
	}
	defer b.Close()
	return b.Digest, f.Put(ctx, b)
}
