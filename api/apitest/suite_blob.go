package apitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/taskrt/taskrt/api"
)

// fileOf returns n bytes, which differ from name to name.
func fileOf(name string, n int) []byte {
	data := make([]byte, 0, n+sha256.Size)
	for sum := sha256.Sum256([]byte(name)); len(data) < n; sum = sha256.Sum256(sum[:]) {
		data = append(data, sum[:]...)
	}
	return data[:n]
}

func blobDigest(data []byte) string {
	return "sha256:" + digest(data)
}

// putBlob stores a file. The Service must accept it.
func (s *suite) putBlob(ctx context.Context, t *testing.T, data []byte) *api.Blob {
	t.Helper()
	b, err := s.PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatalf("put %d bytes: %v", len(data), err)
	}
	return b
}

// blobBytes reads a range of a blob.
func (s *suite) blobBytes(ctx context.Context, r api.BlobRange) (*api.BlobContent, []byte, error) {
	c, err := s.BlobContent(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer c.Body.Close()
	data, err := io.ReadAll(c.Body)
	return c, data, err
}

// onlyReader cannot seek.
type onlyReader struct{ io.Reader }

func (s *suite) blobs(ctx context.Context, t *testing.T) {
	for _, n := range []int{0, 1, 64 << 10, 64<<10 + 1, 1_000_000} {
		data := fileOf("blobs", n)
		want := api.Blob{Digest: blobDigest(data), Size: int64(n)}
		if b := s.putBlob(ctx, t, data); *b != want {
			t.Errorf("put %+v, want %+v", b, want)
		}
		for _, r := range []api.PutBlobRequest{
			{Size: -1}, {Size: -1, Digest: want.Digest}, {Size: int64(n), Digest: strings.TrimPrefix(want.Digest, "sha256:")},
		} {
			r.Body = onlyReader{bytes.NewReader(data)}
			if b, err := s.PutBlob(ctx, r); err != nil || *b != want {
				t.Errorf("put again %+v, %v", b, err)
			}
		}
		for _, digest := range []string{want.Digest, strings.TrimPrefix(want.Digest, "sha256:")} {
			if b, err := s.Blob(ctx, digest); err != nil || *b != want {
				t.Errorf("%s is %+v, %v", digest, b, err)
			}
			c, got, err := s.blobBytes(ctx, api.BlobRange{Digest: digest, Length: -1})
			if err != nil || c.Size != int64(n) || c.From != 0 || !bytes.Equal(got, data) {
				t.Errorf("%s has %d bytes, %+v, %v", digest, len(got), c, err)
			}
		}
	}
	// A module is a blob, too.
	m, err := s.Push(ctx, pushRequest("apitest.blob", "", ModuleOK("blob")))
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := s.blobBytes(ctx, api.BlobRange{Digest: m.Digest, Length: -1}); err != nil || !bytes.Equal(got, ModuleOK("blob")) {
		t.Errorf("the module has %d bytes, %v", len(got), err)
	}
	if b, err := s.Blob(ctx, m.Digest); err != nil || b.Refs != 1 {
		t.Errorf("the module's file is %+v, %v", b, err)
	}
	// Many callers put the same file at the same time.
	var puts sync.WaitGroup
	data := fileOf("at once", 100_000)
	for range 8 {
		puts.Go(func() {
			b, err := s.PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(data), Size: int64(len(data))})
			if err != nil || b.Digest != blobDigest(data) {
				t.Errorf("put at once: %+v, %v", b, err)
			}
		})
	}
	puts.Wait()
}

func (s *suite) blobRanges(ctx context.Context, t *testing.T) {
	data := fileOf("ranges", 200_001)
	b := s.putBlob(ctx, t, data)
	n := int64(len(data))
	for _, r := range []struct{ from, length, want int64 }{
		{0, 1, 1}, {0, n, n}, {0, n + 1, n}, {1, -1, n - 1}, {n - 1, -1, 1}, {n - 1, 5, 1}, {65_535, 2, 2}, {65_536, 65_536, 65_536}, {7, 150_000, 150_000},
	} {
		c, got, err := s.blobBytes(ctx, api.BlobRange{Digest: b.Digest, From: r.from, Length: r.length})
		if err != nil || c.Size != n || c.From != r.from || !bytes.Equal(got, data[r.from:r.from+r.want]) {
			t.Errorf("%+v: %d bytes of %+v, %v", r, len(got), c, err)
		}
	}
	for _, from := range []int64{n, n + 1, 1 << 62} {
		_, _, err := s.blobBytes(ctx, api.BlobRange{Digest: b.Digest, From: from, Length: -1})
		wantCode(t, fmt.Sprintf("from %d", from), err, api.CodeNoRange)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Limit != n {
			t.Errorf("from %d: limit %d", from, e.Limit)
		}
	}
	for _, r := range []api.BlobRange{{From: -1, Length: -1}, {Length: 0}, {Length: -2}} {
		r.Digest = b.Digest
		_, _, err := s.blobBytes(ctx, r)
		wantCode(t, fmt.Sprintf("%+v", r), err, api.CodeInvalidField)
	}
	// A reader that stops before the end leaves nothing behind.
	c, err := s.BlobContent(ctx, api.BlobRange{Digest: b.Digest, Length: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c.Body, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	if err := c.Body.Close(); err != nil {
		t.Error(err)
	}
}

func (s *suite) blobsRefused(ctx context.Context, t *testing.T) {
	absent := blobDigest([]byte("absent"))
	_, err := s.Blob(ctx, absent)
	wantCode(t, "absent", err, api.CodeBlobNotFound)
	_, err = s.BlobContent(ctx, api.BlobRange{Digest: absent, Length: -1})
	wantCode(t, "the content of an absent one", err, api.CodeBlobNotFound)
	for _, digest := range []string{"x", "sha256:", absent[:70], strings.ToUpper(absent), "sha512:" + absent[7:], absent + "0", "sha256:" + absent} {
		_, err := s.Blob(ctx, digest)
		wantCode(t, digest, err, api.CodeInvalidField)
		_, err = s.BlobContent(ctx, api.BlobRange{Digest: digest, Length: -1})
		wantCode(t, digest, err, api.CodeInvalidField)
		_, err = s.PutBlob(ctx, api.PutBlobRequest{Body: strings.NewReader("x"), Size: 1, Digest: digest})
		wantCode(t, digest, err, api.CodeInvalidField)
	}
	other := []byte("something else")
	_, err = s.PutBlob(ctx, api.PutBlobRequest{Body: bytes.NewReader(other), Size: int64(len(other)), Digest: absent})
	wantCode(t, "another digest", err, api.CodeDigestMismatch)
	for _, digest := range []string{absent, blobDigest(other)} {
		_, err = s.Blob(ctx, digest)
		wantCode(t, "after a refusal", err, api.CodeBlobNotFound)
	}

	tooLarge := func(what string, err error) {
		wantCode(t, what, err, api.CodeTooLarge)
		if e, ok := errors.AsType[*api.Error](err); ok && e.Limit != api.MaxBlob {
			t.Errorf("%s: limit %d", what, e.Limit)
		}
	}
	_, err = s.PutBlob(ctx, api.PutBlobRequest{Body: strings.NewReader(""), Size: api.MaxBlob + 1})
	tooLarge("announced", err)
	_, err = s.PutBlob(ctx, api.PutBlobRequest{Body: io.LimitReader(zeros{}, api.MaxBlob+1), Size: -1})
	tooLarge("not announced", err)

	broken := errors.New("broken")
	data := fileOf("broken", 100_000)
	_, err = s.PutBlob(ctx, api.PutBlobRequest{Body: io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), Size: -1})
	if err == nil {
		t.Error("half a file was accepted")
	}
	_, err = s.Blob(ctx, blobDigest(data))
	wantCode(t, "half a file", err, api.CodeBlobNotFound)
}

// zeros is a reader that never ends.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// wantCode is wantError for errors whose field is named differently by client and server.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	if api.CodeOf(err) != code {
		t.Errorf("%.100s: %v, want %s", what, err, code)
	}
}
