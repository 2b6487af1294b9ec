package waits

import (
	"fmt"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/printable"
)

// Label returns a short text about a wait: "recv 10.0.0.3:5432", "lock 0x7f0b10c0", "read db/data.log".
// w may be nil.
func Label(c Class, w *format.Wait) string {
	verb := Classes()[c].Verb
	switch object := Object(c, w); {
	case object == "":
		return verb
	case c == Pipe && writes(string(w.Call)):
		return "write " + object
	case c == Pipe:
		return "read " + object
	case c == Child && w.IsFutex: // the id of a thread, which its exit clears
		return "join " + object
	default:
		return verb + " " + object
	}
}

func writes(call string) bool {
	return slices.ContainsFunc(calls(), func(c Call) bool { return c.Name == call && c.disk == DiskWrite })
}

// Object returns what a thread waits for without the verb: a peer, a path, the address of a lock; "" if it is not known.
func Object(c Class, w *format.Wait) string {
	switch {
	case w == nil || c == Timer && w.IsFutex || c == GIL || c == Preempted || c == Throttled || c == Runnable || c == PageFault || c == KernelLock && w.Path == nil:
		return ""
	case w.IsFutex:
		return fmt.Sprintf("%#x", w.Futex)
	case c == Accept && len(w.Local) > 0:
		return printable.Text(string(w.Local))
	case slices.Contains(DiskClasses(), c) && w.File == uint32(format.FileKind_FILE_SOCKET): // sendfile names where the data goes
		return ""
	case len(w.Remote) > 0:
		return printable.Text(string(w.Remote))
	case len(w.Local) > 0:
		return printable.Text(string(w.Local))
	case len(w.Path) > 0:
		return printable.Text(string(w.Path))
	case w.HasFd && w.File == uint32(format.FileKind_FILE_SOCKET):
		return fmt.Sprintf("socket:[%d]", w.Inode)
	case w.HasFd && w.File == uint32(format.FileKind_FILE_PIPE):
		return fmt.Sprintf("pipe:[%d]", w.Inode)
	case w.HasFd && w.File == uint32(format.FileKind_FILE_UNKNOWN):
		return fmt.Sprintf("fd %d", w.Fd)
	}
	return ""
}

// File returns what a wait's descriptor is: the end of its path, or what it is otherwise; "" if it waits for none. w may be nil.
func File(w *format.Wait) string {
	switch {
	case !w.GetHasFd():
		return ""
	case len(w.Path) > 0:
		return string(w.Path)
	}
	return w.FileName()
}

// Peer returns the other end of the socket that a wait is for, or the address at which it listens; "" if there is none. w may be nil.
func Peer(w *format.Wait) string {
	if w.GetAccepts() {
		return string(w.Local)
	}
	return string(w.GetRemote())
}

// IsClient reports whether a socket is the end of a connection that its process has opened: the other end has a port that services
// use, its own one is of those that the kernel gives (32768 and above by default, ip(7)); a Unix socket has no name of its own.
func IsClient(w *format.Wait) bool {
	if w == nil || len(w.Remote) == 0 {
		return false
	}
	if len(w.Local) == 0 {
		return true
	}
	local, remote := port(string(w.Local)), port(string(w.Remote))
	return local >= 32768 && remote > 0 && remote < 32768
}

func port(address string) (n int) {
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return 0
	}
	_, _ = fmt.Sscanf(address[at+1:], "%d", &n)
	return n
}

// Descriptor returns what a wait's descriptor is: the end of a path, the addresses of a socket, or the kind of file with what else is known;
// "" if there is none.
func Descriptor(w *format.Wait) string {
	local, remote := string(w.GetLocal()), string(w.GetRemote())
	switch {
	case !w.GetHasFd() || w.File == uint32(format.FileKind_FILE_UNKNOWN):
		return ""
	case len(w.Path) > 0:
		return string(w.Path)
	case w.Accepts:
		return local + " (listens)"
	case local != "" && remote != "":
		return local + " > " + remote
	case local != "" || remote != "":
		return w.FileName() + " " + local + remote
	case w.File == uint32(format.FileKind_FILE_SOCKET) || w.File == uint32(format.FileKind_FILE_PIPE):
		return fmt.Sprintf("%s:[%d]", w.FileName(), w.Inode)
	}
	return w.FileName()
}
