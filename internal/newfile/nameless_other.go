//go:build !linux

package newfile

import (
	"errors"
	"os"
)

// Nameless returns [errors.ErrUnsupported]: only Linux has files without a name.
func Nameless(dir, name string) (*os.File, error) { return nil, errors.ErrUnsupported }

// NamesCanBeGiven is false.
func NamesCanBeGiven() bool { return false }

// GiveName returns [errors.ErrUnsupported].
func GiveName(f *os.File, path string) error { return errors.ErrUnsupported }
