package assemble

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/syscalls"
	"wprof/internal/waits"
)

// callTable makes events of system calls. Each call is an event type, with its arguments as fields: one where it has returned, and one
// without a result where it does not return, or is open at the close.
type callTable struct {
	calls   syscalls.Calls
	names   [2][]string // of 64-bit code and of 32-bit code
	decoder *syscalls.Decoder
	abi     string // of 32-bit code
	types   [2][2][syscalls.Numbers + 1]*callDef
	count   uint32              // of types
	texts   map[string]*textDef // that are not written by the kernel programs
	decoded map[decodedKey]*textDef
	// Of the event.
	values []format.Value
	paths  []byte
}

type callDef struct {
	call    *syscalls.Call
	unknown bool // it has no name
	def     *format.EventType
	section uint32 // number of the section in which it is defined
}

// decodedKey is a number that is written as text, and by what.
type decodedKey struct {
	kind   syscalls.Kind
	number uint64
}

// Ids of event types: below markTypeID are the numbers of the types in the table of sources, from firstCallType on are types of system calls.
const (
	markTypeID    = 64
	firstCallType = markTypeID + 1
)

const kindError syscalls.Kind = "error"

// recordedCall is a rec_syscall.
type recordedCall struct {
	number  int
	compat  bool
	endless bool
	ret     int64
	args    []byte
	files   []byte // ids
	paths   []byte
}

// readCall returns ok false if the record is damaged.
func readCall(b []byte) (c recordedCall, ok bool) {
	if len(b) < ringdata.SyscallSize {
		return c, false
	}
	le := binary.LittleEndian
	flags, counts := b[ringdata.SyscallFlags], b[ringdata.SyscallCounts]
	args, files := 8*int(counts&0xf), 8*int(counts>>4)
	words := b[ringdata.SyscallWords:]
	if args+files > len(words) {
		return c, false
	}
	c = recordedCall{
		number: int(le.Uint16(b[ringdata.SyscallNumber:])), ret: int64(le.Uint64(b[ringdata.SyscallRet:])),
		compat: flags&ringdata.CallFlag32bit != 0, endless: flags&ringdata.CallFlagEndless != 0,
		args: words[:args], files: words[args : args+files],
	}
	if flags&ringdata.CallFlagPathsFollow != 0 {
		c.paths = words[args+files:]
	}
	return c, true
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// of returns the type of a call.
func (t *callTable) of(c *recordedCall) *callDef {
	number := min(c.number, syscalls.Numbers)
	at := &t.types[index(c.compat)][index(c.endless)][number]
	if *at == nil {
		*at = t.newDef(number, c.compat, c.endless)
	}
	return *at
}

func (t *callTable) newDef(number int, compat, endless bool) *callDef {
	if t.calls == nil {
		t.calls = syscalls.ReadCalls()
	}
	name := ""
	if names := t.names[index(compat)]; number < len(names) {
		name = names[number]
	}
	d := &callDef{call: t.calls.Of(name, compat), unknown: name == ""}
	d.def = sources.Call(cmp.Or(name, "unknown call"), t.fields(d.call, d.unknown, compat, endless)...)
	d.def.Id = firstCallType + t.count
	t.count++
	return d
}

// fields are those of a call's type, in the order of the values that [callTable.read] makes.
func (t *callTable) fields(c *syscalls.Call, unknown, compat, endless bool) (all []*format.TypeField) {
	if unknown {
		all = append(all, sources.Field("number", format.ValueType_VALUE_UINT))
	}
	for _, a := range c.Args {
		all = append(all, t.field(a.Name, a.Kind))
	}
	for i := range c.FDs() {
		all = append(all, sources.Field([...]string{"file", "file2"}[i], format.ValueType_VALUE_TEXT))
	}
	if compat {
		all = append(all, sources.Field("abi", format.ValueType_VALUE_TEXT))
	}
	if endless {
		return all
	}
	ret := sources.Field("ret", format.ValueType_VALUE_INT)
	switch c.Result {
	case syscalls.KindPointer:
		ret.Hint = uint32(format.ValueHint_HINT_HEX)
	case syscalls.KindSize:
		ret.Unit = []byte("bytes")
	}
	return append(all, ret, sources.Field("error", format.ValueType_VALUE_TEXT))
}

func (t *callTable) field(name string, k syscalls.Kind) *format.TypeField {
	f := sources.Field(name, format.ValueType_VALUE_INT)
	switch {
	case k == syscalls.KindPath:
		f.Type = uint32(format.ValueType_VALUE_STRING)
	case k == syscalls.KindPointer || k == syscalls.KindHex:
		f.Type, f.Hint = uint32(format.ValueType_VALUE_UINT), uint32(format.ValueHint_HINT_HEX)
	case k == syscalls.KindSize:
		f.Type, f.Unit = uint32(format.ValueType_VALUE_UINT), []byte("bytes")
	case k == syscalls.KindDirFD:
		f.Type, f.Names = uint32(format.ValueType_VALUE_ENUM), []*format.EnumName{{Number: syscalls.CurrentFolder, Name: []byte("AT_FDCWD")}}
	case k == syscalls.KindMode || k == syscalls.KindSignal || t.decoder.Has(k):
		f.Type = uint32(format.ValueType_VALUE_TEXT)
	}
	return f
}

// applyCall writes the event of a system call; open is format.FlagOpen or 0.
func (a *applier) applyCall(e *format.Event, b []byte, at int64, open format.Flags) error {
	c, ok := readCall(b)
	if !ok {
		return nil
	}
	c.endless = c.endless || open != 0
	t := &a.out.calls
	d := t.of(&c)
	if d.section != a.out.section {
		d.section = a.out.section
		_ = a.out.w.DefineType(d.def)
		a.out.defined()
	}
	t.read(a.out, d, &c)
	e.Task = a.out.name(a.subject(b))
	v := e.Typed()
	v.SetType(uint64(d.def.Id))
	e.Time = at
	v.SetStart(max(0, min(int64(binary.LittleEndian.Uint64(b[ringdata.SyscallStart:])), at)))
	types := &a.out.types
	var err error
	if types.data, err = d.def.AppendTyped(types.data[:0], t.values, e.TimeBase()); err != nil {
		return err
	}
	v.SetValues(types.data)
	return a.out.write(e, at)
}

// read makes the values of a call.
func (t *callTable) read(s *stream, d *callDef, c *recordedCall) {
	t.values, t.paths = t.values[:0], c.paths
	add := func(number uint64, bytes []byte) {
		t.values = append(t.values, format.Value{Number: number, Bytes: bytes})
	}
	if d.unknown {
		add(uint64(c.number), nil)
	}
	for i, arg := range d.call.Args {
		n := word(c.args, i)
		switch {
		case arg.Kind == syscalls.KindPath:
			add(0, t.nextPath())
		case arg.Kind == syscalls.KindInt, arg.Kind == syscalls.KindFD, arg.Kind == syscalls.KindDirFD, arg.Kind == syscalls.KindLong && c.compat:
			add(uint64(int64(int32(n))), nil)
		case arg.Kind == syscalls.KindMode || arg.Kind == syscalls.KindSignal || t.decoder.Has(arg.Kind):
			add(t.decodedText(s, decodedKey{arg.Kind, n}), nil)
		default:
			add(n, nil)
		}
	}
	for i := range d.call.FDs() {
		add(t.file(s, word(c.files, i)), nil)
	}
	if c.compat {
		add(t.text(s, t.abi), nil)
	}
	if !c.endless {
		add(uint64(c.ret), nil)
		add(t.decodedText(s, decodedKey{kindError, uint64(c.ret)}), nil)
	}
}

func word(b []byte, i int) uint64 {
	if 8*i+8 > len(b) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[8*i:])
}

// nextPath takes the next path of the record. One that is as long as the programs read may be longer.
func (t *callTable) nextPath() []byte {
	path, _, found := bytes.Cut(t.paths, []byte{0})
	if !found {
		t.paths = nil
		return path
	}
	t.paths = t.paths[min(len(t.paths), (len(path)+1+7)&^7):]
	if len(path) == ringdata.CallBoundPath-1 {
		path = append(bytes.Clone(path), "…"...)
	}
	return path
}

// decodedText returns the id of the text for a number; 0: there is none.
func (t *callTable) decodedText(s *stream, k decodedKey) uint64 {
	if k.kind == kindError && int64(k.number) >= 0 {
		return 0
	}
	d := t.decoded[k]
	if d == nil {
		if t.decoded == nil || len(t.decoded) >= maxTexts {
			t.decoded = make(map[decodedKey]*textDef)
		}
		d = t.textOf(t.decode(k))
		t.decoded[k] = d
	}
	return uint64(s.types.defineText(s, d))
}

func (t *callTable) decode(k decodedKey) string {
	switch k.kind {
	case kindError:
		return t.decoder.Error(int64(k.number))
	case syscalls.KindMode:
		return syscalls.Mode(k.number)
	case syscalls.KindSignal:
		return t.decoder.Signal(k.number)
	}
	return t.decoder.Text(k.kind, k.number)
}

func (t *callTable) text(s *stream, text string) uint64 {
	return uint64(s.types.defineText(s, t.textOf(text)))
}

// textOf returns the definition of a text; nil: it is empty.
func (t *callTable) textOf(text string) *textDef {
	if text == "" {
		return nil
	}
	d := t.texts[text]
	if d == nil {
		if t.texts == nil || len(t.texts) >= maxTexts {
			t.texts = make(map[string]*textDef)
		}
		d = &textDef{text: text}
		t.texts[text] = d
	}
	return d
}

// file returns the id of the text that describes the file of a descriptor; 0: it is not known.
func (t *callTable) file(s *stream, id uint64) uint64 {
	d := s.waits.find(id, 0)
	if d == nil {
		return 0
	}
	if d.file == nil {
		d.file = t.textOf(waits.Descriptor(&d.wait))
	}
	return uint64(s.types.defineText(s, d.file))
}
