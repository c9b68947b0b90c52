//go:build !linux

package trio

import (
	"errors"
	"time"
)

func used(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
