package main

import (
	"bufio"
	"fmt"
	"image"
	_ "image/gif" // decoders
	_ "image/jpeg"
	_ "image/png"
	"io"
)

// decode reads a picture, and how it is to be turned. It knows and bounds the picture's size before it reads a pixel: a file of a few
// KB may claim to be a picture of gigabytes.
func decode(file io.ReadSeeker) (img image.Image, turn int, err error) {
	head, format, err := image.DecodeConfig(bufio.NewReader(file))
	if err != nil {
		return nil, 0, fmt.Errorf("image: %w", err)
	}
	switch {
	case head.Width < 1 || head.Height < 1:
		return nil, 0, fmt.Errorf("image: %d x %d pixels", head.Width, head.Height)
	case int64(head.Width)*int64(head.Height) > maxPixels:
		return nil, 0, fmt.Errorf("image: %d x %d pixels, at most %d in all", head.Width, head.Height, maxPixels)
	}
	turn = 1
	if format == "jpeg" {
		if _, err = file.Seek(0, io.SeekStart); err != nil {
			return nil, 0, err
		}
		turn = orientation(bufio.NewReader(file))
	}
	if _, err = file.Seek(0, io.SeekStart); err != nil {
		return nil, 0, err
	}
	if img, _, err = image.Decode(bufio.NewReaderSize(file, 64<<10)); err != nil {
		return nil, 0, fmt.Errorf("image: %w", err)
	}
	return img, turn, nil
}
