package format

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxBlockText bounds the text of one block, so that what is held until the block is written is bounded too.
const maxBlockText = 64 << 20

// textBlock is a block under construction.
type textBlock struct {
	typ      BlockType
	flags    BlockFlags
	explicit bool // it lasts until a line ends it; else it also ends when it is full
	opaque   bool // the payload is nothing but extra
	drop     bool // counted and indexed, but not written
	badCRC   bool // of the payload
	badHead  bool // the header's own checksum
	inState  bool // its last event is part of a state

	set     map[string]uint64 // what the header is to say, whatever is true
	version Version           // of a header block
	footer  textFooter        // of an end block
	msg     proto.Message     // what the payload holds, unless it holds events
	inner   []protoreflect.Message
	told    map[protoreflect.Name]bool // fields that are as the text says, not as they are counted
	events  recordCoder
	counts  map[Kind]kindCount
	late    uint64
	losses  []*Loss
	settled []byte // definitions before the last one, encoded
	extra   []byte // the end of the payload

	definitions uint64 // in settled
	text        int    // bytes of text, to bound it
}

// textFooter says how a footer differs from the right one.
type textFooter struct {
	none bool
	told *Footer
}

func blockTypeNames() textNames {
	return textNames{
		uint64(BlockHeaderType): "header", uint64(BlockDefinitions): "definitions", uint64(BlockEvents): "events",
		uint64(BlockIndex): "index", uint64(BlockEnd): "end",
	}
}

// headerField is one field of a block header that the text can set to anything, as @NAME.
type headerField struct {
	name string
	time bool
	bits int
	at   func(*BlockHeader) any
}

func headerFields() []headerField {
	return []headerField{
		{"type", false, 8, func(h *BlockHeader) any { return &h.Type }},
		{"flags", false, 8, func(h *BlockHeader) any { return &h.Flags }},
		{"section", false, 32, func(h *BlockHeader) any { return &h.Section }},
		{"seq", false, 32, func(h *BlockHeader) any { return &h.Sequence }},
		{"origin", false, 32, func(h *BlockHeader) any { return &h.Origin }},
		{"first", true, 64, func(h *BlockHeader) any { return &h.First }},
		{"last", true, 64, func(h *BlockHeader) any { return &h.Last }},
		{"earliest", true, 64, func(h *BlockHeader) any { return &h.Earliest }},
		{"stored", false, 32, func(h *BlockHeader) any { return &h.Stored }},
		{"raw", false, 32, func(h *BlockHeader) any { return &h.Raw }},
		{"events", false, 32, func(h *BlockHeader) any { return &h.Events }},
		{"crc", false, 32, func(h *BlockHeader) any { return &h.CRC }},
	}
}

func (f *headerField) get(h *BlockHeader) uint64 {
	switch p := f.at(h).(type) {
	case *BlockType:
		return uint64(*p)
	case *BlockFlags:
		return uint64(*p)
	case *uint32:
		return uint64(*p)
	case *int64:
		return uint64(*p)
	}
	return 0
}

func (f *headerField) put(h *BlockHeader, v uint64) {
	switch p := f.at(h).(type) {
	case *BlockType:
		*p = BlockType(v)
	case *BlockFlags:
		*p = BlockFlags(v)
	case *uint32:
		*p = uint32(v)
	case *int64:
		*p = int64(v)
	}
}

// blockWords are all properties that a block may have.
func blockWords() []string {
	words := []string{"zstd", "state", "drop", "bad_crc", "bad_header_crc"}
	for _, f := range headerFields() {
		words = append(words, "@"+f.name)
	}
	return words
}

// setWord takes a property of the block; done is false if the word is none.
func (b *textBlock) setWord(v *textVocabulary, w textWord) (done bool, err error) {
	if flag := b.flag(w.key); flag != nil {
		*flag, err = parseTextBool(w)
		return true, err
	}
	switch w.key {
	case "zstd":
		b.flags |= BlockZstd
		return true, nil
	case "state":
		b.flags |= BlockState
		return true, nil
	}
	if w.key == "" || w.key[0] != '@' {
		return false, nil
	}
	for _, f := range headerFields() {
		if w.key == "@"+f.name {
			return true, b.setHeader(v, f, w.value)
		}
	}
	return true, unknownName("field of a block header", w.key, blockWords()[5:])
}

func (b *textBlock) flag(name string) *bool {
	switch name {
	case "drop":
		return &b.drop
	case "bad_crc":
		return &b.badCRC
	case "bad_header_crc":
		return &b.badHead
	}
	return nil
}

func (b *textBlock) setHeader(v *textVocabulary, f headerField, s string) error {
	var value uint64
	var err error
	if f.time {
		var t int64
		t, err = parseTextTime(s, v.open)
		value = uint64(t)
	} else {
		value, err = parseTextUint(s, f.bits)
	}
	if err != nil {
		return fmt.Errorf("@%s: %w", f.name, err)
	}
	if b.set == nil {
		b.set = map[string]uint64{}
	}
	b.set[f.name] = value
	if f.name == "first" { // event times are what their lines say, so the first one's distance from this changes
		b.events.now = int64(value)
	}
	return nil
}

// tell notes that a field is as the text says.
func (b *textBlock) tell(field protoreflect.Name) {
	if b.told == nil {
		b.told = map[protoreflect.Name]bool{}
	}
	b.told[field] = true
}

// grow counts the text of the block.
func (b *textBlock) grow(n int) error {
	b.text += n
	if b.text > maxBlockText {
		return fmt.Errorf("the block has more than %d MiB of text; begin another one", maxBlockText>>20)
	}
	return nil
}

// full tells whether a block without a line of its own ends.
func (b *textBlock) full() bool {
	const definitionText = 1 << 20
	return len(b.events.times)+len(b.events.records) >= defaultBlockBytes || b.typ == BlockDefinitions && b.text > definitionText
}

func (b *textBlock) addEvent(v *textVocabulary, e *textEvent) error {
	if _, set := b.set["first"]; !set && b.events.events == 0 {
		b.events.now = e.Time
	}
	info := v.kindInfo(e.Kind)
	size, err := b.events.add(&info, e)
	if err != nil {
		return err
	}
	if len(b.events.times)+len(b.events.records) > MaxBlockBytes-4 {
		return fmt.Errorf("the block has more than %d MiB of events; begin another one", MaxBlockBytes>>20)
	}
	b.count(e, size)
	return nil
}

// count adds an event to what the end block tells of the block.
func (b *textBlock) count(e *textEvent, size int) {
	if b.counts == nil {
		b.counts = map[Kind]kindCount{}
	}
	c := b.counts[e.Kind]
	b.counts[e.Kind] = kindCount{c.events + 1, c.bytes + uint64(size)}
	if e.Flags&FlagLate != 0 {
		b.late++
	}
	if e.Kind == KindLost {
		l := e.Lost()
		b.losses = addLoss(b.losses, &Loss{Cpu: e.CPU, Kind: uint32(l.What()), Cause: uint32(l.Cause()), Count: l.Count()})
	}
}

// addLoss adds a loss to a list that is sorted by CPU, kind and cause. The list stays short, whatever is lost.
func addLoss(all []*Loss, more *Loss) []*Loss {
	const most = 4096
	i, found := slices.BinarySearchFunc(all, more, compareLoss)
	if found {
		all[i].Count = Sum(all[i].Count, more.Count)
		return all
	}
	if len(all) == most {
		return all
	}
	return slices.Insert(all, i, proto.CloneOf(more))
}

// settle encodes the definition that is complete, so that they keep the order of the text and take little memory.
func (b *textBlock) settle() (err error) {
	d := b.msg.(*Definitions)
	b.definitions += uint64(countDefinitions(d))
	b.settled, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(b.settled, d)
	proto.Reset(d)
	return err
}
