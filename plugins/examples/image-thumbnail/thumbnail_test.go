package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/taskrt/taskrt/abi"
	"github.com/taskrt/taskrt/plugins/plugintest"
	sdk "github.com/taskrt/taskrt/plugins/sdk/go"
	"github.com/taskrt/taskrt/plugins/sdk/go/sdktest"
)

var corners = [4]color.RGBA{{200, 30, 30, 255}, {30, 200, 30, 255}, {30, 30, 200, 255}, {220, 220, 40, 255}}

// quarters is a picture with a color in each quarter: top left, top right, bottom left, bottom right.
func quarters(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i, c := range corners {
		draw.Draw(img, image.Rect(i%2*w/2, i/2*h/2, (i%2+1)*w/2, (i/2+1)*h/2), image.NewUniform(c), image.Point{}, draw.Src)
	}
	return img
}

func encoded(t testing.TB, format string, img image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&out, img)
	case "gif":
		err = gif.Encode(&out, img, nil)
	default:
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: 95})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ask returns params for a picture, with more members, and a host that has it.
func ask(data []byte, more string) *sdktest.Host {
	name := sdktest.BlobName(data)
	return &sdktest.Host{
		Params: fmt.Appendf(nil, `{"image":{"$blob":%q}%s}`, name, more), Blobs: map[string][]byte{name: data},
	}
}

func thumbnail(t testing.TB, h *sdktest.Host) (image.Image, string) {
	t.Helper()
	r := sdktest.Run(t, "image-thumbnail", h)
	if r.Outcome != abi.OutcomeOK {
		t.Fatalf("%.300v", r)
	}
	img, format, err := image.Decode(bytes.NewReader(r.Result))
	if err != nil {
		t.Fatal(err)
	}
	return img, format
}

// wantQuarters checks a picture's size, and the color in the middle of each quarter.
func wantQuarters(t testing.TB, img image.Image, w, h int, want [4]color.RGBA) {
	t.Helper()
	b := img.Bounds()
	if b.Dx() != w || b.Dy() != h {
		t.Errorf("%d x %d, want %d x %d", b.Dx(), b.Dy(), w, h)
	}
	for i, c := range want {
		got := color.RGBAModel.Convert(img.At(b.Min.X+(1+2*(i%2))*b.Dx()/4, b.Min.Y+(1+2*(i/2))*b.Dy()/4)).(color.RGBA)
		for k, d := range [4]int{int(got.R) - int(c.R), int(got.G) - int(c.G), int(got.B) - int(c.B), int(got.A) - int(c.A)} {
			if d < -20 || d > 20 { // the palette of a GIF is coarse
				t.Errorf("quarter %d is %v, want %v (channel %d)", i, got, c, k)
			}
		}
	}
}

func TestFormatsAndSizes(t *testing.T) {
	for _, tt := range []struct {
		from, more, to string
		w, h, tw, th   int
	}{
		{"jpeg", ``, "jpeg", 1024, 512, 256, 128},
		{"png", `,"longest":100,"format":"png"`, "png", 300, 600, 50, 100},
		{"gif", `,"longest":64,"quality":95`, "jpeg", 640, 640, 64, 64},
		{"png", `,"longest":2048,"format":"png"`, "png", 40, 20, 40, 20}, // never larger
		{"png", `,"longest":7,"format":"png"`, "png", 1000, 600, 7, 4},
	} {
		img, format := thumbnail(t, ask(encoded(t, tt.from, quarters(tt.w, tt.h)), tt.more))
		if format != tt.to {
			t.Errorf("%v: a %s", tt, format)
		}
		wantQuarters(t, img, tt.tw, tt.th, corners)
	}
	if w, h := fit(10_000, 3, 100); w != 100 || h != 1 {
		t.Errorf("a line becomes %d x %d", w, h)
	}
}

func TestInlinePicture(t *testing.T) {
	text := base64.StdEncoding.EncodeToString(encoded(t, "png", quarters(64, 64)))
	img, _ := thumbnail(t, &sdktest.Host{Params: []byte(`{"image":"` + text + `","longest":32}`)})
	wantQuarters(t, img, 32, 32, corners)
}

// exif puts an orientation into a JPEG, as a camera does.
func exif(order binary.ByteOrder, orientation uint16, data []byte) []byte {
	tiff := []byte("MM\x00*")
	if order == binary.LittleEndian {
		tiff = []byte("II*\x00")
	}
	app := func(v any) { tiff, _ = binary.Append(tiff, order, v) }
	app(uint32(8))
	app(uint16(2))
	for _, e := range []struct {
		tag, kind uint16
		count     uint32
		value     [2]uint16
	}{{0x0100, 3, 1, [2]uint16{7}}, {0x0112, 3, 1, [2]uint16{orientation}}} {
		app(e)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{0xff, 0xd8, 0xff, 0xe0, 0, 4, 'x', 'y', 0xff, 0xe1}, byte((len(segment)+2)>>8), byte(len(segment)+2))
	return append(append(out, segment...), data[2:]...)
}

func TestOrientation(t *testing.T) {
	data := encoded(t, "jpeg", quarters(200, 100))
	for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		for n, want := range map[uint16][4]int{ // which corner is seen where
			1: {0, 1, 2, 3}, 2: {1, 0, 3, 2}, 3: {3, 2, 1, 0}, 4: {2, 3, 0, 1}, 5: {0, 2, 1, 3}, 6: {2, 0, 3, 1}, 7: {3, 1, 2, 0}, 8: {1, 3, 0, 2},
			0: {0, 1, 2, 3}, 9: {0, 1, 2, 3},
		} {
			var seen [4]color.RGBA
			for i, k := range want {
				seen[i] = corners[k]
			}
			w, h := 100, 50
			if n >= 5 && n <= 8 {
				w, h = h, w
			}
			img, _ := thumbnail(t, ask(exif(order, n, data), `,"longest":100,"quality":95`))
			wantQuarters(t, img, w, h, seen)
		}
	}
}

// TestLinearLight: black and white lines seen from afar are brighter than the mean of their numbers.
func TestLinearLight(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 512, 512))
	for i := range img.Pix {
		img.Pix[i] = uint8(255 * (i / 512 % 2))
	}
	small, _ := thumbnail(t, ask(encoded(t, "png", img), `,"longest":64,"format":"png"`))
	if r, _, _, _ := small.At(30, 30).RGBA(); r>>8 < 175 || r>>8 > 190 {
		t.Errorf("gray %d, want about 181", r>>8)
	}
}

func TestTransparency(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 100, 100))
	draw.Draw(img, image.Rect(0, 0, 50, 100), image.NewUniform(color.NRGBA{200, 0, 0, 128}), image.Point{}, draw.Src)
	data := encoded(t, "png", img)
	small, _ := thumbnail(t, ask(data, `,"longest":10,"format":"png"`))
	if got := color.NRGBAModel.Convert(small.At(2, 2)).(color.NRGBA); got.A != 128 || got.R < 195 {
		t.Errorf("half transparent red is %v", got)
	}
	if _, _, _, a := small.At(8, 8).RGBA(); a != 0 {
		t.Errorf("alpha %d where there is nothing", a)
	}
	small, _ = thumbnail(t, ask(data, `,"longest":10,"quality":100`))
	if r, g, b, _ := small.At(8, 8).RGBA(); min(r, g, b)>>8 < 240 {
		t.Errorf("not white in a JPEG: %d %d %d", r>>8, g>>8, b>>8)
	}
}

// huge is the beginning of a PNG that says that it is so large.
func huge(w, h uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), w)
	head = append(binary.BigEndian.AppendUint32(head, h), 8, 6, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	return binary.BigEndian.AppendUint32(append(out, head...), crc32.ChecksumIEEE(head))
}

func TestRefuses(t *testing.T) {
	good := encoded(t, "jpeg", quarters(100, 100))
	name := fmt.Sprintf(`{"$blob":%q}`, sdktest.BlobName(good))
	for _, tt := range []struct {
		data         []byte
		params       string // "": the picture
		code, naming string
	}{
		{good[:len(good)/2], "", "bad_image", "image: "},
		{good[:1], "", "bad_image", "unknown format"},
		{[]byte{}, "", "bad_image", "unknown format"},
		{[]byte("BM no bitmaps"), "", "bad_image", "unknown format"},
		{huge(100_000, 100_000), "", "bad_image", "at most 24000000"},
		{huge(24_000_001, 1), "", "bad_image", "at most 24000000"},
		{huge(0, 5), "", "bad_image", ""},
		{huge(5, 5), "", "bad_image", ""},
		{good, `{}`, "bad_params", "image: missing"},
		{good, `{"image":"not base64!"}`, "bad_params", "base64"},
		{good, `{"image":"` + base64.StdEncoding.EncodeToString(make([]byte, inlineMost+1)) + `"}`, "bad_params", "at most 65536"},
		{good, `{"image":7}`, "bad_params", "image: must be"},
		{good, `{"image":{"$blob":"sha256:00"}}`, "bad_params", "sha256:00"},
		{good, `{"image":` + name + `,"longest":0}`, "bad_params", "longest: 0"},
		{good, `{"image":` + name + `,"longest":2049}`, "bad_params", "longest: 2049"},
		{good, `{"image":` + name + `,"format":"gif"}`, "bad_params", "format"},
		{good, `{"image":` + name + `,"quality":101}`, "bad_params", "quality: 101"},
		{good, `{"image":` + name + `,"width":1}`, "bad_params", "width"},
	} {
		h := ask(tt.data, "")
		if tt.params != "" {
			h.Params = []byte(tt.params)
		}
		r := sdktest.Run(t, "image-thumbnail", h)
		if r.Outcome != abi.OutcomePermanent || !strings.Contains(fmt.Sprint(r), tt.code) || !strings.Contains(fmt.Sprint(r), tt.naming) {
			t.Errorf("%.80s: %.300v, want %s naming %q", tt.params, r, tt.code, tt.naming)
		}
	}
}

func FuzzOrientation(f *testing.F) {
	data := encoded(f, "jpeg", quarters(8, 8))
	f.Add(exif(binary.BigEndian, 6, data))
	f.Add(exif(binary.LittleEndian, 8, data)[:30])
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := orientation(bytes.NewReader(data)); n < 1 || n > 8 {
			t.Errorf("orientation %d", n)
		}
	})
}

// TestModule runs the module as a worker does, over a photo of 12 million pixels.
func TestModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain")
	}
	m := plugintest.Load(t, plugintest.BuildGo(t, "."))
	h := &plugintest.Host{}
	name := h.AddBlob(encoded(t, "jpeg", quarters(4000, 3000)))
	h.Params = fmt.Appendf(nil, `{"image":{"$blob":%q},"longest":320}`, name)
	r := m.Run(t, "image-thumbnail", h)
	r.WantKind(t, plugintest.Succeeded)
	img, format, err := image.Decode(bytes.NewReader(r.Result))
	if err != nil || format != "jpeg" {
		t.Fatal(format, err)
	}
	wantQuarters(t, img, 320, 240, corners)
	if len(h.Beats) < 10 {
		t.Errorf("%d heartbeats", len(h.Beats))
	}
	h.Params = fmt.Appendf(nil, `{"image":{"$blob":%q},"longest":320,"user":"ann"}`, name)
	if again := m.Run(t, "image-thumbnail", h); !bytes.Equal(again.Result, r.Result) {
		t.Error("the picture depends on the user")
	}
	h.OnBeat = plugintest.AtBeat(len(h.Beats)+3, plugintest.Cancel)
	m.Run(t, "image-thumbnail", h).WantKind(t, plugintest.Cancelled)
	h = &plugintest.Host{Params: []byte(`{"image":"` + base64.StdEncoding.EncodeToString(huge(4899, 4898)) + `"}`)}
	m.Run(t, "image-thumbnail", h).WantError(t, "bad_image", false) // within the limit, and cut off
}

// TestCancelWhileDecoding: a picture that takes long to decode is left in the middle.
func TestCancelWhileDecoding(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 600, 600))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(r.Uint32())
	}
	h := ask(encoded(t, "png", noise), "")
	h.OnBeat = func(n int) sdk.Signals {
		if n == 4 {
			return sdk.SignalCancel
		}
		return 0
	}
	if r := sdktest.Run(t, "image-thumbnail", h); r.Outcome != abi.OutcomeCancelled || len(h.Beats) != 4 {
		t.Errorf("%.300v after %d beats", r, len(h.Beats))
	}
}
