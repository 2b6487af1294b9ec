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
	"wprof/internal/stacks"
	"wprof/internal/symbol"
)

// namer adds names to frames that have none.
type namer struct {
	names assemble.Namer
	// unnamed counts frames that stay without a name.
	unnamed func(m *format.Module, frames int)
	again   bool // also to those that have some
	// form is that of names which stand in the stream as in the symbol table. They keep theirs without reform.
	form   symbol.Form
	reform bool
	lines  lineSource // of source lines and inlined functions; nil: they are left out
	ahead  *places    // what was looked up in advance; nil: each name is looked up when it is needed

	frame  format.Frame
	result Result
}

// lineSource finds lines, as [symbol.Resolver] does.
type lineSource interface {
	Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line)) error
}

// found is what is known about a place.
type found struct {
	symbol.Name
	line *symbol.Line // the innermost; nil: not known
}

// Result counts frames that were looked up for a name, and those that got lines.
type Result struct {
	LookedUp int
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
	case format.ModuleKind_MODULE_ANON, format.ModuleKind_MODULE_UNKNOWN, format.ModuleKind_MODULE_PYTHON, format.ModuleKind_MODULE_PYTHON_AWAITING, format.ModuleKind_MODULE_RUBY:
		return false
	}
	return n.again || len(f.Lines) == 0
}

// needsLines reports whether a frame gets lines. Those that were looked up when it was recorded stay.
func (n *namer) needsLines(f *format.Frame, m *format.Module) bool {
	if n.lines == nil || m == nil || !symbol.CanHaveLines(m) {
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
	if !room && name.line != nil {
		n.result.NoRoom++
		name.line = nil
	}
	if needsName {
		n.result.LookedUp++
		if name.OK {
			n.result.Named++
		} else if len(f.Lines) == 0 {
			n.unnamed(m, 1)
		}
	} else if name.OK = name.line != nil; name.OK { // it keeps its name
		name.Function, name.Offset = n.inForm(f.Lines[0].Function), f.FunctionOffset
	}
	if !name.OK {
		return n.demangled(f)
	}
	d := &n.frame
	d.Id, d.Module, d.Offset, d.Caller = f.Id, f.Module, f.Offset, f.Caller
	d.FunctionOffset, d.Lines, d.Loop = name.Offset, d.Lines[:0], f.Loop
	if name.line == nil {
		n.addLine(name.Function, "", 0)
		return d
	}
	n.result.Lines++
	for l := name.line; l != nil; l = l.Outer {
		function := l.Function
		if l.Outer == nil {
			function = name.Function
		}
		n.addLine(function, l.File, l.Line)
	}
	return d
}

// settle returns the definition of a stack, which may turn out to be whole once its outermost frame has a name.
func (n *namer) settle(s *format.Stack, outermost *format.Frame, m *format.Module) *format.Stack {
	if !stacks.MayBeWhole(stacks.End(s)) {
		return s
	}
	if n.needsName(outermost, m) {
		name := n.find(m, symbol.Address{Offset: outermost.Offset, Caller: outermost.Caller}, true)
		return stacks.Settled(s, []byte(name.Function))
	}
	return stacks.Settled(s, stacks.FrameOf(outermost).Function)
}

// demangled returns the definition of a frame whose names stay, in the wanted form.
func (n *namer) demangled(f *format.Frame) *format.Frame {
	if !n.reform {
		return f
	}
	d, changed := &n.frame, false
	d.Id, d.Module, d.Offset, d.Caller, d.FunctionOffset, d.Lines, d.Loop = f.Id, f.Module, f.Offset, f.Caller, f.FunctionOffset, d.Lines[:0], f.Loop
	for _, l := range f.Lines {
		function := n.inForm(l.Function)
		changed = changed || function != string(l.Function)
		n.addLine(function, string(l.File), l.Line)
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
func (n *namer) addLine(function, file string, line uint32) {
	lines := n.frame.Lines
	if i := len(lines); i < cap(lines) && lines[:i+1][i] != nil {
		n.frame.Lines = lines[:i+1]
	} else {
		n.frame.Lines = append(lines, new(format.Line))
	}
	l := n.frame.Lines[len(n.frame.Lines)-1]
	l.Function, l.File, l.Line = append(l.Function[:0], function...), append(l.File[:0], file...), line
}

// find returns the name of a place. One that was not looked up in advance has no lines.
func (n *namer) find(m *format.Module, at symbol.Address, needsName bool) found {
	if n.ahead != nil {
		if name, ok := n.ahead.find(m, at); ok {
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
	wanted, err := n.collect(r, size)
	if err != nil {
		return err
	}
	for _, p := range wanted.modules {
		p.sort()
		_ = n.names.Names(p.module, p.at, p.names) // the reason for a missing name is reported for the module
		if n.lines != nil {
			n.addLines(p)
		}
	}
	n.ahead = wanted
	return nil
}

// addLines adds the lines of a module.
func (n *namer) addLines(p *modulePlaces) {
	err := n.lines.Lines(p.module, p.at, func(i int, line *symbol.Line) { p.lines[i] = line })
	if err != nil && len(n.result.Unread) < maxUnread {
		n.result.Unread = append(n.result.Unread, missingLines(p.module, err))
	}
}

func missingLines(m *format.Module, why error) error {
	return fmt.Errorf("source lines of %s are missing: %w", printable.Text(string(m.Path)), why)
}

// collect finds all places that need a name or lines.
func (n *namer) collect(r io.ReaderAt, size int64) (*places, error) {
	wanted := newPlaces()
	section := map[uint32]*format.Module{}
	blocks := format.NewBlockReader(io.NewSectionReader(r, 0, size))
	for {
		block, err := blocks.Next()
		if errors.Is(err, io.EOF) {
			return wanted, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the definitions: %w", err)
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
				if m := section[f.Module]; n.needsName(f, m) || n.needsLines(f, m) {
					wanted.add(m, symbol.Address{Offset: f.Offset, Caller: f.Caller})
				}
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
)
