package input

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/taskrt/taskrt/internal/terminal"
)

// Answer asks people at a terminal, and returns the line that they type.
func Answer(in io.Reader, to *terminal.Output, question string, args ...any) (string, error) {
	if err := to.Printf(question, args...); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}
