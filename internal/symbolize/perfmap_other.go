//go:build !linux

package symbolize

import (
	"errors"
	"os"
	"time"

	"wprof/format"
)

func openPerfMap(*format.Module, time.Time) (*os.File, error) {
	return nil, errors.New("it was recorded on another machine")
}
