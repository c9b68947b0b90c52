package members

import (
	"errors"
	"io/fs"
)

// Identify says which node of which cluster a directory belongs to.
func Identify(dir string) (id, cluster string, err error) {
	f, err := readBook(bookPath(dir))
	return f.Self.ID, f.Cluster, err
}

// Rebegin makes a directory that of the first node of another cluster, or begins one. Its instance is drawn anew, so that nobody of the former
// cluster takes it for the node that it was. No server starts before Finish is called. command is what the operator is told to run again.
func Rebegin(dir, id, cluster string, level uint64, command string) (Peer, error) {
	f := nodeFile{Self: Peer{ID: id, Instance: Draw()}, Cluster: cluster, Level: level, Unfinished: command}
	return f.Self, f.write(bookPath(dir))
}

// Finish lets servers start on a directory after Rebegin.
func Finish(dir string) error {
	f, err := readBook(bookPath(dir))
	if err != nil {
		return err
	}
	f.Unfinished = ""
	return f.write(bookPath(dir))
}

// Unfinished says which command is making another cluster of a directory, or of an empty one, and was interrupted; "": none.
func Unfinished(dir string) (command string, err error) {
	f, err := readBook(bookPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return f.Unfinished, err
}
