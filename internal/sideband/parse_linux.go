package sideband

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Bits of perf_event_header.misc, include/uapi/linux/perf_event.h.
const (
	miscCommExec = 1 << 13 // PERF_RECORD_MISC_COMM_EXEC
	miscBuildID  = 1 << 14 // PERF_RECORD_MISC_MMAP_BUILD_ID
)

// parse converts a perf record without its header. Its texts belong to b. It returns false if the record is not needed.
func parse(typ uint32, misc uint16, b []byte, cpu int, r *Record) bool {
	*r = Record{CPU: uint32(cpu)}
	le := binary.LittleEndian
	switch typ {
	case unix.PERF_RECORD_THROTTLE, unix.PERF_RECORD_UNTHROTTLE:
		if len(b) < 8 {
			return false
		}
		r.Kind, r.Time = KindThrottled, int64(le.Uint64(b))
		if typ == unix.PERF_RECORD_UNTHROTTLE {
			r.Kind = KindUnthrottled
		}
		return true
	}
	if len(b) < 16+sampleIDSize {
		return false
	}
	body, id := b[:len(b)-sampleIDSize], b[len(b)-sampleIDSize:]
	r.Time = int64(le.Uint64(id[8:]))
	switch typ {
	case unix.PERF_RECORD_MMAP2:
		return parseMap(misc, body, r)
	case unix.PERF_RECORD_COMM:
		r.Kind, r.PID = KindExec, le.Uint32(body)
		return misc&miscCommExec != 0
	case unix.PERF_RECORD_FORK:
		r.Kind, r.PID, r.Parent = KindFork, le.Uint32(body), le.Uint32(body[4:])
		return r.PID != r.Parent // else it is a thread
	case unix.PERF_RECORD_EXIT:
		r.Kind, r.PID = KindExit, le.Uint32(body)
		return r.PID == le.Uint32(body[8:]) // the first thread
	case unix.PERF_RECORD_KSYMBOL:
		return parseFunction(body, r)
	case unix.PERF_RECORD_LOST:
		r.Kind, r.Count = KindLost, le.Uint64(body[8:])
		return true
	}
	return false
}

// parseFunction parses: address, length, type, flags, and the name, ended by 0.
func parseFunction(b []byte, r *Record) bool {
	const unregister = 1 // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
	le := binary.LittleEndian
	r.Kind, r.Start, r.Length = KindFunction, le.Uint64(b), uint64(le.Uint32(b[8:]))
	if le.Uint16(b[14:])&unregister != 0 {
		r.Kind = KindFunctionGone
	}
	r.Path = text(b[16:])
	return r.Start != 0
}

// text returns the bytes before the first 0.
func text(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// parseMap parses: pid, tid, address, length, offset in the file, then either device, inode and generation or a
// build-id, protection, flags, and the path, ended by 0.
func parseMap(misc uint16, b []byte, r *Record) bool {
	if len(b) < 64 {
		return false
	}
	le := binary.LittleEndian
	r.Kind, r.PID, r.tid = KindMap, le.Uint32(b), le.Uint32(b[4:])
	r.Start, r.Length, r.Offset = le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])
	if misc&miscBuildID != 0 {
		r.BuildID = b[36 : 36+min(int(b[32]), 20)]
	} else {
		r.Device = uint64(le.Uint32(b[32:]))<<32 | uint64(le.Uint32(b[36:]))
		r.Inode, r.Generation = le.Uint64(b[40:]), le.Uint64(b[48:])
	}
	r.Path = text(b[64:])
	return r.PID != ^uint32(0) // the kernel's own mappings
}
