// Image-thumbnail makes a small picture of a large one: a JPEG, PNG or GIF goes in, a JPEG or PNG comes out. The result is the
// picture's bytes, no JSON.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
)

// These limit what the plugin takes.
const (
	maxPixels  = 24_000_000 // 96 MB once it is decoded, which is what the memory is for
	maxLongest = 2048
	inlineMost = 64 << 10 // a picture in the params; a larger one is a blob
	perUser    = 2        // pictures of one user at the same time, in the whole cluster
)

func init() {
	sdk.Register(sdk.Behavior{
		Name:        "image-thumbnail",
		Description: "scales a JPEG, PNG or GIF down; the result is a JPEG or PNG",
		Run:         run,
		ID:          sdk.ID{Strategy: sdk.IDParams}, // the same picture at the same size is made once
		Retry:       sdk.Retry{MaxAttempts: 3},
		RunTimeout:  5 * sdk.Minute,
		Limits:      sdk.Limits{Memory: 384 << 20},
		Concurrency: sdk.Concurrency{Key: "/user", PerKey: perUser},
	})
}

type params struct {
	Image   source `json:"image"`
	Longest int    `json:"longest"`
	Format  string `json:"format"`
	Quality int    `json:"quality"`
	User    string `json:"user"` // whose limit this counts for; the picture does not depend on it
}

// source is {"$blob": "sha256:…"}, or a picture itself in base64.
type source struct {
	blob string
	data []byte
}

func (s *source) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var encoded string
		if err := json.Unmarshal(text, &encoded); err != nil {
			return err
		}
		data, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return fmt.Errorf("image: not base64: %w", err)
		}
		if len(data) > inlineMost {
			return fmt.Errorf("image: %d bytes, at most %d in the params; put a larger one as a blob", len(data), inlineMost)
		}
		s.data = data
		return nil
	}
	var ref sdk.BlobRef
	if err := json.Unmarshal(text, &ref); err != nil || ref.Name == "" {
		return errors.New(`image: must be {"$blob": "sha256:…"} or base64`)
	}
	s.blob = ref.Name
	return nil
}

func run(c *sdk.Context) error {
	p, err := parse(c.Params())
	if err != nil {
		return sdk.Fail("bad_params", err.Error())
	}
	file, err := p.Image.open(c)
	if err != nil {
		return err
	}
	img, turn, err := decode(file)
	switch {
	case errors.Is(file.err, sdk.ErrCancelled):
		return file.err
	case file.err != nil:
		return sdk.Retryable("blob_unavailable", file.err.Error())
	case err != nil:
		return sdk.Fail("bad_image", err.Error())
	}
	steps := func(done, total int) error {
		if c.Heartbeat(int64(done), int64(total)).Cancelled() {
			return sdk.ErrCancelled
		}
		return nil
	}
	if err := steps(0, 1); err != nil { // decoding took the longest
		return err
	}
	small, err := shrink(img, p.Longest, steps)
	if err != nil {
		return err
	}
	out, err := encode(turned(small, turn), p)
	if err != nil {
		return sdk.Fail("bad_image", err.Error())
	}
	c.SetResult(out)
	return nil
}

// parse reads the params and fills in what they leave out.
func parse(text []byte) (params, error) {
	p := params{Longest: 256, Format: "jpeg", Quality: 85}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, err
	}
	switch {
	case p.Image.blob == "" && p.Image.data == nil:
		return p, errors.New("image: missing")
	case p.Longest < 1 || p.Longest > maxLongest:
		return p, fmt.Errorf("longest: %d, must be 1 to %d pixels", p.Longest, maxLongest)
	case p.Format != "jpeg" && p.Format != "png":
		return p, fmt.Errorf("format: %q, must be jpeg or png", p.Format)
	case p.Quality < 1 || p.Quality > 100:
		return p, fmt.Errorf("quality: %d, must be 1 to 100", p.Quality)
	}
	return p, nil
}

// file is the file of a picture. Decoders replace the errors with which reading ends by errors of their own: err tells them apart.
type file struct {
	io.ReadSeeker

	ctx *sdk.Context
	due int64 // bytes until the next heartbeat, which decoding has no other place for
	err error
}

const beatBytes = 128 << 10

func (f *file) Read(p []byte) (int, error) {
	if f.due <= 0 {
		f.due = beatBytes
		if f.ctx.Heartbeat(0, 1).Cancelled() {
			f.err = sdk.ErrCancelled
			return 0, f.err
		}
	}
	n, err := f.ReadSeeker.Read(p)
	f.due -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func (s *source) open(c *sdk.Context) (*file, error) {
	if s.blob == "" {
		return &file{ReadSeeker: bytes.NewReader(s.data), ctx: c}, nil
	}
	r, err := c.Blob(s.blob)
	switch {
	case errors.Is(err, sdk.ErrUnavailable):
		return nil, sdk.Retryable("blob_unavailable", s.blob)
	case err != nil:
		return nil, sdk.Fail("bad_params", "image: "+s.blob+": "+err.Error())
	}
	return &file{ReadSeeker: r, ctx: c}, nil
}

func encode(img *image.RGBA, p params) ([]byte, error) {
	var out bytes.Buffer
	if p.Format == "png" {
		err := png.Encode(&out, img)
		return out.Bytes(), err
	}
	onWhite(img)
	err := jpeg.Encode(&out, img, &jpeg.Options{Quality: p.Quality})
	return out.Bytes(), err
}

// onWhite puts transparent parts on white, because JPEG has no transparency and would make them black.
func onWhite(img *image.RGBA) {
	for i := 0; i < len(img.Pix); i += 4 {
		for k := range 3 { // colors are multiplied by alpha already
			img.Pix[i+k] += 255 - img.Pix[i+3]
		}
		img.Pix[i+3] = 255
	}
}

func main() {} // never called
