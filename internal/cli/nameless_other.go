//go:build !linux

package cli

import (
	"errors"
	"os"
)

// openNameless returns nil: only Linux has files without a name.
func openNameless(string, string) *os.File { return nil }

func giveName(*os.File, string) error { return errors.ErrUnsupported }
