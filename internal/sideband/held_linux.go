package sideband

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"wprof/format"
)

// Copy is a copy of the parts of a file that name its functions.
type Copy interface {
	io.ReaderAt
	Size() int64 // of the whole file
}

// Source is a file to be read: first the open file, later its copy. Reading is safe while the copy replaces the file.
type Source struct {
	mu   sync.RWMutex
	file *os.File
	copy Copy // nil: file is open
}

// ReadAt implements io.ReaderAt.
func (s *Source) ReadAt(b []byte, at int64) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.copy != nil {
		return s.copy.ReadAt(b, at)
	}
	return s.file.ReadAt(b, at)
}

// Size returns the size of the file, not of the copy.
func (s *Source) Size() (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.copy != nil {
		return s.copy.Size(), nil
	}
	info, err := s.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// isUnchanged reports whether the contents are known to be unchanged. Copies are made of unchanged files only.
func (s *Source) isUnchanged(was unix.Stat_t) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.copy != nil || isUnchanged(s.file, &was)
}

// isUnchanged reports whether a file's contents are known to be unchanged. Removing one of its links changes the ctime too.
func isUnchanged(f *os.File, was *unix.Stat_t) bool {
	var now unix.Stat_t
	return unix.Fstat(int(f.Fd()), &now) == nil &&
		now.Size == was.Size && now.Mtim == was.Mtim && (now.Ctim == was.Ctim || now.Nlink != was.Nlink)
}

func (s *Source) dup() *os.File {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.copy != nil {
		return nil
	}
	fd, err := unix.FcntlInt(s.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), s.file.Name())
}

// replace replaces the file by a copy.
func (s *Source) replace(copy Copy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.copy = copy
}

func (s *Source) close() { s.file.Close() }

// Held is a file that is held open.
type Held struct {
	File *os.File
	// Name identifies its module: path, build-id, file and state.
	Name    Record
	mapping Record      // through which it was found
	stat    unix.Stat_t // when it was opened
	entry   *file
}

// Module is the module of the file.
func (h *Held) Module() *format.Module {
	n := &h.Name
	return &format.Module{
		Kind: uint32(format.ModuleKind_MODULE_FILE), Path: n.Path, BuildId: n.BuildID,
		Device: n.Device, Inode: n.Inode, Generation: n.Generation, Size: n.Length, Mtime: n.Start, Ctime: n.Count,
	}
}

// hold keeps an opened file, unless it was not found.
func (fs *Files) hold(h *Held, at int64) bool {
	f := h.entry
	f.tries++
	if h.File == nil {
		fs.stats.TooLate++
		return false
	}
	f.source, f.held, f.stat, f.checked = &Source{file: h.File}, true, h.stat, at
	fs.byInode[InodeOf(&h.stat)] = f
	fs.stats.Opened++
	fs.open++
	fs.fresh = append(fs.fresh, h)
	return true
}

// recheck compares a file with its state when it was opened before, and reports whether the state has changed.
func (f *file) recheck(h *Held, at int64) bool {
	if h.File == nil {
		// A file that is held open is compared at the end.
		was := f.unsure
		f.unsure = !f.held
		f.changed = f.changed || f.unsure
		return f.unsure && !was
	}
	f.checked = at
	was := f.unsure
	f.unsure = false
	if stateNow(&h.stat) == stateNow(&f.stat) {
		return was
	}
	f.stat, f.changed = h.stat, true
	return true
}

// Fresh returns the files that were opened since it was called last.
func (fs *Files) Fresh() []*Held {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fresh := fs.fresh
	fs.fresh = nil
	return fresh
}

// Release closes a file that has been copied. Its readers continue with the copy.
func (fs *Files) Release(h *Held, copy Copy) {
	fs.mu.Lock()
	if fs.closed {
		fs.mu.Unlock()
		return
	}
	h.entry.held = false
	fs.open--
	fs.mu.Unlock()
	h.entry.source.replace(copy)
	h.File.Close() // may take arbitrarily long
}

// Forget closes files that are not needed any more. One that is mapped again is opened again.
func (fs *Files) Forget(files []*Held) {
	fs.mu.Lock()
	if fs.closed {
		fs.mu.Unlock()
		return
	}
	gone := make(map[*file]bool)
	for _, h := range files {
		if h.entry.held && !h.entry.pending {
			gone[h.entry] = true
			h.entry.held = false
			fs.open--
		}
	}
	isGone := func(f *file) bool { return gone[f] || f.source == nil && !f.pending }
	maps.DeleteFunc(fs.byFile, func(_ fileKey, f *file) bool { return isGone(f) })
	maps.DeleteFunc(fs.byPath, func(_ buildKey, f *file) bool { return isGone(f) })
	maps.DeleteFunc(fs.build, func(_ string, f *file) bool { return isGone(f) })
	maps.DeleteFunc(fs.byInode, func(_ Inode, f *file) bool { return isGone(f) })
	fs.mu.Unlock()
	for f := range gone {
		f.source.close() // may take arbitrarily long
	}
}

// Mapped reports whether the mapping through which the file was found still exists. It waits while the process holds its
// mmap_lock.
func (h *Held) Mapped() bool {
	own, err := h.File.Stat()
	if err != nil {
		return false
	}
	r := &h.mapping
	for _, tid := range r.tids() {
		info, err := os.Stat(fmt.Sprintf("/proc/%d/map_files/%x-%x", tid, r.Start, r.Start+r.Length))
		if !errors.Is(err, fs.ErrNotExist) {
			return err == nil && os.SameFile(own, info)
		}
	}
	return false
}

// Unchanged reports whether a file has the contents that it had when it was opened, by its size and times.
func (h *Held) Unchanged() bool { return isUnchanged(h.File, &h.stat) }

// MapFiles returns the modules of map files that were copied.
func (fs *Files) MapFiles() (all []*format.Module) {
	fs.maps.mu.Lock()
	defer fs.maps.mu.Unlock()
	for key := range fs.maps.copies {
		all = append(all, key.module())
	}
	return all
}

// ForgetCode drops copies of map files, and no longer counts the functions in jitdumps of programs that ended before a time, so that there is room for
// others.
func (fs *Files) ForgetCode(copies []*format.Module, before int64) {
	keys := make([]mapKey, 0, len(copies))
	for _, m := range copies {
		if key, ok := mapKeyOf(m); ok {
			keys = append(keys, key)
		}
	}
	fs.maps.forget(keys)
	fs.codes.forget(before)
}
