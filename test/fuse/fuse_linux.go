// Package fuse serves file systems that do not answer: the test itself is the server.
package fuse

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Operations of include/uapi/linux/fuse.h.
const (
	opLookup  = 1
	opForget  = 2
	opGetattr = 3
	opSetattr = 4
	Open      = 14
	opRead    = 15
	Write     = 16
	opRelease = 18
	Flush     = 25
	opInit    = 26
	opOpendir = 27
)

const (
	root, file = 1, 2 // nodes

	bigWrites, writebackCache = 1 << 5, 1 << 16

	attrSize = 88
	lifetime = 1000 // of names and attributes, seconds
)

// Request is what the kernel wants on behalf of a thread.
type Request struct {
	Op  uint32
	TID uint32
}

// Mount mounts a file system until the test ends. It has one file, a program if executed. Requests for which hangs returns
// true are sent to the channel and never answered.
func Mount(t testing.TB, content []byte, hangs func(Request) bool) (path string, hung <-chan Request) {
	t.Helper()
	device, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("this kernel has no FUSE: %v", err)
	}
	dir := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", device)
	if err := unix.Mount("wprof-test", dir, "fuse", unix.MS_NODEV, options); err != nil {
		_ = unix.Close(device)
		t.Skipf("FUSE cannot be mounted: %v", err)
	}
	s := &server{device: device, content: content, hangs: hangs, hung: make(chan Request, 64)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run()
	}()
	t.Cleanup(func() {
		_ = unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH) // ends the requests that hang
		<-done
		_ = unix.Close(device)
	})
	return filepath.Join(dir, "file"), s.hung
}

// ByThisProcess reports whether a thread of the test made a request.
func (r Request) ByThisProcess() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", r.TID))
	return err == nil
}

type server struct {
	device  int
	content []byte
	hangs   func(Request) bool
	hung    chan Request
}

func (s *server) run() {
	buf := make([]byte, 1<<20)
	le := binary.NativeEndian
	for {
		n, err := unix.Read(s.device, buf)
		if err == unix.EINTR || err == unix.EAGAIN || err == unix.ENOENT {
			continue
		}
		if err != nil || n < 40 {
			return
		}
		r := Request{Op: le.Uint32(buf[4:]), TID: le.Uint32(buf[32:])}
		if s.hangs(r) {
			s.hung <- r
		} else if r.Op != opForget {
			status, body := s.answer(r.Op, le.Uint64(buf[16:]), buf[40:n])
			s.reply(le.Uint64(buf[8:]), status, body)
		}
	}
}

// answer is the reply to a request about a node.
func (s *server) answer(op uint32, node uint64, args []byte) (status int32, body []byte) {
	le := binary.NativeEndian
	switch op {
	case opInit:
		body = make([]byte, 64)
		le.PutUint32(body, 7) // version 7.31
		le.PutUint32(body[4:], 31)
		le.PutUint32(body[12:], bigWrites|writebackCache)
		le.PutUint32(body[20:], 64<<10)
	case opLookup:
		body = make([]byte, 40)
		le.PutUint64(body, file)
		le.PutUint64(body[16:], lifetime)
		le.PutUint64(body[24:], lifetime)
		body = append(body, s.attr(file)...)
	case opGetattr, opSetattr:
		body = make([]byte, 16)
		le.PutUint64(body, lifetime)
		body = append(body, s.attr(node)...)
	case Open, opOpendir:
		body = make([]byte, 16)
	case opRead:
		size := uint64(len(s.content))
		from := min(le.Uint64(args[8:]), size)
		body = s.content[from:min(from+uint64(le.Uint32(args[16:])), size)]
	case opRelease, Flush:
	default:
		status = -int32(unix.ENOSYS)
	}
	return status, body
}

func (s *server) attr(node uint64) []byte {
	b := make([]byte, attrSize)
	le := binary.NativeEndian
	le.PutUint64(b, node)
	mode := uint32(unix.S_IFDIR | 0o755)
	if node != root {
		mode = unix.S_IFREG | 0o755
		le.PutUint64(b[8:], uint64(len(s.content)))
	}
	le.PutUint32(b[60:], mode)
	le.PutUint32(b[64:], 1) // links
	le.PutUint32(b[80:], 4096)
	return b
}

func (s *server) reply(id uint64, status int32, body []byte) {
	le := binary.NativeEndian
	out := le.AppendUint32(nil, uint32(16+len(body)))
	out = le.AppendUint64(le.AppendUint32(out, uint32(status)), id)
	_, _ = unix.Write(s.device, append(out, body...))
}
