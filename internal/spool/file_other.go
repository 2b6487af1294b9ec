//go:build !linux

package spool

import (
	"errors"
	"os"
)

func isTmpfs(*os.File) bool { return false }

func writeVector(file *os.File, parts [][]byte, offset int64) error {
	for _, part := range parts {
		if _, err := file.WriteAt(part, offset); err != nil {
			return err
		}
		offset += int64(len(part))
	}
	return nil
}

func allocate(int) []byte { return nil }

func release([]byte) {}

func punch(*os.File, int64, int64) {}

func openOld(path string) (*os.File, error) { return os.Open(path) }

func openFolder(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// lock does nothing: recording is done on Linux only.
func lock(*os.File) error { return nil }

// canPunch reports that no part of a file can be freed.
func canPunch(*os.File) error { return errors.ErrUnsupported }
