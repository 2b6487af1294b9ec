package assemble

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/ringdata"
)

// waitDef is a rec_wait, kept as long as a record can refer to it.
type waitDef struct {
	wait    format.Wait // without the id
	file    *textDef    // what its descriptor is, see callTable; nil: nothing has needed it
	section uint32      // number of the section in which id is valid
	id      format.WaitID
}

// waitTable keeps waits of two generations, as a [stackTable] does stacks. What is the same in the next generation keeps its definition.
type waitTable struct {
	calls             []string // names of the recorded machine's system calls, by number
	current, previous map[waitKey]*waitDef
	last              format.WaitID // id that was given last in this section
}

// waitKey is the id of a rec_wait, and who owned its lock; owner 0: nobody is known.
type waitKey struct {
	id    uint64
	owner uint32
}

// maxWaits bounds the waits of a generation, of up to 500 bytes each.
const maxWaits = 1 << 15

func (w *waitTable) rotate() {
	w.previous, w.current = w.current, make(map[waitKey]*waitDef, len(w.current))
}

// keep keeps the content of a rec_wait.
func (w *waitTable) keep(b []byte) {
	key := waitKey{id: binary.LittleEndian.Uint64(b[ringdata.WaitID:])}
	if w.current[key] != nil || len(w.current) >= maxWaits {
		return
	}
	d := w.previous[key]
	if d == nil {
		d = &waitDef{}
		w.read(&d.wait, b)
	}
	w.put(key, d)
}

// has reports whether a wait is known; 0 stands for none.
func (w *waitTable) has(id uint64) bool {
	return id == 0 || w.current[waitKey{id: id}] != nil || w.previous[waitKey{id: id}] != nil
}

// find returns the wait of an id for a lock with an owner; nil: there is none, or its definition was lost.
func (w *waitTable) find(id uint64, owner uint32) *waitDef {
	if id == 0 {
		return nil
	}
	if d := w.lookUp(waitKey{id, owner}); d != nil || owner == 0 {
		return d
	}
	d := w.lookUp(waitKey{id: id})
	if d == nil || !d.wait.IsFutex || len(w.current) >= maxWaits {
		return d
	}
	owned := d.ownedBy(owner)
	w.put(waitKey{id, owner}, owned)
	return owned
}

func (w *waitTable) lookUp(key waitKey) *waitDef {
	if d := w.current[key]; d != nil {
		return d
	}
	d := w.previous[key]
	if d != nil && len(w.current) < maxWaits {
		w.put(key, d)
	}
	return d
}

func (w *waitTable) put(key waitKey, d *waitDef) {
	if w.current == nil {
		w.current = make(map[waitKey]*waitDef)
	}
	w.current[key] = d
}

func (d *waitDef) ownedBy(owner uint32) *waitDef {
	owned := &waitDef{}
	proto.Merge(&owned.wait, &d.wait)
	owned.wait.Owner = int32(owner)
	return owned
}

// blocked returns the wait of a thread that is still blocked at the end.
func (w *waitTable) blocked(b []byte, owner uint32) *waitDef {
	d := &waitDef{}
	w.read(&d.wait, b)
	d.wait.Owner = int32(owner)
	return d
}

// define returns the id of a wait, which it defines if the section does not have it yet; d may be nil.
func (w *waitTable) define(s *stream, d *waitDef) format.WaitID {
	if d == nil {
		return 0
	}
	if d.section != s.section {
		w.last++
		d.id, d.section = w.last, s.section
		d.wait.Id = uint32(d.id)
		_ = s.w.DefineWait(&d.wait) // an error stays with the Writer, and the event's Write returns it
		s.defined()
	}
	return d.id
}

// read converts a rec_wait.
func (w *waitTable) read(to *format.Wait, b []byte) {
	le := binary.LittleEndian
	flags := le.Uint32(b[ringdata.WaitFlags:])
	to.Pid, to.Number = int32(le.Uint32(b[ringdata.WaitPID:])), int32(le.Uint32(b[ringdata.WaitNumber:]))
	if n := int(to.Number); flags&ringdata.WaitFlagCompat == 0 && n >= 0 && n < len(w.calls) {
		to.Call = []byte(w.calls[n])
	}
	to.Args = arguments(b[ringdata.WaitArgs:])
	if flags&ringdata.WaitFlagHasFd != 0 {
		to.HasFd, to.Fd = true, int32(le.Uint32(b[ringdata.WaitFd:]))
	}
	if flags&ringdata.WaitFlagHasFile != 0 {
		readFile(to, b)
	}
	if flags&ringdata.WaitFlagHasSocket != 0 {
		readSocket(to, b)
	}
	if flags&ringdata.WaitFlagIsFutex != 0 {
		to.IsFutex, to.Futex = true, le.Uint64(b[ringdata.WaitArgs:])
		to.FutexOp, to.FutexValue = le.Uint32(b[ringdata.WaitArgs+8:]), le.Uint32(b[ringdata.WaitArgs+16:])
		to.IsGil = flags&ringdata.WaitFlagIsGil != 0
		if string(to.Call) == "futex_wait" { // which has no operation
			to.FutexOp, to.FutexValue = 0, to.FutexOp
		}
	}
}

// arguments are those up to the last one that is not 0.
func arguments(b []byte) (args []uint64) {
	var all [ringdata.WaitArgsSize / 8]uint64
	n := 0
	for i := range all {
		if all[i] = binary.LittleEndian.Uint64(b[8*i:]); all[i] != 0 {
			n = i + 1
		}
	}
	return append(args, all[:n]...)
}

// Types of files in an inode's mode, include/uapi/linux/stat.h, and numbers of file systems, include/uapi/linux/magic.h.
const (
	modeType      = 0o170000
	modeSocket    = 0o140000
	modeRegular   = 0o100000
	modeBlock     = 0o060000
	modeDirectory = 0o040000
	modeCharacter = 0o020000
	modeFIFO      = 0o010000

	anonymousInodes = 0x09041934
	pidInodes       = 0x50494446
)

// isPseudo reports whether the files of a file system have no stored data.
func isPseudo(magic uint64) bool {
	switch magic {
	case 0x9fa0, // proc
		0x62656572, // sysfs
		0x74726163, // tracefs
		0x64626720, // debugfs
		0x73636673, // securityfs
		0x27e0eb,   // cgroup
		0x63677270, // cgroup2
		0xcafe4a11, // bpf
		0x65735543, // fusectl
		0x19800202: // mqueue
		return true
	}
	return false
}

func readFile(to *format.Wait, b []byte) {
	le := binary.LittleEndian
	device, rdev := le.Uint32(b[ringdata.WaitDevice:]), le.Uint32(b[ringdata.WaitRdev:])
	to.Device, to.Inode = uint64(device>>20)<<32|uint64(device&(1<<20-1)), le.Uint64(b[ringdata.WaitInode:])
	path := joinNames(b[ringdata.WaitNames:][:ringdata.WaitNamesSize])
	kind := fileKind(le.Uint16(b[ringdata.WaitMode:]), le.Uint64(b[ringdata.WaitMagic:]), rdev>>20, path)
	to.File = uint32(kind)
	switch kind {
	case format.FileKind_FILE_TERMINAL:
		to.Path = []byte(terminalPath(rdev, path))
	case format.FileKind_FILE_REGULAR, format.FileKind_FILE_DIRECTORY, format.FileKind_FILE_CHARACTER_DEVICE,
		format.FileKind_FILE_BLOCK_DEVICE, format.FileKind_FILE_ANONYMOUS, format.FileKind_FILE_PSEUDO:
		to.Path = []byte(path)
	case format.FileKind_FILE_PIPE:
		if strings.Contains(path, "/") { // a FIFO
			to.Path = []byte(path)
		}
	}
}

func fileKind(mode uint16, magic uint64, major uint32, name string) format.FileKind {
	switch magic {
	case anonymousInodes:
		return anonymousKind(name)
	case pidInodes:
		return format.FileKind_FILE_PIDFD
	}
	switch mode & modeType {
	case modeSocket:
		return format.FileKind_FILE_SOCKET
	case modeRegular:
		if isPseudo(magic) {
			return format.FileKind_FILE_PSEUDO
		}
		return format.FileKind_FILE_REGULAR
	case modeDirectory:
		return format.FileKind_FILE_DIRECTORY
	case modeFIFO:
		return format.FileKind_FILE_PIPE
	case modeBlock:
		return format.FileKind_FILE_BLOCK_DEVICE
	case modeCharacter:
		if major == ttyMajor || major == ttyAuxMajor || isPseudoTerminal(major) {
			return format.FileKind_FILE_TERMINAL
		}
		return format.FileKind_FILE_CHARACTER_DEVICE
	}
	return format.FileKind_FILE_UNKNOWN
}

// Numbers of terminals' drivers, include/uapi/linux/major.h.
const (
	ttyMajor    = 4
	ttyAuxMajor = 5
)

func isPseudoTerminal(major uint32) bool { return major >= 136 && major <= 143 }

// terminalPath is the path of a terminal; the file system of pseudoterminals has only their numbers.
func terminalPath(rdev uint32, path string) string {
	if major := rdev >> 20; isPseudoTerminal(major) {
		return "/dev/pts/" + strconv.Itoa(int((major-136)<<8|rdev&0xff))
	}
	return "/dev/" + path[strings.LastIndexByte(path, '/')+1:]
}

func anonymousKind(name string) format.FileKind {
	switch strings.Trim(name[strings.LastIndexByte(name, '/')+1:], "[]") {
	case "eventfd":
		return format.FileKind_FILE_EVENTFD
	case "eventpoll":
		return format.FileKind_FILE_EPOLL
	case "timerfd":
		return format.FileKind_FILE_TIMERFD
	case "signalfd":
		return format.FileKind_FILE_SIGNALFD
	case "inotify":
		return format.FileKind_FILE_INOTIFY
	case "io_uring":
		return format.FileKind_FILE_IO_URING
	case "pidfd":
		return format.FileKind_FILE_PIDFD
	}
	return format.FileKind_FILE_ANONYMOUS
}

// joinNames joins the names of a file and of the folders above it, innermost first, to the end of its path, or to all of it.
func joinNames(b []byte) string {
	path := ""
	for each := ringdata.WaitNamesSize / 3; len(b) >= each; b = b[each:] {
		name, _, _ := strings.Cut(string(b[:each]), "\x00")
		if len(name) == each-1 {
			name += "…" // the recorder reads no more of it
		}
		switch {
		case name == "":
			return path
		case name == "/":
			return "/" + path
		case path == "":
			path = name
		default:
			path = name + "/" + path
		}
	}
	return path
}

// Families of sockets, and the state of one that listens: include/linux/socket.h, include/net/tcp_states.h.
const (
	familyUnix = 1
	familyIPv4 = 2
	familyIPv6 = 10
	listening  = 10
)

func readSocket(to *format.Wait, b []byte) {
	le := binary.LittleEndian
	to.Family, to.Protocol = uint32(le.Uint16(b[ringdata.WaitFamily:])), uint32(le.Uint16(b[ringdata.WaitProtocol:]))
	to.Accepts = b[ringdata.WaitTcpState] == listening
	switch size := 16; to.Family {
	case familyUnix:
		to.Local = unixName(b[ringdata.WaitUnixNames:], b[ringdata.WaitUnixLength])
		to.Remote = unixName(b[ringdata.WaitUnixNames+ringdata.WaitUnixNamesSize/2:], b[ringdata.WaitUnixLength+1])
	case familyIPv4:
		size = 4
		fallthrough
	case familyIPv6:
		to.Local = address(b[ringdata.WaitLocal:][:size], le.Uint16(b[ringdata.WaitLocalPort:]))
		to.Remote = address(b[ringdata.WaitRemote:][:size], le.Uint16(b[ringdata.WaitRemotePort:]))
	}
}

// unixName is the name of a Unix socket (unix(7)); an abstract one begins with @.
func unixName(b []byte, length uint8) []byte {
	name := string(b[:min(int(length), ringdata.WaitUnixNamesSize/2)])
	if abstract, is := strings.CutPrefix(name, "\x00"); is {
		return []byte("@" + abstract)
	}
	name, _, _ = strings.Cut(name, "\x00")
	return []byte(name)
}

func address(b []byte, port uint16) []byte {
	ip, _ := netip.AddrFromSlice(b)
	if port == 0 && ip.IsUnspecified() {
		return nil
	}
	if ip = ip.Unmap(); ip.Is6() {
		return []byte("[" + ip.String() + "]:" + strconv.Itoa(int(port)))
	}
	return []byte(ip.String() + ":" + strconv.Itoa(int(port)))
}
