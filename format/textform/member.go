package textform

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"wprof/format"
	"wprof/format/internal/raw"
	"wprof/format/internal/spell"
)

// definitions writes a block of definitions. What a newer version added comes last, as bytes.
func (d *dumper) definitions(block *format.Block) error {
	empty := new(format.Definitions).ProtoReflect()
	known := uint64(0)
	err := raw.EachMember(empty, block.Payload, func(m raw.Member) {
		if m.Message != nil && raw.IsCounted(m.Field) {
			known++
		}
	})
	if err != nil {
		return err
	}
	d.tally.Definitions += known
	d.blockLine("block definitions", &draft{typ: format.BlockDefinitions}, block)
	d.write(append(d.line, '\n'))
	return d.showMembers(empty, block)
}

// index writes an index block: without entries if it is right.
func (d *dumper) index(block *format.Block) error {
	empty := new(format.Index).ProtoReflect()
	entries, known, right := 0, 0, true
	err := raw.EachMember(empty, block.Payload, func(m raw.Member) {
		if m.Message != nil {
			known++
		}
		right = right && m.Message != nil && entries < len(d.tally.Index) &&
			proto.Equal(m.Message.Interface(), d.tally.Index[entries].Entry())
		entries++
	})
	if err != nil {
		return err
	}
	right = right && entries == len(d.tally.Index)
	d.blockLine("index", &draft{typ: format.BlockIndex}, block)
	d.write(append(d.line, '\n'))
	if right {
		return nil
	}
	if known == 0 {
		d.write([]byte("  entry none\n"))
	}
	return d.showMembers(empty, block)
}

// showMembers writes the parts of a message that was decoded without an error.
func (d *dumper) showMembers(empty protoreflect.Message, block *format.Block) error {
	var unknown []byte
	err := raw.EachMember(empty, block.Payload, func(m raw.Member) {
		if m.Message == nil {
			unknown = append(unknown, m.Raw...)
			return
		}
		if t, ok := m.Message.Interface().(*format.EventType); ok {
			d.voc.types.Add(t)
		}
		d.write(d.voc.appendDetail(d.line[:0], d.voc.detailOf(empty.Descriptor().Name(), m.Field), m.Message, "  "))
	})
	d.payload(unknown)
	return err
}

// detailOf finds the word for a field of a message.
func (v *vocabulary) detailOf(parent, field protoreflect.Name) spell.Detail {
	for _, d := range v.details {
		if d.Parent == parent && d.Field == field {
			return d
		}
	}
	return spell.Detail{Parent: parent, Word: string(field), Field: field}
}
