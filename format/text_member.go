package format

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxTextMember bounds one definition in the text form: decoded, a member of many empty parts is many times larger.
const maxTextMember = 1 << 20

// member is one part of a message that is a list of parts: of a kind that this version knows, or bytes.
type member struct {
	detail textDetail
	m      protoreflect.Message // nil: unknown
	raw    []byte
}

// eachMember takes a message of many parts apart, so that many tiny ones do not take a hundred times their size in
// memory.
func (v *textVocabulary) eachMember(empty protoreflect.Message, payload []byte, f func(member)) error {
	for len(payload) > 0 {
		number, typ, tag := protowire.ConsumeTag(payload)
		if tag < 0 {
			return fmt.Errorf("read %s: %w", v.messageWord(empty), protowire.ParseError(tag))
		}
		size := protowire.ConsumeFieldValue(number, typ, payload[tag:])
		if size < 0 {
			return fmt.Errorf("read %s: %w", v.messageWord(empty), protowire.ParseError(size))
		}
		one := member{raw: payload[:tag+size]}
		payload = payload[tag+size:]
		if field := empty.Descriptor().Fields().ByNumber(number); field != nil && typ == protowire.BytesType {
			if size > maxTextMember {
				return fmt.Errorf("read %s: a part takes %d bytes", v.messageWord(empty), size)
			}
			one.detail = v.detailOf(empty.Descriptor().Name(), field.Name())
			one.m = empty.NewField(field).List().NewElement().Message()
			content, _ := protowire.ConsumeBytes(one.raw[tag:])
			if err := proto.Unmarshal(content, one.m.Interface()); err != nil {
				return fmt.Errorf("read %s: %w", v.messageWord(empty), err)
			}
		}
		f(one)
	}
	return nil
}

// isCounted reports whether End.definitions counts the member: see countDefinitions.
func (m *member) isCounted() bool {
	switch m.m.Interface().(type) {
	case *EventType, *Text:
		return false
	}
	return true
}

// definitions writes a block of definitions. What a newer version added comes last, as bytes.
func (d *dumper) definitions(block *Block) error {
	empty := new(Definitions).ProtoReflect()
	known := uint64(0)
	err := d.voc.eachMember(empty, block.Payload, func(m member) {
		if m.m != nil && m.isCounted() {
			known++
		}
	})
	if err != nil {
		return err
	}
	d.tally.definitions += known
	d.blockLine("block definitions", &textBlock{typ: BlockDefinitions}, block)
	d.write(append(d.line, '\n'))
	return d.showMembers(empty, block)
}

// index writes an index block: without entries if it is right.
func (d *dumper) index(block *Block) error {
	empty := new(Index).ProtoReflect()
	entries, known, right := 0, 0, true
	err := d.voc.eachMember(empty, block.Payload, func(m member) {
		if m.m != nil {
			known++
		}
		right = right && m.m != nil && entries < len(d.tally.index) &&
			proto.Equal(m.m.Interface(), d.tally.index[entries].message())
		entries++
	})
	if err != nil {
		return err
	}
	right = right && entries == len(d.tally.index)
	d.blockLine("index", &textBlock{typ: BlockIndex}, block)
	d.write(append(d.line, '\n'))
	if right {
		return nil
	}
	if known == 0 {
		d.write([]byte("  entry none\n"))
	}
	return d.showMembers(empty, block)
}

// showMembers writes the parts of a message that has been gone through without an error.
func (d *dumper) showMembers(empty protoreflect.Message, block *Block) error {
	var unknown []byte
	err := d.voc.eachMember(empty, block.Payload, func(m member) {
		if m.m == nil {
			unknown = append(unknown, m.raw...)
			return
		}
		if t, ok := m.m.Interface().(*EventType); ok {
			d.voc.types.add(t)
		}
		d.write(d.voc.appendDetail(d.line[:0], m.detail, m.m, "  "))
	})
	d.payload(unknown)
	return err
}

func (v *textVocabulary) messageWord(m protoreflect.Message) string {
	return strings.ToLower(string(m.Descriptor().Name()))
}

// detailOf finds the word for a field of a message.
func (v *textVocabulary) detailOf(parent, field protoreflect.Name) textDetail {
	for _, d := range v.details {
		if d.parent == parent && d.field == field {
			return d
		}
	}
	return textDetail{parent: parent, word: string(field), field: field}
}
