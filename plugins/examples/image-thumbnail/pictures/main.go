// Command pictures makes large JPEGs to try image-thumbnail with, each in colours of its own: a folder for each user.
package main

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

const width, height = 2400, 1600

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes COUNT pictures in DIR/USER for each USER.
func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: pictures DIR COUNT USER…")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil || count < 1 || count > 99 {
		return fmt.Errorf("COUNT: %q, must be 1 to 99", args[1])
	}
	for u, user := range args[2:] {
		dir := filepath.Join(args[0], user)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for i := range count {
			if err := write(filepath.Join(dir, fmt.Sprintf("%02d.jpg", i+1)), picture(u*count+i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(name string, img image.Image) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := jpeg.Encode(f, img, &jpeg.Options{Quality: 90}); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// picture is rings on a ground that goes from one colour to another. Each seed gives other ones.
func picture(seed int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	hue := float64(seed) * 0.618 // of the circle: neighbours differ most
	x0, y0 := width*(0.3+0.4*frac(hue*3)), height*(0.3+0.4*frac(hue*5))
	for y := range height {
		red, green, blue := colours(hue + 0.25*float64(y)/height)
		for x := range width {
			bright := 0.7 + 0.25*math.Sin(math.Sqrt((float64(x)-x0)*(float64(x)-x0)+(float64(y)-y0)*(float64(y)-y0))/(30+5*float64(seed%7)))
			img.SetRGBA(x, y, color.RGBA{uint8(bright * red), uint8(bright * green), uint8(bright * blue), 255})
		}
	}
	return img
}

// colours are the parts of a colour of the circle of colours.
func colours(hue float64) (red, green, blue float64) {
	part := func(shift float64) float64 { return 255 * (0.5 + 0.5*math.Cos(2*math.Pi*(hue+shift))) }
	return part(0), part(1.0 / 3), part(2.0 / 3)
}

func frac(x float64) float64 { return x - math.Floor(x) }
