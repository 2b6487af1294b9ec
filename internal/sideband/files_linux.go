package sideband

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/proc"
)

// Files are the files behind mappings, held open so that they can be read when their names, or the processes that
// used them, are gone. Each is opened once.
type Files struct {
	mu     sync.Mutex
	most   int
	byFile map[fileKey]*file
	build  map[string]*file // the first file of a build-id
	byPath map[buildKey]*file
	all    []*os.File
	maps   map[uint32]*os.File // map files of generated code, by pid
	stats  Stats
}

// Stats counts what became of files.
type Stats struct {
	Opened    int // that are held
	TooLate   int // processes were gone, and their files could not be found by their path
	OverLimit int // mappings of files that were not opened, because so many are open already
}

// file is one file; f is nil if it could not be opened.
type file struct {
	f     *os.File
	build []byte
}

// buildKey tells apart the files of one build-id, of which only some may have symbols.
type buildKey struct{ build, path string }

// maxKnown bounds the files that are known, held or not.
const maxKnown = 1 << 17

func newFiles(most int) *Files {
	return &Files{most: most, byFile: make(map[fileKey]*file), build: make(map[string]*file), byPath: make(map[buildKey]*file), maps: make(map[uint32]*os.File)}
}

// keep opens the file of a mapping if it is a new one. What is found in it is told by a record that comes before the
// mapping's own. Nothing is locked while a file is opened.
func (fs *Files) keep(r *Record, out []byte) []byte {
	if len(r.BuildID) > 0 {
		_, path := classify(r)
		key := buildKey{string(r.BuildID), string(path)}
		if fs.isNew(func() bool { return fs.byPath[key] == nil }) {
			fs.enter(fs.open(r), func(f *file) { fs.putBuild(key, f) })
		}
		return out
	}
	key := fileKey{r.Device, r.Inode, r.Generation}
	if fs.isNew(func() bool { return fs.byFile[key] == nil }) {
		f := fs.open(r)
		if f.f != nil {
			f.build, _ = ReadBuildID(f.f)
		}
		fs.enter(f, func(f *file) {
			fs.byFile[key] = f
		})
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	// Each time: another CPU may be about to tell it, in a record that comes later.
	if f := fs.byFile[key]; f != nil && len(f.build) > 0 {
		_, path := classify(r)
		if at := (buildKey{string(f.build), string(path)}); fs.byPath[at] == nil && len(fs.byPath) < maxKnown {
			fs.putBuild(at, f)
		}
		out = Append(out, &Record{Kind: KindKept, Time: r.Time, Device: r.Device, Inode: r.Inode, Generation: r.Generation, BuildID: f.build})
	}
	return out
}

// putBuild enters a file of a build-id. One that could not be opened gives way to one that can.
func (fs *Files) putBuild(key buildKey, f *file) {
	fs.byPath[key] = f
	if first := fs.build[key.build]; first == nil || first.f == nil {
		fs.build[key.build] = f
	}
}

// isNew tells whether a file is to be opened, and there is room for it.
func (fs *Files) isNew(unknown func() bool) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if !unknown() {
		return false
	}
	if fs.stats.Opened >= fs.most || len(fs.byFile)+len(fs.byPath) >= maxKnown {
		fs.stats.OverLimit++
		return false
	}
	return true
}

// enter keeps a file that was opened. If two threads have opened it, both are kept, but the second one is found.
func (fs *Files) enter(f *file, put func(*file)) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.f == nil {
		fs.stats.TooLate++
	} else {
		fs.stats.Opened++
		fs.all = append(fs.all, f.f)
	}
	put(f)
}

// open finds the file of a mapping: through the mapping while the process lives, whatever has become of the file's
// name and wherever it is mounted, else by its path.
func (fs *Files) open(r *Record) *file {
	f := openMapped(r)
	if f == nil {
		f = openByPath(r)
	}
	return &file{f: f}
}

// openMapped opens a file through a mapping of it; nil: the process is gone, or has another mapping there.
func openMapped(r *Record) *os.File {
	for _, task := range r.tasks() {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/map_files/%x-%x", task, r.Start, r.Start+r.Length), os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			return f
		}
	}
	return nil
}

// tasks are the folders of /proc that may show a process, best first.
func (r *Record) tasks() []uint32 {
	if r.tid == 0 || r.tid == r.PID {
		return []uint32{r.PID}
	}
	return []uint32{r.tid, r.PID}
}

// openByPath opens a file where the process saw it, or where it stands for us, if it is still the same.
func openByPath(r *Record) *os.File {
	_, path := classify(r)
	var places []string
	for _, task := range r.tasks() {
		places = append(places, fmt.Sprintf("/proc/%d/root%s", task, path))
	}
	for _, at := range append(places, string(path)) {
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() {
			continue // a FIFO would wait, a device might do anything
		}
		f, err := os.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if isFileOf(f, r) {
			return f
		}
		f.Close()
	}
	return nil
}

// isFileOf holds a file against what the kernel has told of a mapping.
func isFileOf(f *os.File, r *Record) bool {
	if len(r.BuildID) > 0 {
		build, err := ReadBuildID(f)
		return err == nil && string(build) == string(r.BuildID)
	}
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil || stat.Ino != r.Inode {
		return false
	}
	generation, known := generationOf(f)
	return !known || generation == r.Generation
}

// generationOf is the number that tells apart files that had the same inode one after the other. Not all file systems
// tell it.
func generationOf(f *os.File) (uint64, bool) {
	const getVersion = 0x80087601 // FS_IOC_GETVERSION, include/uapi/linux/fs.h: a long by name, an int in fact
	var version uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), getVersion, uintptr(unsafe.Pointer(&version))); errno != 0 {
		return 0, false
	}
	return uint64(uint32(version)), true
}

// Open returns the file of a module; false if it is not held. The caller does not close it.
func (fs *Files) Open(m *format.Module) (*os.File, bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	found := fs.byFile[fileKey{m.Device, m.Inode, m.Generation}]
	if len(m.BuildId) > 0 {
		if found = fs.byPath[buildKey{string(m.BuildId), string(m.Path)}]; found == nil || found.f == nil {
			found = fs.build[string(m.BuildId)]
		}
	}
	if found == nil || found.f == nil {
		return nil, false
	}
	return found.f, true
}

// PerfMap returns the map file of a process's generated code; false if there was none.
func (fs *Files) PerfMap(pid uint32) (*os.File, bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f, ok := fs.maps[pid]
	return f, ok
}

func (fs *Files) hasMap(pid uint32) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.maps[pid] != nil
}

// keepMap opens the map file of a process's generated code, by the process id that the process sees, and tells whether it
// is there.
func (fs *Files) keepMap(pid uint32) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.maps[pid] != nil {
		return true
	}
	if len(fs.maps) >= maxMaps {
		return false
	}
	process, err := proc.ReadIdentity(pid)
	if err != nil {
		return false
	}
	path := fmt.Sprintf("/proc/%d/root/tmp/perf-%d.map", pid, process.PID)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	// Anybody may write to /tmp, also a map for somebody else's process.
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil || stat.Uid != 0 && stat.Uid != process.UID {
		f.Close()
		return false
	}
	fs.maps[pid] = f
	return true
}

// maxMaps bounds the map files that are held.
const maxMaps = 1024

// Stats says what became of files so far.
func (fs *Files) Stats() Stats {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.stats
}

// Close closes all.
func (fs *Files) Close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.all {
		f.Close()
	}
	for _, f := range fs.maps {
		f.Close()
	}
	fs.all = nil
	clear(fs.byFile)
	clear(fs.build)
	clear(fs.maps)
}
