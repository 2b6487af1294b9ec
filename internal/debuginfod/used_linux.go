package debuginfod

import (
	"os"
	"syscall"
	"time"
)

// lastUsed is when a file was last read or written.
func lastUsed(info os.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if read := time.Unix(int64(st.Atim.Sec), int64(st.Atim.Nsec)); read.After(info.ModTime()) {
			return read
		}
	}
	return info.ModTime()
}
