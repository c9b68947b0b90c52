package main

import (
	"image"
	"image/color"
	"image/draw"
)

// band is how many rows are scaled between two heartbeats.
const band = 16

// shrink scales a picture so that its longest side has longest pixels. Each pixel is the mean of the pixels for which it stands, in linear
// light, as an eye would mix them. A smaller picture stays as it is. step is called after every band of rows.
func shrink(img image.Image, longest int, step func(done, total int) error) (*image.RGBA, error) {
	from := img.Bounds()
	w, h := fit(from.Dx(), from.Dy(), longest)
	to := image.NewRGBA(image.Rect(0, 0, w, h))
	if w == from.Dx() && h == from.Dy() {
		draw.Draw(to, to.Bounds(), img, from.Min, draw.Src)
		return to, nil
	}
	var rows *image.RGBA // of the picture: all that one band needs
	for top := 0; top < h; top += band {
		bottom := min(top+band, h)
		y0, y1 := top*from.Dy()/h, (bottom*from.Dy()+h-1)/h
		if rows == nil || rows.Bounds().Dy() < y1-y0 {
			rows = image.NewRGBA(image.Rect(0, 0, from.Dx(), y1-y0))
		}
		draw.Draw(rows, image.Rect(0, 0, from.Dx(), y1-y0), img, image.Pt(from.Min.X, from.Min.Y+y0), draw.Src)
		for y := top; y < bottom; y++ {
			a, b := y*from.Dy()/h-y0, (y+1)*from.Dy()/h-y0
			for x := range w {
				to.SetRGBA(x, y, mean(rows, x*from.Dx()/w, a, (x+1)*from.Dx()/w, b))
			}
		}
		if err := step(bottom, h); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// fit returns the size of a thumbnail.
func fit(w, h, longest int) (int, int) {
	switch {
	case w <= longest && h <= longest:
		return w, h
	case w >= h:
		return longest, max(1, (h*longest+w/2)/w)
	}
	return max(1, (w*longest+h/2)/h), longest
}

// mean is the mean of the pixels from (x0, y0) up to (x1, y1), which are one at least. Colors count by their alpha.
func mean(img *image.RGBA, x0, y0, x1, y1 int) color.RGBA {
	var sum [3]float32
	var alpha, count float32
	for y := y0; y < max(y1, y0+1); y++ {
		row := img.Pix[y*img.Stride:]
		for x := x0; x < max(x1, x0+1); x++ {
			p := row[4*x : 4*x+4]
			count++
			if p[3] == 0 {
				continue
			}
			a := float32(p[3])
			alpha += a
			for k := range sum {
				sum[k] += a * linear[min(255, uint32(p[k])*255/uint32(p[3]))]
			}
		}
	}
	if alpha == 0 {
		return color.RGBA{}
	}
	c := color.NRGBA{uint8(curve(sum[0] / alpha)), uint8(curve(sum[1] / alpha)), uint8(curve(sum[2] / alpha)), uint8(alpha/count + 0.5)}
	r, g, b, a := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
}

// linear is the light of each value of sRGB (IEC 61966-2-1), by the square, which is near enough for a mean of neighbors.
var linear = func() (t [256]float32) {
	for v := range t {
		t[v] = float32(v) * float32(v)
	}
	return t
}()

// curve undoes linear.
func curve(light float32) int {
	low, high := 0, 255
	for low < high { // the nearest v, by its upper bound (v + 1/2)²
		v := (low + high) / 2
		if edge := float32(v) + 0.5; light < edge*edge {
			high = v
		} else {
			low = v + 1
		}
	}
	return low
}

// turned returns the picture as its orientation of 1 to 8 says that it is to be seen.
func turned(img *image.RGBA, orientation int) *image.RGBA {
	if orientation == 1 {
		return img
	}
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			to := [...]image.Point{
				2: {w - 1 - x, y}, 3: {w - 1 - x, h - 1 - y}, 4: {x, h - 1 - y},
				5: {y, x}, 6: {h - 1 - y, x}, 7: {h - 1 - y, w - 1 - x}, 8: {y, w - 1 - x},
			}[orientation]
			out.SetRGBA(to.X, to.Y, img.RGBAAt(x, y))
		}
	}
	return out
}
