package sideband

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

const (
	// maxMapRead is how much of a map file is copied at a time, so that others do not wait for a large one.
	maxMapRead = 256 << 10
	// minMapRead is the least growth of a map file that is copied at once: most are written in many small pieces.
	minMapRead = 4 << 10
	// tailBytes are compared with the copy, to detect that the file has been rewritten.
	tailBytes = 256
	// mapClock is by how much the mtime of a file may be too early: it is the time of the last tick.
	mapClock = 10e6
)

var (
	errNoMap      = errors.New("there is no map file")
	errOtherMap   = errors.New("the map file has been rewritten")
	errProcessEnd = errors.New("the process has ended")

	errNotRecorded = errors.New("the process is not recorded")
)

// mapSource is a map file, and how far it has been read. It is opened for each read, because an open file keeps its mount busy. Only
// while it grows is it kept open, because its process may remove it when it ends.
type mapSource struct {
	key           mapKey
	began         int64  // when the program began, CLOCK_MONOTONIC ns; 0: unknown, so when the process began
	parent        uint32 // 0: unknown
	process       proc.Identity
	started       int64 // when the process began, CLOCK_BOOTTIME ns; 0: it was not seen alive
	device, inode uint64
	end           int64 // how far it was read
	tail          []byte
	earlier       []byte // first bytes of the previous program's map file, which has the same name
	head          []byte
	kept          *os.File // what was read last; nil: it is closed
}

// mapText is the result of reading a map file once.
type mapText struct {
	text []byte
	tail []byte // the last bytes of text, as they are in the file
	end  int64  // where they end there
	more bool   // the file has more
	file unix.Stat_t
}

// readMore reads what was added to a map file, unless that is less than least bytes, and keeps the file open. The result is for
// [mapSource.take].
func (s *mapSource) readMore(buf []byte, least int64) (*mapText, error) {
	f, missing := s.open()
	switch {
	case missing == nil:
		if s.kept != nil {
			s.kept.Close()
		}
		s.kept = f
	case s.kept == nil:
		return nil, missing
	default:
		least = 1
	}
	t := &mapText{}
	err := s.readFile(s.kept, t, buf, least)
	if err == nil && len(t.text) == 0 {
		err = missing
	}
	return t, err
}

func (s *mapSource) readFile(f *os.File, t *mapText, buf []byte, least int64) error {
	if err := unix.Fstat(int(f.Fd()), &t.file); err != nil {
		return err
	}
	if err := s.check(f, &t.file); err != nil {
		return err
	}
	if s.end > 0 && t.file.Size-s.end < least {
		return nil
	}
	return s.read(f, t, buf)
}

// open opens the map file as the process sees it, or, when the process has ended, as its parent or this process does.
func (s *mapSource) open() (*os.File, error) {
	alive, err := s.identify()
	if err != nil {
		return nil, err
	}
	places := s.places(alive)
	for _, root := range places {
		path := fmt.Sprintf("%s/tmp/perf-%d.map", root, s.process.PID)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if still, err := s.identify(); err != nil || still != alive {
			f.Close()
			return nil, errNoMap // it is read again
		}
		return f, nil
	}
	if !alive {
		return nil, errProcessEnd
	}
	return nil, errNoMap
}

// identify reports whether the process is alive, and not another one with its id. It fails if the process was never seen.
func (s *mapSource) identify() (alive bool, err error) {
	started, err := proc.Started(s.key.pid)
	if s.started == 0 {
		if err != nil || started.Monotonic > s.key.since {
			return false, errProcessEnd
		}
		s.started = started.Boottime
		if s.began == 0 {
			s.began = started.Monotonic
		}
	}
	if err != nil || started.Boottime != s.started {
		return false, nil
	}
	if now, err := proc.ReadIdentity(s.key.pid); err == nil { // its user may change
		s.process = now
	}
	return true, nil
}

// places returns the root folders in which the file may be.
func (s *mapSource) places(alive bool) []string {
	if alive {
		// When the first thread has ended, the others have the root.
		threads, _ := proc.PIDs(fmt.Sprintf("/proc/%d/task", s.key.pid))
		for _, thread := range append([]int{int(s.key.pid)}, threads[:min(len(threads), 4)]...) {
			root := fmt.Sprintf("/proc/%d/root", thread)
			if _, err := os.Readlink(root); err == nil {
				return []string{root}
			}
		}
	}
	// The id in its own namespace differs: elsewhere, a file of that name may belong to another process.
	if s.end == 0 && s.process.PID != s.key.pid {
		return nil
	}
	if s.parent != 0 {
		return []string{fmt.Sprintf("/proc/%d/root", s.parent), ""}
	}
	return []string{""}
}

// check verifies that a file is the program's, and the one that was read before.
func (s *mapSource) check(f *os.File, file *unix.Stat_t) error {
	if file.Mode&unix.S_IFMT != unix.S_IFREG || file.Uid != 0 && file.Uid != s.process.UID {
		return errNoMap // any user may write to /tmp, even a map for another user's process
	}
	if s.end == 0 {
		return s.checkNew(f, proc.MonotonicOf(file.Mtim.Nano()))
	}
	if uint64(file.Dev) != s.device || file.Ino != s.inode || file.Size < s.end {
		return errOtherMap
	}
	same, err := hasText(f, s.tail, s.end-int64(len(s.tail)))
	if err == nil && !same {
		err = errOtherMap
	}
	return err
}

// checkNew verifies that a file with some mtime was not left by an earlier program.
func (s *mapSource) checkNew(f *os.File, written int64) error {
	if written+mapClock < s.began {
		return errNoMap
	}
	if s.earlier == nil || written >= s.began {
		return nil
	}
	same, err := hasText(f, s.earlier, 0)
	if err == nil && same {
		err = errNoMap
	}
	return err
}

// hasText reports whether a file has some bytes at an offset.
func hasText(f *os.File, text []byte, at int64) (bool, error) {
	var buf [tailBytes]byte
	n, err := f.ReadAt(buf[:len(text)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(buf[:n], text), nil
}

// read reads on from the end of the last read. A hole of a sparse file, which may be of any size, becomes the end of a line.
func (s *mapSource) read(f *os.File, t *mapText, buf []byte) error {
	t.end, t.text = s.end, buf[:0]
	for t.end < t.file.Size {
		from, err := unix.Seek(int(f.Fd()), t.end, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // only a hole
		}
		if err != nil {
			from = t.end // not all file systems support this
		}
		to, err := unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		if err != nil || to <= from {
			to = t.file.Size
		}
		if from > t.end && len(t.text) < cap(t.text) {
			t.text = append(t.text, '\n')
		}
		room := cap(t.text) - len(t.text)
		if room == 0 {
			t.more = true
			return nil
		}
		n, err := f.ReadAt(t.text[len(t.text):len(t.text)+int(min(int64(room), to-from))], from)
		t.text, t.end = t.text[:len(t.text)+n], from+int64(n)
		t.tail = t.text[len(t.text)-min(n, tailBytes):]
		if n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
	return nil
}

// take records that a text has been copied.
func (s *mapSource) take(t *mapText) {
	if len(t.text) == 0 {
		return
	}
	s.device, s.inode, s.end = uint64(t.file.Dev), t.file.Ino, t.end
	if s.head == nil {
		s.head = bytes.Clone(t.text[:min(len(t.text), tailBytes)])
	}
	s.tail = append(s.tail[:0], t.tail...)
}
