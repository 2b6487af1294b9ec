package symbolize

import (
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/symbol"
)

// namer adds names to frames that have none.
type namer struct {
	names assemble.Namer
	again bool // also to those that have some
	// form is that of names which stand in the stream as in the symbol table. They keep theirs without reform.
	form   symbol.Form
	reform bool
	// Names that were looked up in advance, module by module; nil: each is looked up when it is needed.
	ahead map[format.ModuleKey]map[symbol.Address]symbol.Name

	frame  format.Frame
	line   format.Line
	result Result
}

// Result counts frames that had no name.
type Result struct {
	Nameless int
	Named    int
}

// needsName reports whether a frame gets a name.
func (n *namer) needsName(f *format.Frame, m *format.Module) bool {
	if m == nil {
		return false
	}
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_ANON, format.ModuleKind_MODULE_UNKNOWN:
		return false
	}
	return n.again || len(f.Lines) == 0
}

// define returns the definition of a frame, with names.
func (n *namer) define(f *format.Frame, m *format.Module) *format.Frame {
	if !n.needsName(f, m) {
		return n.demangled(f)
	}
	n.result.Nameless++
	name := n.find(m, symbol.Address{Offset: f.Offset, Caller: f.Caller})
	if !name.OK {
		return n.demangled(f)
	}
	n.result.Named++
	d, line := &n.frame, &n.line
	d.Id, d.Module, d.Offset, d.Caller = f.Id, f.Module, f.Offset, f.Caller
	line.Function = []byte(name.Function)
	d.FunctionOffset, d.Lines = name.Offset, append(d.Lines[:0], line)
	return d
}

// demangled returns the definition of a frame whose names stay, in the wanted form.
func (n *namer) demangled(f *format.Frame) *format.Frame {
	if !n.reform {
		return f
	}
	d, changed := &n.frame, false
	d.Id, d.Module, d.Offset, d.Caller, d.FunctionOffset, d.Lines = f.Id, f.Module, f.Offset, f.Caller, f.FunctionOffset, d.Lines[:0]
	for _, l := range f.Lines {
		function := symbol.Demangle(string(l.Function), n.form)
		changed = changed || function != string(l.Function)
		d.Lines = append(d.Lines, &format.Line{Function: []byte(function), File: l.File, Line: l.Line})
	}
	if !changed {
		return f
	}
	return d
}

func (n *namer) find(m *format.Module, at symbol.Address) symbol.Name {
	if n.ahead != nil {
		if name, ok := n.ahead[m.Key()][at]; ok {
			return name
		}
	}
	var out [1]symbol.Name
	_ = n.names.Names(m, []symbol.Address{at}, out[:]) // the reason for a missing name is reported for the module
	return out[0]
}

// gatherFile gathers from a file without moving its offset.
func (n *namer) gatherFile(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return n.gather(file, info.Size())
}

// gather reads all definitions of a file and looks up the names of their frames, so that each file of code is read
// only once.
func (n *namer) gather(r io.ReaderAt, size int64) error {
	wanted, modules, err := n.collect(r, size)
	if err != nil {
		return err
	}
	n.ahead = make(map[format.ModuleKey]map[symbol.Address]symbol.Name, len(wanted))
	for key, places := range wanted {
		at := make([]symbol.Address, 0, len(places))
		for place := range places {
			at = append(at, place)
		}
		out := make([]symbol.Name, len(at))
		_ = n.names.Names(modules[key], at, out)
		for i := range at {
			places[at[i]] = out[i]
		}
		n.ahead[key] = places
	}
	return nil
}

// collect finds all places that need a name.
func (n *namer) collect(r io.ReaderAt, size int64) (map[format.ModuleKey]map[symbol.Address]symbol.Name, map[format.ModuleKey]*format.Module, error) {
	wanted, modules := map[format.ModuleKey]map[symbol.Address]symbol.Name{}, map[format.ModuleKey]*format.Module{}
	section := map[uint32]*format.Module{}
	total := 0
	blocks := format.NewBlockReader(io.NewSectionReader(r, 0, size))
	for {
		block, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			return wanted, modules, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read the definitions: %w", err)
		}
		switch block.Header.Type {
		case format.BlockHeaderType:
			clear(section)
		case format.BlockDefinitions:
			eachCode(block.Payload, func(m *format.Module) {
				if len(section) < maxModules {
					section[m.Id] = m
				}
			}, func(f *format.Frame) {
				m := section[f.Module]
				if !n.needsName(f, m) || total >= maxAhead {
					return
				}
				key := m.Key()
				if wanted[key] == nil {
					wanted[key], modules[key] = map[symbol.Address]symbol.Name{}, m
					total += placesPerModule
				}
				wanted[key][symbol.Address{Offset: f.Offset, Caller: f.Caller}] = symbol.Name{}
				total++
			})
		}
	}
}

// eachCode visits modules and frames of a Definitions message one by one, because all of them together may take a hundred
// times their bytes. It stops where the message is broken: the pass that writes reports that. A frame is valid during its
// visit.
func eachCode(payload []byte, module func(*format.Module), frame func(*format.Frame)) {
	var f format.Frame
	fields := (*format.Definitions)(nil).ProtoReflect().Descriptor().Fields()
	modules, frames := fields.ByName("modules").Number(), fields.ByName("frames").Number()
	for len(payload) > 0 {
		number, typ, tag := protowire.ConsumeTag(payload)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, typ, payload[tag:])
		if size < 0 {
			return
		}
		body, _ := protowire.ConsumeBytes(payload[tag:])
		payload = payload[tag+size:]
		switch {
		case typ != protowire.BytesType:
		case number == modules:
			m := new(format.Module)
			if proto.Unmarshal(body, m) != nil {
				return
			}
			module(m)
		case number == frames:
			if proto.Unmarshal(body, &f) != nil {
				return
			}
			frame(&f)
		}
	}
}

const (
	// maxModules bounds the modules of a section whose names are looked up in advance, some 400 bytes each.
	maxModules = 1 << 16
	// maxAhead bounds the places whose names are looked up in advance, 100 bytes each and their names. A module takes as much
	// as placesPerModule of them. Beyond it, each is looked up when it is needed.
	maxAhead        = 1 << 20
	placesPerModule = 10
)
