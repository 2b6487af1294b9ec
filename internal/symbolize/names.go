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
	"wprof/internal/printable"
	"wprof/internal/symbol"
)

// namer adds names to frames that have none.
type namer struct {
	names assemble.Namer
	again bool // also to those that have some
	// form is that of names which stand in the stream as in the symbol table. They keep theirs without reform.
	form   symbol.Form
	reform bool
	lines  lineSource // of source lines and inlined functions; nil: they are left out
	// What was looked up in advance, module by module; nil: each name is looked up when it is needed.
	ahead map[format.ModuleKey]map[symbol.Address]found

	frame  format.Frame
	result Result
}

// lineSource finds lines, as [symbol.Resolver] does.
type lineSource interface {
	Lines(m *format.Module, at []symbol.Address, visit func(i int, chain []symbol.Line)) error
}

// found is what is known about a place.
type found struct {
	symbol.Name
	lines []symbol.Line // nil: not known
}

// Result counts frames that had no name, and those that got lines.
type Result struct {
	Nameless int
	Named    int
	Lines    int
	NoRoom   int // frames whose lines did not fit into the section
	// Unread is modules whose lines could not be read, or not all.
	Unread []error
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

// needsLines reports whether a frame gets lines. Those that were looked up when it was recorded stay.
func (n *namer) needsLines(f *format.Frame, m *format.Module) bool {
	if n.lines == nil || m == nil || format.ModuleKind(m.Kind) != format.ModuleKind_MODULE_FILE {
		return false
	}
	return n.again || len(f.Lines) == 0 || len(f.Lines) == 1 && f.Lines[0].Line == 0 && len(f.Lines[0].File) == 0
}

// define returns the definition of a frame, with a name and, if there is room, lines.
func (n *namer) define(f *format.Frame, m *format.Module, room bool) *format.Frame {
	needsName, needsLines := n.needsName(f, m), n.needsLines(f, m)
	if !needsName && !needsLines {
		return n.demangled(f)
	}
	name := n.find(m, symbol.Address{Offset: f.Offset, Caller: f.Caller}, needsName)
	if !room && len(name.lines) > 0 {
		n.result.NoRoom++
		name.lines = nil
	}
	if needsName {
		n.result.Nameless++
		if name.OK {
			n.result.Named++
		}
	} else if name.OK = len(name.lines) > 0; name.OK { // it keeps its name
		name.Function, name.Offset = n.inForm(f.Lines[0].Function), f.FunctionOffset
	}
	if !name.OK {
		return n.demangled(f)
	}
	d := &n.frame
	d.Id, d.Module, d.Offset, d.Caller = f.Id, f.Module, f.Offset, f.Caller
	d.FunctionOffset, d.Lines = name.Offset, d.Lines[:0]
	if len(name.lines) == 0 {
		n.addLine(symbol.Line{Function: name.Function})
		return d
	}
	n.result.Lines++
	last := len(name.lines) - 1
	for _, line := range name.lines[:last] {
		n.addLine(line)
	}
	line := name.lines[last]
	line.Function = name.Function
	n.addLine(line)
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
		function := n.inForm(l.Function)
		changed = changed || function != string(l.Function)
		n.addLine(symbol.Line{Function: function, File: string(l.File), Line: l.Line})
	}
	if !changed {
		return f
	}
	return d
}

// inForm returns a name that stays, in the wanted form.
func (n *namer) inForm(function []byte) string {
	if !n.reform {
		return string(function)
	}
	return symbol.Demangle(string(function), n.form)
}

// addLine adds a line to the frame's, which are used again for the next one.
func (n *namer) addLine(line symbol.Line) {
	lines := n.frame.Lines
	if i := len(lines); i < cap(lines) && lines[:i+1][i] != nil {
		n.frame.Lines = lines[:i+1]
	} else {
		n.frame.Lines = append(lines, new(format.Line))
	}
	l := n.frame.Lines[len(n.frame.Lines)-1]
	l.Function, l.File, l.Line = append(l.Function[:0], line.Function...), append(l.File[:0], line.File...), line.Line
}

// find returns the name of a place. One that was not looked up in advance has no lines.
func (n *namer) find(m *format.Module, at symbol.Address, needsName bool) found {
	if n.ahead != nil {
		if name, ok := n.ahead[m.Key()][at]; ok {
			return name
		}
	}
	if !needsName {
		return found{}
	}
	var out [1]symbol.Name
	_ = n.names.Names(m, []symbol.Address{at}, out[:]) // the reason for a missing name is reported for the module
	return found{Name: out[0]}
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
	n.ahead = make(map[format.ModuleKey]map[symbol.Address]found, len(wanted))
	for key, places := range wanted {
		at := make([]symbol.Address, 0, len(places))
		for place := range places {
			at = append(at, place)
		}
		out := make([]symbol.Name, len(at))
		_ = n.names.Names(modules[key], at, out)
		for i := range at {
			places[at[i]] = found{Name: out[i]}
		}
		if n.lines != nil {
			n.addLines(modules[key], at, places)
		}
		n.ahead[key] = places
	}
	return nil
}

// addLines adds the lines of a module.
func (n *namer) addLines(m *format.Module, at []symbol.Address, places map[symbol.Address]found) {
	err := n.lines.Lines(m, at, func(i int, chain []symbol.Line) {
		place := places[at[i]]
		place.lines = chain
		places[at[i]] = place
	})
	if err != nil && len(n.result.Unread) < maxUnread {
		n.result.Unread = append(n.result.Unread, fmt.Errorf("source lines of %s are missing: %w", printable.Text(string(m.Path)), err))
	}
}

// collect finds all places that need a name or lines.
func (n *namer) collect(r io.ReaderAt, size int64) (map[format.ModuleKey]map[symbol.Address]found, map[format.ModuleKey]*format.Module, error) {
	wanted, modules := map[format.ModuleKey]map[symbol.Address]found{}, map[format.ModuleKey]*format.Module{}
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
				if !n.needsName(f, m) && !n.needsLines(f, m) || total >= maxAhead {
					return
				}
				key := m.Key()
				if wanted[key] == nil {
					wanted[key], modules[key] = map[symbol.Address]found{}, m
					total += placesPerModule
				}
				wanted[key][symbol.Address{Offset: f.Offset, Caller: f.Caller}] = found{}
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
	// maxUnread bounds the modules that are reported.
	maxUnread = 5
	// maxAhead bounds the places whose names are looked up in advance, 150 bytes each, their names and lines. A module takes as
	// much as placesPerModule of them. Beyond it, each is looked up when it is needed, and gets no lines.
	maxAhead        = 1 << 20
	placesPerModule = 10
)
