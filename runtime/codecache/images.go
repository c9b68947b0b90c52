package codecache

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// ImagePlace is the file of the image of digest.
func (c *Cache) ImagePlace(digest string) string {
	return filepath.Join(c.cfg.Dir, digest+"-image-"+c.cfg.Generation)
}

// WriteImage puts an image into the cache: write writes it to a file and returns how many bytes it wrote.
func (c *Cache) WriteImage(digest string, write func(*os.File) (size int64, err error)) error {
	f, err := os.CreateTemp(c.cfg.Dir, makingPrefix)
	if err != nil {
		return fmt.Errorf("runtime: image: %w", err)
	}
	defer os.Remove(f.Name())
	size, err := write(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.ImagePlace(digest))
	}
	if err != nil {
		return fmt.Errorf("runtime: image: %w", err)
	}
	c.grown(size)
	return nil
}

// ReadImage returns the content of the file of the image of digest. Of a file with more than most bytes it returns
// the first most+1. If the cache has no image, the error is fs.ErrNotExist.
func (c *Cache) ReadImage(digest string, most int64) ([]byte, error) {
	place := c.ImagePlace(digest)
	f, err := os.Open(place)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(info.Size(), most+1))
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(place, now, now) // prune would take it sooner
	return data, nil
}
