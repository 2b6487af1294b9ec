package symbol

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/format"
)

// identify sets the identity of a module's file, as it is recorded where there is no build-id.
func identify(t testing.TB, m *format.Module) {
	t.Helper()
	st, err := os.Stat(string(m.Path))
	if err != nil {
		t.Fatal(err)
	}
	sys := st.Sys().(*syscall.Stat_t)
	m.Device, m.Inode = uint64(unix.Major(sys.Dev))<<32|uint64(unix.Minor(sys.Dev)), sys.Ino
	m.Size, m.Mtime, m.Ctime = uint64(sys.Size), uint64(sys.Mtim.Nano()), uint64(sys.Ctim.Nano())
}
