package textform

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// maxBlockText bounds the text of one block, so that what is held until the block is written is bounded too.
const maxBlockText = 64 << 20

// draft is a block under construction.
type draft struct {
	typ      format.BlockType
	flags    format.BlockFlags
	explicit bool // a line ends it; else it also ends when it is full
	opaque   bool // the payload is nothing but extra
	drop     bool // counted and indexed, but not written
	badCRC   bool // of the payload
	badHead  bool // the header's own checksum
	inState  bool // its last event is part of a state

	set     map[string]uint64 // header fields that the text sets
	version format.Version    // of a header block
	footer  footerWord        // of an end block
	msg     proto.Message     // what the payload holds, unless it holds events
	inner   []protoreflect.Message
	given   map[protoreflect.Name]bool // fields that the text sets, not the counts
	events  raw.Records
	counts  raw.Counts
	encoded []byte // definitions before the last one, encoded
	extra   []byte // the end of the payload

	definitions uint64 // in encoded
	text        int    // bytes of text, to bound it
}

// footerWord is how a footer differs from the correct one.
type footerWord struct {
	none  bool
	given *format.Footer
}

// headerField is one field of a block header that the text can set to anything, as @NAME.
type headerField struct {
	name string
	time bool
	bits int
	at   func(*format.BlockHeader) any
}

func headerFields() []headerField {
	return []headerField{
		{"type", false, 8, func(h *format.BlockHeader) any { return &h.Type }},
		{"flags", false, 8, func(h *format.BlockHeader) any { return &h.Flags }},
		{"section", false, 32, func(h *format.BlockHeader) any { return &h.Section }},
		{"seq", false, 32, func(h *format.BlockHeader) any { return &h.Sequence }},
		{"origin", false, 32, func(h *format.BlockHeader) any { return &h.Origin }},
		{"first", true, 64, func(h *format.BlockHeader) any { return &h.First }},
		{"last", true, 64, func(h *format.BlockHeader) any { return &h.Last }},
		{"earliest", true, 64, func(h *format.BlockHeader) any { return &h.Earliest }},
		{"stored", false, 32, func(h *format.BlockHeader) any { return &h.Stored }},
		{"raw", false, 32, func(h *format.BlockHeader) any { return &h.Raw }},
		{"events", false, 32, func(h *format.BlockHeader) any { return &h.Events }},
		{"crc", false, 32, func(h *format.BlockHeader) any { return &h.CRC }},
	}
}

func (f *headerField) get(h *format.BlockHeader) uint64 {
	switch p := f.at(h).(type) {
	case *format.BlockType:
		return uint64(*p)
	case *format.BlockFlags:
		return uint64(*p)
	case *uint32:
		return uint64(*p)
	case *int64:
		return uint64(*p)
	}
	return 0
}

func (f *headerField) put(h *format.BlockHeader, v uint64) {
	switch p := f.at(h).(type) {
	case *format.BlockType:
		*p = format.BlockType(v)
	case *format.BlockFlags:
		*p = format.BlockFlags(v)
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

// setWord sets a property of the block; done is false if the word is not one.
func (b *draft) setWord(v *vocabulary, w word) (done bool, err error) {
	if flag := b.flag(w.key); flag != nil {
		*flag, err = parseBool(w)
		return true, err
	}
	switch w.key {
	case "zstd":
		b.flags |= format.BlockZstd
		return true, nil
	case "state":
		b.flags |= format.BlockState
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
	return true, spell.Unknown("field of a block header", w.key, blockWords()[5:])
}

func (b *draft) flag(name string) *bool {
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

func (b *draft) setHeader(v *vocabulary, f headerField, s string) error {
	var value uint64
	var err error
	if f.time {
		var t int64
		t, err = spell.ParseTime(s, v.Open)
		value = uint64(t)
	} else {
		value, err = spell.ParseUint(s, f.bits)
	}
	if err != nil {
		return fmt.Errorf("@%s: %w", f.name, err)
	}
	if b.set == nil {
		b.set = map[string]uint64{}
	}
	b.set[f.name] = value
	if f.name == "first" { // event times are set by their lines, so the first one's distance from this changes
		b.events.Now = int64(value)
	}
	return nil
}

// give marks a field as set by the text.
func (b *draft) give(field protoreflect.Name) {
	if b.given == nil {
		b.given = map[protoreflect.Name]bool{}
	}
	b.given[field] = true
}

// grow counts the text of the block.
func (b *draft) grow(n int) error {
	b.text += n
	if b.text > maxBlockText {
		return fmt.Errorf("the block has more than %d MiB of text; begin another one", maxBlockText>>20)
	}
	return nil
}

// full reports whether a block that was not begun by a line has reached its limit.
func (b *draft) full() bool {
	const definitionText, eventBytes = 1 << 20, 256 << 10
	return len(b.events.Times)+len(b.events.Rest) >= eventBytes || b.typ == format.BlockDefinitions && b.text > definitionText
}

func (b *draft) addEvent(v *vocabulary, e *raw.Event) error {
	if _, set := b.set["first"]; !set && b.events.Events == 0 {
		b.events.Now = e.Time
	}
	info := v.KindInfo(e.Kind)
	size, err := b.events.Add(&info, e)
	if err != nil {
		return err
	}
	if len(b.events.Times)+len(b.events.Rest) > format.MaxBlockBytes-4 {
		return fmt.Errorf("the block has more than %d MiB of events; begin another one", format.MaxBlockBytes>>20)
	}
	b.counts.Event(e, size, v.types)
	return nil
}

// encodeDefinition encodes a complete definition, so that definitions keep the order of the text and take little memory.
func (b *draft) encodeDefinition() (err error) {
	d := b.msg.(*format.Definitions)
	d.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if raw.IsCounted(field.Name()) {
			b.definitions += uint64(v.List().Len())
		}
		return true
	})
	b.encoded, err = proto.MarshalOptions{Deterministic: true}.MarshalAppend(b.encoded, d)
	proto.Reset(d)
	return err
}
