//go:build !linux

package newfile

import (
	"os"
	"path/filepath"
)

// OpenFolder opens a folder to make files in it.
func OpenFolder(path string) (*os.File, error) { return os.Open(path) }

// PathIn is the path of a file in an open folder.
func PathIn(folder *os.File, name string) string { return filepath.Join(folder.Name(), name) }
