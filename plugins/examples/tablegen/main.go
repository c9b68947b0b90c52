// Tablegen makes a table for build-index and validate-table: files of orders, one row a line, fields separated by tabs (see
// package table). The same flags give the same bytes on every machine. It runs natively:
//
//	go run ./plugins/examples/tablegen -dir /tmp/orders -rows 1000000 -files 8
//
// It prints the member "files" of an operation's argument, and writes it to files.json beside the files: the files' names, and the
// blobs that they will be once they are uploaded (taskrt blob put FILE).
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tablegen:", err)
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	dir   string
	rows  int64
	files int
	seed  uint64
	bad   place
}

// place is a row of a file, counted from 1; the zero value is none.
type place struct {
	file string
	row  int64
}

// blobRef is how JSON names a blob.
type blobRef struct {
	Blob string `json:"$blob"`
}

func run(args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	refs, planted := map[string]blobRef{}, c.bad == place{}
	first := int64(1) // row of the next file
	for i := range c.files {
		name := fmt.Sprintf("part-%03d.tsv", i)
		last := c.rows * int64(i+1) / int64(c.files)
		digest, err := c.writeFile(name, i, first, last)
		if err != nil {
			return err
		}
		refs[name] = blobRef{"sha256:" + digest}
		planted = planted || c.bad.file == name && c.bad.row <= last-first+1
		first = last + 1
	}
	if !planted {
		return fmt.Errorf("-bad %s:%d: there is no such row", c.bad.file, c.bad.row)
	}
	text, err := json.Marshal(refs)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", text)
	return os.WriteFile(filepath.Join(c.dir, "files.json"), text, 0o644)
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("tablegen", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&c.dir, "dir", "", "where the files go; it is made if it is not there")
	f.Int64Var(&c.rows, "rows", 1_000_000, "in all files together")
	f.IntVar(&c.files, "files", 8, "1 to 1000")
	f.Uint64Var(&c.seed, "seed", 1, "another one gives another table")
	f.Func("bad", "FILE:ROW, rows counted from 1: there the amount is no number", func(s string) (err error) {
		name, row, _ := strings.Cut(s, ":")
		c.bad.file = name
		if c.bad.row, err = strconv.ParseInt(row, 10, 64); err != nil || c.bad.row < 1 {
			return errors.New("want FILE:ROW, as in part-003.tsv:17")
		}
		return nil
	})
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("what is %q?", f.Arg(0))
	case c.dir == "":
		return nil, errors.New("-dir is missing")
	case c.files < 1 || c.files > 1000:
		return nil, errors.New("-files must be 1 to 1000")
	case c.rows < 0 || c.rows > 1<<40:
		return nil, errors.New("-rows must be 0 to 1099511627776")
	}
	return c, nil
}

// writeFile writes rows first to last, and returns the file's digest.
func (c *config) writeFile(name string, number int, first, last int64) (digest string, err error) {
	f, err := os.Create(filepath.Join(c.dir, name))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	w := bufio.NewWriter(io.MultiWriter(f, hash))
	random := rand.New(rand.NewPCG(c.seed, uint64(number)))
	var row []byte
	for id := first; id <= last; id++ {
		row = appendRow(row[:0], random, id, c.bad == place{name, id - first + 1})
		if _, err := w.Write(row); err != nil {
			return "", err
		}
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

var cities = strings.Fields(`Aarhus Accra Århus Bengaluru Bogotá Brno Cairo Cusco Dakar Đà-Nẵng Fès Gdańsk Göteborg Hanoi Iași
	Jena Kyoto Kraków Lagos Lille Łódź Malmö Nairobi Oaxaca Osaka Plovdiv Porto Quito Reykjavík São-Paulo Tartu Ulm Valparaíso
	Wien Xalapa York Zürich 京都 北京`)

// appendRow appends an order: id, customer, city, cents, day, note. A few customers have most of the orders; a note is often
// empty; a refund is below 0.
func appendRow(row []byte, random *rand.Rand, id int64, bad bool) []byte {
	const customers = 20_000
	row = strconv.AppendInt(row, id, 10)
	row = append(row, "\tc-"...)
	row = strconv.AppendInt(row, random.Int64N(1+random.Int64N(customers)), 10)
	row = append(append(row, '\t'), cities[random.IntN(len(cities))]...)
	cents := random.Int64N(250_000) - 10_000
	row = append(row, '\t')
	if bad {
		row = append(row, "n/a"...)
	} else {
		row = strconv.AppendInt(row, cents, 10)
	}
	row = strconv.AppendInt(append(row, '\t'), random.Int64N(3653), 10)
	row = append(row, '\t')
	if n := random.IntN(6); n < 3 {
		row = append(row, []string{"gift", "leave at the door", "urgent"}[n]...)
	}
	return append(row, '\n')
}
