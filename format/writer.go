package format

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	defaultBlockBytes = 256 << 10
	minBlockBytes     = 1 << 10
	maxBlockTarget    = 8 << 20
)

// WriterOptions say how a Writer stores blocks.
type WriterOptions struct {
	Level      int  // compression: 0 none, 1 zstd fastest, 2 zstd default, 3 zstd better
	BlockBytes int  // raw size at which a block is written; 0: 256 KiB
	Live       bool // blocks are written by Flush, or when they reach their maximum size
}

// Writer writes a stream. After an error of the underlying writer all its methods return that error.
type Writer struct {
	w       io.Writer
	target  int
	pack    *compressor
	err     error
	out     []byte // the block that is being written
	payload []byte
	events  *EventBlock
	defs    []byte // a Definitions message, held until the event block that uses it
	state   bool   // the event block under construction begins with a state
	section section
	last    int64 // time of the last event of the whole stream
}

// section is what the Writer counts in one section.
type section struct {
	begun        bool
	number       uint32
	sequence     uint32
	offset       uint64
	index        []indexEntry
	kinds        [MaxKind + 1]kindCount
	types        map[uint32]*EventType // name and group of those defined
	typed        map[uint32]uint64     // events of each type
	raw, stored  uint64
	definitions  uint64 // that End.definitions counts
	usage        usage
	late, events uint64
}

// usage is how much the definitions of a section use of the bounds that readers have.
type usage struct {
	bytes    int64
	members  int64 // definitions, lines of frames and fields of event types
	frameIDs int64 // in stacks
	clocks   int64
	types    int64
}

func (u *usage) add(more usage) {
	u.bytes += more.bytes
	u.members += more.members
	u.frameIDs += more.frameIDs
	u.clocks += more.clocks
	u.types += more.types
}

func (u *usage) exceedsBounds() bool {
	return u.bytes > MaxSectionDefinitionBytes || u.members > MaxSectionDefinitions || u.frameIDs > maxSectionFrameIDs ||
		u.clocks > maxSectionClocks || u.types > MaxSectionTypes
}

type kindCount struct{ events, bytes uint64 }

type indexEntry struct {
	header BlockHeader
	offset uint64 // in the section
}

// MaxIndexEntries keeps an index well below the size of a block. A longer section gets none; a reader makes its own.
const MaxIndexEntries = 300_000

// NewWriter returns a Writer to w. It calls w.Write once for each block. Begin reports invalid options.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	target := o.BlockBytes
	if target == 0 {
		target = defaultBlockBytes
	}
	if o.Live {
		target = maxBlockTarget
	}
	pack, err := newCompressor(o.Level)
	return &Writer{
		w: w, target: min(max(target, minBlockBytes), maxBlockTarget), pack: pack, err: err,
		events: NewEventBlock(), last: math.MinInt64,
	}
}

// SectionNumber is the number by which the blocks of a section are known: it differs from those of the session's
// other epochs and, as far as chance allows, from those of other recordings.
func SectionNumber(s *Session) uint32 {
	return uint32(s.GetId()) + uint32(s.GetId()>>32) + s.GetEpoch()
}

// Begin writes the header block of a new section. The section before it must have ended.
func (w *Writer) Begin(s *Session) error {
	if w.err != nil {
		return w.err
	}
	if w.section.begun {
		return errors.New("begin a section: the one before it has not ended")
	}
	if err := checkTimes(s.ProtoReflect()); err != nil {
		return fmt.Errorf("begin a section: %w", err)
	}
	payload, err := AppendHeaderPayload(w.payload[:0], CurrentVersion(), s)
	if err != nil {
		return err
	}
	w.payload = payload
	w.section = section{begun: true, number: SectionNumber(s), usage: usage{clocks: int64(len(s.Clocks))}}
	return w.block(BlockHeader{Type: BlockHeaderType}, payload)
}

// Define adds definitions; their ids are the caller's. They are written before the event block that is under
// construction now, one type after the other: a task's command line must have been defined by a call before. Like the other methods that
// define something, it returns [ErrFull] and adds nothing where readers would refuse the section.
func (w *Writer) Define(d *Definitions) error {
	if err := w.ready(); err != nil {
		return err
	}
	defs, err := proto.MarshalOptions{}.MarshalAppend(w.defs, d)
	if err != nil {
		return fmt.Errorf("encode definitions: %w", err)
	}
	counted := CountDefinitions(d)
	more := usage{members: int64(counted + len(d.EventTypes) + len(d.Texts) + len(d.Waits)), clocks: int64(len(d.Clocks)), types: int64(len(d.EventTypes))}
	for _, f := range d.Frames {
		more.members += int64(len(f.Lines))
	}
	for _, t := range d.EventTypes {
		more.members += int64(len(t.Fields))
		w.section.nameType(t)
	}
	for _, s := range d.Stacks {
		more.frameIDs += int64(len(s.Frames))
	}
	return w.defined(defs, counted, more)
}

// DefineTask adds the definition of one task.
func (w *Writer) DefineTask(t *Task) error {
	if err := w.ready(); err != nil {
		return err
	}
	if !isTime(t.Start) {
		return fmt.Errorf("define a task: %w", errTime)
	}
	return w.defined(appendTask(w.defs, t), 1, usage{members: 1})
}

// DefineModule adds the definition of one module.
func (w *Writer) DefineModule(m *Module) error { return w.defineMember(2, m, 1, usage{members: 1}) }

// DefineFrame adds the definition of one frame, whose module is defined.
func (w *Writer) DefineFrame(f *Frame) error {
	if err := w.ready(); err != nil {
		return err
	}
	return w.defined(appendFrame(w.defs, f), 1, usage{members: 1 + int64(len(f.Lines))})
}

// DefineStack adds the definition of one stack, whose frames are defined.
func (w *Writer) DefineStack(s *Stack) error {
	if err := w.ready(); err != nil {
		return err
	}
	return w.defined(appendStack(w.defs, s), 1, usage{members: 1, frameIDs: int64(len(s.Frames))})
}

// DefineCommand adds the definition of one command line.
func (w *Writer) DefineCommand(c *Command) error { return w.defineMember(7, c, 1, usage{members: 1}) }

// DefineWait adds the definition of one wait.
func (w *Writer) DefineWait(d *Wait) error { return w.defineMember(10, d, 0, usage{members: 1}) }

// DefineType adds the definition of one event type.
func (w *Writer) DefineType(t *EventType) error {
	more := usage{members: 1 + int64(len(t.Fields))}
	if !t.IsLost() {
		more.types = 1
		if problem := t.Problem(); problem != "" {
			return fmt.Errorf("define an event type: %s", problem)
		}
	}
	err := w.defineMember(8, t, 0, more)
	if err == nil {
		w.section.nameType(t)
	}
	return err
}

// nameType keeps what the end block reports of a type.
func (s *section) nameType(t *EventType) {
	if s.types == nil {
		s.types, s.typed = map[uint32]*EventType{}, map[uint32]uint64{}
	}
	if s.types[t.Id] == nil && !t.IsLost() {
		s.types[t.Id] = &EventType{Name: t.Name, Group: t.Group}
	}
}

// countType counts an event of a type. Those that were not defined as usable ones are not counted.
func (s *section) countType(id uint32) {
	if s.types[id] != nil {
		s.typed[id]++
	}
}

// DefineText adds the definition of one text of 64 KiB at most.
func (w *Writer) DefineText(t *Text) error {
	if problem := t.Problem(); problem != "" {
		return fmt.Errorf("define a text: %s", problem)
	}
	return w.defineMember(9, t, 0, usage{members: 1})
}

func (w *Writer) defineMember(field protowire.Number, m proto.Message, counted int, more usage) error {
	if err := w.ready(); err != nil {
		return err
	}
	defs, err := appendMember(w.defs, field, m)
	if err != nil {
		return err
	}
	return w.defined(defs, counted, more)
}

// defined replaces the pending definitions by defs, which are the same and new ones after them; counted is how many of the new
// ones End.definitions counts. It refuses those that are longer than what a block has left when another one is due.
func (w *Writer) defined(defs []byte, counted int, more usage) error {
	n := len(defs) - len(w.defs)
	if n > MaxBlockBytes-w.target {
		return fmt.Errorf("define %d bytes at once: a block cannot hold them", n)
	}
	sum := w.section.usage
	more.bytes = int64(n)
	if sum.add(more); sum.exceedsBounds() {
		return ErrFull
	}
	w.section.usage = sum
	w.section.definitions += uint64(counted)
	w.defs = defs
	if len(w.defs) >= w.target {
		return w.writeDefinitions()
	}
	return nil
}

// DefinitionBytes is the size of the section's definitions so far, or more if a reader's other bounds are nearer than that of
// bytes. The caller begins an epoch at [EpochBytes].
func (w *Writer) DefinitionBytes() int64 {
	const perMember, perFrameID, perClock = MaxSectionDefinitionBytes / MaxSectionDefinitions, MaxSectionDefinitionBytes / maxSectionFrameIDs,
		MaxSectionDefinitionBytes / maxSectionClocks
	u := &w.section.usage
	return max(u.bytes, perMember*u.members, perFrameID*u.frameIDs, perClock*u.clocks)
}

// Write adds an event. Times must not decrease, over sections too, and one of the visibility bits must be set.
func (w *Writer) Write(e *Event) error {
	if err := w.ready(); err != nil {
		return err
	}
	if e.Time < w.last {
		return fmt.Errorf("write an event at %d ns after one at %d ns: times must not decrease", e.Time, w.last)
	}
	if e.Flags&FlagsVisible == 0 {
		return fmt.Errorf("write an event at %d ns: neither of its sides is visible", e.Time)
	}
	before := w.events.Len()
	if w.state && w.events.Events() == 0 {
		w.state = e.IsState()
	}
	if err := w.events.Add(e); err != nil {
		return fmt.Errorf("write an event at %d ns: %w", e.Time, err)
	}
	w.last = e.Time
	size := w.events.Len()
	k := &w.section.kinds[e.Kind]
	k.events++
	k.bytes += uint64(size - before)
	if e.Kind == KindTyped {
		w.section.countType(e.TypeID())
	}
	if e.Flags&FlagLate != 0 {
		w.section.late++
	}
	if size >= w.target {
		return w.Flush()
	}
	return nil
}

// BeginState ends the block under construction: the next event, if it is one of a state, begins a state, and a reader may
// start there.
func (w *Writer) BeginState() error {
	err := w.Flush()
	w.state = true
	return err
}

// Flush writes what is pending.
func (w *Writer) Flush() error {
	if err := w.ready(); err != nil {
		return err
	}
	if err := w.writeDefinitions(); err != nil {
		return err
	}
	if w.events.Events() == 0 {
		return nil
	}
	h := w.events.Header()
	if w.state {
		h.Flags |= BlockState
	}
	w.payload = w.events.AppendPayload(w.payload[:0])
	w.section.events += uint64(w.events.Events())
	w.events.Reset()
	w.state = false
	return w.block(h, w.payload)
}

func (w *Writer) writeDefinitions() error {
	if len(w.defs) == 0 {
		return nil
	}
	err := w.block(BlockHeader{Type: BlockDefinitions}, w.defs)
	w.defs = w.defs[:0]
	return err
}

// EndSection fills in e what the Writer has counted and writes the index and the end block. Of very many processes
// it keeps those with the most CPU time.
func (w *Writer) EndSection(e *End) error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.count(e)
	if err := checkTimes(e.ProtoReflect()); err != nil {
		return fmt.Errorf("end a section: %w", err)
	}
	index := uint64(0)
	if len(w.section.index) < MaxIndexEntries {
		index = w.section.offset
		payload, err := proto.Marshal(w.indexMessage())
		if err != nil {
			return fmt.Errorf("encode the index: %w", err)
		}
		if err := w.block(BlockHeader{Type: BlockIndex}, payload); err != nil {
			return err
		}
	}
	payload, err := AppendEndPayload(w.payload[:0], e, index, w.section.offset)
	if err != nil {
		return err
	}
	w.payload = payload
	err = w.block(BlockHeader{Type: BlockEnd}, payload)
	w.section.begun = false
	return err
}

func (w *Writer) count(e *End) {
	s := &w.section
	e.Kinds = nil
	for kind, c := range s.kinds {
		if c.events > 0 {
			e.Kinds = append(e.Kinds, &KindCount{Kind: uint32(kind), Events: c.events, Bytes: c.bytes})
		}
	}
	e.Types = CountTypes(s.typed, func(id uint32) *EventType { return s.types[id] }).List()
	e.RawBytes, e.StoredBytes, e.Definitions, e.Late = s.raw, s.stored, s.definitions, s.late
	if len(e.Processes) > MaxProcesses {
		slices.SortFunc(e.Processes, func(a, b *ProcessTime) int { return cmp.Compare(b.Ns, a.Ns) })
		e.Processes = e.Processes[:MaxProcesses]
	}
}

func (w *Writer) indexMessage() *Index {
	x := &Index{Blocks: make([]*IndexEntry, 0, len(w.section.index))}
	for _, e := range w.section.index {
		x.Blocks = append(x.Blocks, e.header.IndexEntry(e.offset))
	}
	return x
}

// IndexEntry returns the index entry of a block at an offset in its section.
func (h *BlockHeader) IndexEntry(offset uint64) *IndexEntry {
	return &IndexEntry{
		Type: uint32(h.Type), Flags: uint32(h.Flags), Offset: offset, Stored: h.Stored, Raw: h.Raw,
		First: h.First, Last: h.Last, Earliest: h.Earliest, Events: h.Events,
	}
}

// isOf reports whether an index entry matches its block.
func (e *indexEntry) isOf(m *IndexEntry) bool {
	h := &e.header
	return m.Type == uint32(h.Type) && m.Flags == uint32(h.Flags) && m.Offset == e.offset && m.Stored == h.Stored && m.Raw == h.Raw &&
		m.First == h.First && m.Last == h.Last && m.Earliest == h.Earliest && m.Events == h.Events
}

// Counts is what the section under construction, or the last one, holds so far.
func (w *Writer) Counts() Counts {
	s := &w.section
	return Counts{
		Events: s.events + uint64(w.events.Events()), Definitions: s.definitions, Late: s.late,
		RawBytes: s.raw, StoredBytes: s.stored, Bytes: s.offset,
	}
}

// Counts are a section's events and sizes.
type Counts struct {
	Events, Definitions, Late uint64
	RawBytes, StoredBytes     uint64 // of event payloads written
	Bytes                     uint64 // of all blocks written
}

func (w *Writer) ready() error {
	if w.err == nil && !w.section.begun {
		return errors.New("write to a stream: no section has begun")
	}
	return w.err
}

// block writes one block of the section. Header and end stay readable without zstd.
func (w *Writer) block(h BlockHeader, payload []byte) error {
	if !isTime(h.First) || !isTime(h.Last) || !isTime(h.Earliest) {
		w.err = fmt.Errorf("write a block: %w", errTime)
		return w.err
	}
	s := &w.section
	h.Section, h.Sequence = s.number, s.sequence
	pack := w.pack
	if h.Type == BlockHeaderType || h.Type == BlockEnd {
		pack = &compressor{}
	}
	var written BlockHeader
	w.out, written = pack.appendBlock(w.out[:0], h, payload)
	if _, err := w.w.Write(w.out); err != nil {
		w.err = fmt.Errorf("write the stream: %w", err)
		return w.err
	}
	if h.Type == BlockEvents {
		s.raw += uint64(written.Raw)
		s.stored += uint64(written.Stored)
	}
	if len(s.index) < MaxIndexEntries {
		s.index = append(s.index, indexEntry{written, s.offset})
	}
	s.sequence++
	s.offset += uint64(len(w.out))
	return nil
}
