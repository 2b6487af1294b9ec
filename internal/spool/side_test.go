package spool

import (
	"encoding/binary"
	"strings"

	"wprof/format"
)

// textSideband is a side-band whose records are the words of the text form.
type textSideband struct {
	maps     map[uint32][]textMapping
	versions map[uint32]uint64
}

type textMapping struct {
	from, to, offset uint64
	module           *format.Module
}

func newTextSideband() sideband {
	return &textSideband{maps: make(map[uint32][]textMapping), versions: make(map[uint32]uint64)}
}

const textSideHeader = 12

func appendSide(b []byte, at int64, word string, f fields) []byte {
	text := word
	for name, value := range f {
		text += " " + name + "=" + value
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	return append(b, text...)
}

func (s *textSideband) next(b []byte) (int64, int) {
	if len(b) < textSideHeader {
		return 0, 0
	}
	length := int(binary.LittleEndian.Uint32(b))
	if length > len(b)-textSideHeader {
		return 0, 0
	}
	return int64(binary.LittleEndian.Uint64(b[4:])), textSideHeader + length
}

func (s *textSideband) apply(b []byte, to sideEvents) {
	_, length := s.next(b)
	words := strings.Fields(string(b[textSideHeader:length]))
	if len(words) == 0 {
		return
	}
	f := fieldsOf(words)
	pid := uint32(f.number("pid"))
	s.versions[pid]++
	switch words[0] {
	case "map":
		s.add(pid, textMapping{hex(f["from"]), hex(f["to"]), hex(f["off"]), &format.Module{
			Path: []byte(f["path"]), BuildId: []byte(f["build"]), Device: hex(f["dev"]), Inode: hex(f["ino"]),
			Kind: uint32(f.or("kind", int64(format.ModuleKind_MODULE_FILE))),
		}})
	case "fork":
		s.maps[pid] = append([]textMapping(nil), s.maps[uint32(f.number("parent"))]...)
	case "exec", "exit":
		delete(s.maps, pid)
	case "lost":
		to.sidebandLost(uint32(f.number("cpu")), uint64(f.number("count")))
	case "throttle":
		to.throttled(uint32(f.number("cpu")), f.number("on") != 0)
	case "command":
		to.commandAtStart(pid, []byte(strings.ReplaceAll(f["words"], ",", "\x00")+"\x00"), false)
	}
}

func (s *textSideband) add(pid uint32, m textMapping) {
	var kept []textMapping
	for _, old := range s.maps[pid] {
		if old.to <= m.from || old.from >= m.to {
			kept = append(kept, old)
		}
	}
	s.maps[pid] = append(kept, m)
}

func (s *textSideband) resolve(pid uint32, address uint64) (*format.Module, uint64) {
	for _, m := range s.maps[pid] {
		if address >= m.from && address < m.to {
			if m.module.Kind != uint32(format.ModuleKind_MODULE_FILE) {
				return m.module, address
			}
			return m.module, address - m.from + m.offset
		}
	}
	return nil, 0
}

func (s *textSideband) version(pid uint32) uint64 { return s.versions[pid] }
