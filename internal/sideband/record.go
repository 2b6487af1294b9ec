package sideband

import (
	"encoding/binary"
	"errors"
)

// Kind is the kind of a record.
type Kind uint8

const (
	// KindMap is a new executable mapping of PID: Start, Length, Offset, and the file: Device, Inode, Generation
	// or BuildID, and Path as perf reports it.
	KindMap Kind = iota + 1
	// KindExec is the end of all mappings of PID: it runs another program.
	KindExec
	// KindFork is a new process PID with the mappings of Parent.
	KindFork
	// KindExit is the end of the first thread of PID.
	KindExit
	// KindCommand is the command line of PID in Data, each word ended by a 0, as /proc has it when the recording
	// begins.
	KindCommand
	// KindLost is a number of records, Count, that the kernel lost on CPU.
	KindLost
	// KindThrottled and KindUnthrottled are when the kernel stops and continues sampling CPU.
	KindThrottled
	KindUnthrottled
	// KindKept is the data read from a file, identified as in its mapping by Device, Inode, Generation: its BuildID, perhaps empty;
	// its generation in Offset, since /proc has none for mappings; and its [fileState] in Length, Start and Count.
	KindKept
	// KindJIT means that the program of PID, which first mapped generated code at Time, has a map file with names.
	KindJIT
	// KindFunction is a new function of the kernel, of a BPF program, a trampoline or a kernel module: Start, Length, and its
	// name in Path. KindFunctionGone is its removal. In both, Data is the kernel module, if it is of one: Offset is then the
	// offset in the module, and Time may be before that of earlier records.
	KindFunction
	KindFunctionGone
	// KindCode is a function that the program of PID has generated, as its jitdump has it: Start, Length, and Offset of its bytes in the
	// dump, which is identified as in its mapping by Device, Inode, Generation and Path, and by the time in its header, Count. Time may be before that of earlier records.
	KindCode
	// KindModule and KindMapped are what a [State] consists of: a module with its number in Count, of the [format.ModuleKind] in CPU, with
	// its size in Length, Mtime in Start and Ctime in Offset; and a mapping of PID, of the module with that number, from Offset in it.
	KindModule
	KindMapped

	lastKind = KindMapped
)

// Record is one side-band record. Its kind determines the fields it has; the others are 0.
type Record struct {
	Kind   Kind
	Cut    bool  // Data is not all of it
	Time   int64 // CLOCK_MONOTONIC ns
	PID    uint32
	Parent uint32
	CPU    uint32
	Count  uint64

	Start, Length, Offset     uint64 // bytes
	Device, Inode, Generation uint64 // Device: major << 32 | minor
	BuildID                   []byte
	Path                      []byte
	Data                      []byte

	// tid is the thread that mapped it, or another one of PID; only the Watcher sets it. A process whose first thread has
	// ended shows its memory only in the /proc folders of the others.
	tid uint32
}

const (
	// MaxRecord is more than the longest record takes, bytes.
	MaxRecord = 16 << 10
	maxData   = 4096 // ARGS_LONG in bpf/records.h
	maxPath   = 4096 // PATH_MAX in include/uapi/linux/limits.h
	maxBuild  = 64   // GNU build-ids have 20 bytes, others 8 or 16

	flagCut = 1
)

var errRecord = errors.New("a side-band record is damaged")

// numbers returns the numeric fields in their order in a record.
func (r *Record) numbers() [11]uint64 {
	return [11]uint64{uint64(r.Time), uint64(r.PID), uint64(r.Parent), uint64(r.CPU), r.Count, r.Start, r.Length, r.Offset, r.Device, r.Inode, r.Generation}
}

// Append appends the record: a u16 length of all of it, kind and flags, a bit for each number that is not 0, these
// numbers as varints, and the three texts, each after its length. Texts that are too long are cut.
func Append(b []byte, r *Record) []byte {
	start := len(b)
	flags := byte(0)
	if r.Cut {
		flags = flagCut
	}
	b = append(b, 0, 0, byte(r.Kind), flags, 0, 0)
	present := uint16(0)
	for i, n := range r.numbers() {
		if n != 0 {
			present |= 1 << i
			b = binary.AppendUvarint(b, n)
		}
	}
	for _, t := range [...]struct {
		text  []byte
		limit int
	}{{r.BuildID, maxBuild}, {r.Path, maxPath}, {r.Data, maxData}} {
		text := t.text[:min(len(t.text), t.limit)]
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	binary.LittleEndian.PutUint16(b[start:], uint16(len(b)-start))
	binary.LittleEndian.PutUint16(b[start+4:], present)
	return b
}

// Next reads the record that b begins with; its texts belong to b. Without an error, length is that of the record.
func Next(b []byte, r *Record) (length int, err error) {
	if len(b) < 6 {
		return 0, errRecord
	}
	length = int(binary.LittleEndian.Uint16(b))
	if length < 6 || length > len(b) {
		return 0, errRecord
	}
	*r = Record{Kind: Kind(b[2]), Cut: b[3]&flagCut != 0}
	present := binary.LittleEndian.Uint16(b[4:])
	rest := b[6:length]
	var n [11]uint64
	for i := range n {
		if present&(1<<i) == 0 {
			continue
		}
		v, size := binary.Uvarint(rest)
		if size <= 0 {
			return 0, errRecord
		}
		n[i], rest = v, rest[size:]
	}
	r.Time, r.PID, r.Parent, r.CPU, r.Count = int64(n[0]), uint32(n[1]), uint32(n[2]), uint32(n[3]), n[4]
	r.Start, r.Length, r.Offset, r.Device, r.Inode, r.Generation = n[5], n[6], n[7], n[8], n[9], n[10]
	for _, text := range [...]*[]byte{&r.BuildID, &r.Path, &r.Data} {
		v, size := binary.Uvarint(rest)
		if size <= 0 || v > uint64(len(rest)-size) {
			return 0, errRecord
		}
		*text, rest = rest[size:size+int(v):size+int(v)], rest[size+int(v):]
	}
	return length, nil
}

// Whole returns the length of the whole records at the beginning of b, up to a limit that no record reaches.
func Whole(b []byte, limit int) int {
	n := 0
	for n+6 <= len(b) {
		length := int(binary.LittleEndian.Uint16(b[n:]))
		if length < 6 || n+length > min(len(b), limit) {
			break
		}
		n += length
	}
	return n
}
