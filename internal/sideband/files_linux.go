package sideband

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/jitdump"
	"wprof/internal/proc"
)

// Files are the mapped files, held open so that they can be read after their names were removed, or the processes that
// mapped them have ended. Each is opened once.
type Files struct {
	mu      sync.Mutex
	limit   int               // of files that are held
	byFile  map[fileKey]*file // of mappings without a build-id
	build   map[string]*file  // the first file of a build-id
	byPath  map[buildKey]*file
	byInode map[Inode]*file
	open    int       // files that are held
	claimed int       // files that are about to be held
	fresh   []*Held   // that [Files.Fresh] has not returned yet
	maps    *mapStore // map files of generated code
	codes   codeRoom  // functions of dumps
	closed  bool
	stats   Stats
}

// Stats counts files by outcome.
type Stats struct {
	Opened    int // that were opened
	TooLate   int // whose process had ended, and which were not found by their path or may have changed
	OverLimit int // mappings of files that were not opened, because the maximum was open already
	MapsCut   int // map files of generated code that were not copied completely, for lack of room or time
	Unopened  int // files that were not opened before the recording ended, or because too many were queued
}

// file is one file.
type file struct {
	source  *Source     // nil: it could not be opened yet
	held    bool        // open; else, if there is a source, that is a copy
	stat    unix.Stat_t // when it was last opened
	checked int64       // time of the mapping that led to the last check
	changed bool        // between two checks
	unsure  bool        // the last check failed: it was mapped again, but not found
	pending bool        // it is being opened, or queued
	began   time.Time   // when opening it began; zero: it is queued
	tries   int
	path    string // of its first mapping
	grows   bool   // a jitdump: what is in it stays as it is
}

// isHung reports whether the file's file system does not respond.
func (f *file) isHung() bool {
	return f.pending && !f.began.IsZero() && time.Since(f.began) >= openTime
}

// recheckAfter is the time after which a new mapping of a file without a build-id leads to another check of the file, ns: it
// may have been overwritten.
const recheckAfter = 1e9

// maxTries is the number of attempts to open a file: a process can end too soon, and the next one that maps the file may not.
const maxTries = 4

// buildKey distinguishes the files of one build-id, of which only some may have symbols.
type buildKey struct{ build, path string }

// Inode identifies a file with its contents, until the machine is restarted.
type Inode struct {
	Number, Changed uint64 // Changed: ctime, ns
	Device          uint32 // the kernel's dev_t
}

// InodeOf returns the identity of a file by its state.
func InodeOf(stat *unix.Stat_t) Inode {
	return Inode{stat.Ino, uint64(stat.Ctim.Nano()), unix.Major(stat.Dev)<<20 | unix.Minor(stat.Dev)}
}

// maxKnown bounds the files, held or not.
const maxKnown = 1 << 17

func newFiles(limit int) *Files {
	return &Files{limit: limit, byFile: make(map[fileKey]*file), build: make(map[string]*file), byPath: make(map[buildKey]*file), byInode: make(map[Inode]*file), maps: newMapStore()}
}

// claim reports whether the caller is to open the file of a mapping: it is new, could not be opened yet, or may have been
// overwritten. If so, the caller calls [Files.opened] or [Files.unclaim].
func (fs *Files) claim(r *Record) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.lookUp(r)
	// A file that is not held open may have changed meanwhile.
	if f != nil && f.source != nil && !f.pending && len(r.BuildID) == 0 && (!f.held || r.Time-f.checked > recheckAfter) {
		f.pending = true
		return true
	}
	if f != nil && (f.pending || f.source != nil || f.tries >= maxTries) {
		return false
	}
	if fs.open+fs.claimed >= fs.limit || f == nil && len(fs.byFile)+len(fs.byPath) >= maxKnown {
		fs.stats.OverLimit++
		return false
	}
	if f == nil {
		_, path := classify(r)
		f = &file{path: string(path), grows: isDump(r)}
		if len(r.BuildID) > 0 {
			fs.byPath[pathKey(r.BuildID, r)] = f
		} else {
			fs.byFile[r.file()] = f
		}
	}
	f.pending = true
	fs.claimed++
	return true
}

// endOpening records that opening a claimed file has ended.
func (fs *Files) endOpening(f *file) {
	if f.pending && f.source == nil {
		fs.claimed--
	}
	f.pending, f.began = false, time.Time{}
}

// opening records that a claimed file is being opened.
func (fs *Files) opening(r *Record) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.lookUp(r); f != nil {
		f.began = time.Now()
	}
}

func (fs *Files) lookUp(r *Record) *file {
	if len(r.BuildID) > 0 {
		return fs.byPath[pathKey(r.BuildID, r)]
	}
	return fs.byFile[r.file()]
}

func pathKey(build []byte, r *Record) buildKey {
	_, path := classify(r)
	return buildKey{string(build), string(path)}
}

// file identifies the file of a mapping without a build-id.
func (r *Record) file() fileKey { return fileKey{r.Device, r.Inode, r.Generation} }

// unclaim drops a claim: the next mapping of the file claims it again.
func (fs *Files) unclaim(r *Record) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.lookUp(r); f != nil {
		fs.endOpening(f)
		if f.source != nil {
			return
		}
	}
	fs.stats.Unopened++
}

// opened holds the file of a mapping, nil if it was not found, and appends a record of its build-id and state.
func (fs *Files) opened(r *Record, opened *os.File, out []byte) []byte {
	build, generation := r.BuildID, r.Generation
	var stat unix.Stat_t
	if opened != nil && len(build) == 0 {
		build, _ = readBuildID(opened)
		if known, ok := generationOf(opened); ok {
			generation = known
		}
	}
	if opened != nil && (unix.Fstat(int(opened.Fd()), &stat) != nil || len(r.BuildID) == 0 && !isDump(r) && changedSince(&stat, r.Time)) {
		opened.Close()
		opened = nil
	}
	unneeded := opened
	defer func() {
		if unneeded != nil {
			unneeded.Close() // may take arbitrarily long, so not while others wait for fs.mu
		}
	}()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.lookUp(r)
	if fs.closed || f == nil {
		return out
	}
	fs.endOpening(f)
	h := &Held{File: opened, mapping: *r, stat: stat, entry: f}
	if len(r.BuildID) == 0 {
		stateNow(&stat).put(&h.Name)
	}
	_, h.Name.Path = classify(r)
	h.Name.Kind, h.Name.Device, h.Name.Inode, h.Name.Generation, h.Name.BuildID = KindKept, r.Device, r.Inode, generation, build
	if f.source != nil {
		if !f.recheck(h, r.Time) {
			return out
		}
	} else if !fs.hold(h, r.Time) {
		return out
	} else {
		unneeded = nil
	}
	if len(build) > 0 {
		fs.byPath[pathKey(build, r)] = f
		if fs.build[string(build)] == nil {
			fs.build[string(build)] = f
		}
	}
	if len(r.BuildID) > 0 {
		return out
	}
	fs.byFile[fileKey{r.Device, r.Inode, generation}] = f
	kept := Record{Kind: KindKept, Time: r.Time, Device: r.Device, Inode: r.Inode, Generation: r.Generation, BuildID: build, Offset: generation}
	if !f.unsure {
		stateNow(&stat).put(&kept)
	}
	return Append(out, &kept)
}

func stateNow(stat *unix.Stat_t) fileState {
	return fileState{uint64(stat.Size), uint64(stat.Mtim.Nano()), uint64(stat.Ctim.Nano())}
}

// changedSince reports whether a file may have changed between its mapping and now. A time in the future is that of a
// clock that was set back since, or of another machine, and is ignored.
func changedSince(stat *unix.Stat_t, mapped int64) bool {
	now := time.Now().UnixNano()
	changed := stat.Ctim.Nano()
	return changed > now-(proc.Monotonic()-mapped) && changed <= now
}

// open opens the file of a mapping: through the mapping while the process is alive, independently of the file's
// name and mount, else by its path.
func open(r *Record, parent uint32) *os.File {
	if f := openMapped(r); f != nil {
		return f
	}
	return openByPath(r, parent)
}

// openMapped opens a file through a mapping of it; nil: the process has ended, or has another mapping there.
func openMapped(r *Record) *os.File {
	for _, tid := range r.tids() {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/map_files/%x-%x", tid, r.Start, r.Start+r.Length), os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			return f
		}
	}
	return nil
}

// tids returns the ids under which /proc may show a process, best first.
func (r *Record) tids() []uint32 {
	if r.tid == 0 || r.tid == r.PID {
		return []uint32{r.PID}
	}
	return []uint32{r.tid, r.PID}
}

// openByPath opens a file by its path as seen by the process, its parent or the recorder, if it is still the same.
func openByPath(r *Record, parent uint32) *os.File {
	_, path := classify(r)
	var places []string
	tids := r.tids()
	if parent != 0 {
		tids = append(tids, parent)
	}
	for _, tid := range tids {
		places = append(places, fmt.Sprintf("/proc/%d/root%s", tid, path))
	}
	for _, at := range append(places, string(path)) {
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() {
			continue // opening a FIFO may wait, and opening a device may have effects
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

// isFileOf compares a file with the kernel's record of a mapping.
func isFileOf(f *os.File, r *Record) bool {
	if len(r.BuildID) > 0 {
		build, err := readBuildID(f)
		return err == nil && string(build) == string(r.BuildID)
	}
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil || stat.Ino != r.Inode {
		return false
	}
	generation, known := generationOf(f)
	return !known || r.Generation == 0 || generation == r.Generation
}

// generationOf returns the inode generation, which distinguishes files that had the same inode one after the other. Not all file
// systems have it.
func generationOf(f *os.File) (uint64, bool) {
	const getVersion = 0x80087601 // FS_IOC_GETVERSION, include/uapi/linux/fs.h: a long by name, an int in fact
	var version uint64
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), getVersion, uintptr(unsafe.Pointer(&version))); errno != 0 {
		return 0, false
	}
	return uint64(uint32(version)), true
}

// Open returns the file of a module; false if it was not opened, or may have been changed since it was mapped. The caller
// does not close it.
func (fs *Files) Open(m *format.Module) (*Source, bool) {
	source, was := fs.find(m)
	return source, source != nil && (len(m.BuildId) > 0 || jitdump.IsModule(m) || source.isUnchanged(was))
}

// find returns the file of a module, nil if there is none or it is known to have changed since it was mapped, and its
// state when it was last opened. The state of a mapping may be unknown if it was reported before the file was first opened.
func (fs *Files) find(m *format.Module) (source *Source, was unix.Stat_t) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	found := fs.byFile[fileKey{m.Device, m.Inode, m.Generation}]
	if len(m.BuildId) > 0 {
		if found = fs.byPath[buildKey{string(m.BuildId), string(m.Path)}]; found == nil || found.source == nil {
			found = fs.build[string(m.BuildId)]
		}
		if found == nil {
			return nil, was
		}
		return found.source, was
	}
	if found != nil && found.grows {
		return found.source, found.stat
	}
	if found == nil || (found.changed || stateOf(m) != fileState{}) && stateOf(m) != stateNow(&found.stat) {
		return nil, was
	}
	return found.source, found.stat
}

// Dup returns another descriptor of a file that is held open; nil: it is not.
func (fs *Files) Dup(which Inode) *os.File {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byInode[which]
	if f == nil || !f.held || fs.closed {
		return nil
	}
	return f.source.dup()
}

// Hung reports whether the file of a module could not be opened, because its file system does not respond.
func (fs *Files) Hung(m *format.Module) bool {
	if source, _ := fs.find(m); source != nil {
		return false
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.byFile[fileKey{m.Device, m.Inode, m.Generation}]
	if len(m.BuildId) > 0 {
		f = fs.byPath[buildKey{string(m.BuildId), string(m.Path)}]
	}
	return f != nil && f.isHung()
}

// AllHung returns the paths of files that could not be opened, because their file systems do not respond.
func (fs *Files) AllHung() (paths []string) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.byFile {
		if f.isHung() {
			paths = append(paths, f.path)
		}
	}
	for key, f := range fs.byPath {
		if f.isHung() {
			paths = append(paths, key.path)
		}
	}
	return paths
}

// PerfMap returns a copy of a program's map file; false: there is none. since is when it first mapped generated code.
func (fs *Files) PerfMap(pid uint32, since int64) (io.ReadCloser, bool) {
	return fs.maps.read(mapKey{pid, since})
}

// Stats returns the counts so far.
func (fs *Files) Stats() Stats {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	stats := fs.stats
	stats.MapsCut = fs.maps.cut()
	for _, f := range fs.byFile {
		if f.pending && f.source == nil {
			stats.Unopened++
		}
	}
	for _, f := range fs.byPath {
		if f.pending && f.source == nil {
			stats.Unopened++
		}
	}
	return stats
}

// Close closes all files. It waits for file systems for openTime at most: files of one that hangs stay open until it responds.
func (fs *Files) Close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.closed = true
	var held []*Source
	for _, files := range []iter.Seq[*file]{maps.Values(fs.byFile), maps.Values(fs.byPath)} {
		for f := range files {
			if f.held {
				held = append(held, f.source) // repeatedly, if it has several keys
			}
		}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, source := range held {
			source.close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(openTime):
	}
	fs.maps.close()
	fs.fresh = nil
	clear(fs.byFile)
	clear(fs.byPath)
	clear(fs.build)
}
