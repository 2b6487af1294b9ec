package tools

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// MemoryLimit is a cgroup whose processes may have so much memory.
type MemoryLimit struct {
	Path    string // as the recorder sees it
	folders []string
}

// NewMemoryLimit makes a cgroup with a limit in bytes, of either version. In version 1 one of the same path in the hierarchy of CPUs, which the
// recorder sees, goes with it. They are removed when the test ends.
func NewMemoryLimit(t testing.TB, limit int) *MemoryLimit {
	t.Helper()
	NeedPrivilege(t)
	m := &MemoryLimit{Path: "/wprof-memory-" + strconv.Itoa(os.Getpid())}
	for _, file := range []string{"memory/memory.limit_in_bytes", "memory.max"} {
		file = filepath.Join("/sys/fs/cgroup", filepath.Dir(file), m.Path, filepath.Base(file))
		if m.make(t, filepath.Dir(file)) && os.WriteFile(file, []byte(strconv.Itoa(limit)), 0) == nil {
			m.make(t, filepath.Join("/sys/fs/cgroup/cpu", m.Path))
			return m
		}
	}
	t.Fatal("no memory cgroup can be made")
	return nil
}

func (m *MemoryLimit) make(t testing.TB, folder string) bool {
	if os.Mkdir(folder, 0o755) != nil {
		return false
	}
	t.Cleanup(func() { _ = os.Remove(folder) })
	m.folders = append(m.folders, folder)
	return true
}

// Join is the beginning of a shell command that moves the shell into the cgroup.
func (m *MemoryLimit) Join() string {
	var text strings.Builder
	for _, folder := range m.folders {
		text.WriteString("echo $$ > " + folder + "/cgroup.procs; ")
	}
	return text.String()
}
