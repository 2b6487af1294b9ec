package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// diskSpace is what this process's files without a name in a folder take on disk, holes left out.
func diskSpace(t *testing.T, folder string) (bytes int64) {
	t.Helper()
	const open = "/proc/self/fd"
	files, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range files {
		path := filepath.Join(open, f.Name())
		if name, _ := os.Readlink(path); !strings.HasPrefix(name, folder+"/") || !strings.HasSuffix(name, " (deleted)") {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		found = true
		bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
	}
	if !found {
		t.Fatalf("no file without a name is open in %s", folder)
	}
	return bytes
}

// cpuTime is what all threads of this process have used, in ns.
func cpuTime(tb testing.TB) int64 {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
