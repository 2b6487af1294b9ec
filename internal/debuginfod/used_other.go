//go:build !linux

package debuginfod

import (
	"os"
	"time"
)

// lastUsed is when a file was last written: when it was last read is known on Linux only.
func lastUsed(info os.FileInfo) time.Time { return info.ModTime() }
