package format

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// EpochBytes is the number of bytes of definitions at which a writer should begin an epoch.
	EpochBytes = 32 << 20
	// MaxNameBytes bounds the names that a program adds to frames: with 40 MiB from the recorder they are below a reader's limit.
	MaxNameBytes = 22 << 20
)

const (
	// MaxSectionDefinitions and MaxSectionDefinitionBytes bound what a reader keeps for one section. Writers begin an epoch
	// long before.
	MaxSectionDefinitions     = 2 << 20 // with lines of frames and fields of event types
	MaxSectionDefinitionBytes = 64 << 20
	maxSectionFrameIDs        = 32 << 20 // in its stacks
	maxSectionClocks          = 1 << 16
	maxFrameLines             = 4096
	maxStackFrames            = 1 << 20
)

// appendMember appends m as a member of a Definitions message.
func appendMember(b []byte, field protowire.Number, m proto.Message) ([]byte, error) {
	options := proto.MarshalOptions{}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(options.Size(m)))
	b, err := options.MarshalAppend(b, m)
	if err != nil {
		return nil, fmt.Errorf("encode a definition: %w", err)
	}
	return b, nil
}

// CountDefinitions returns the number of members of a Definitions message that End.definitions counts: not those of kinds that
// versions 1.5 and 1.6 added, because older readers compare it with the members that they decode.
func CountDefinitions(d *Definitions) int {
	return len(d.Tasks) + len(d.Modules) + len(d.Frames) + len(d.Stacks) + len(d.Probes) + len(d.Clocks) + len(d.Commands)
}

// definitions are those of one section, as far as they have been read.
type definitions struct {
	tasks    table[Task]
	modules  table[Module]
	frames   table[Frame]
	stacks   table[Stack]
	commands table[Command]
	types    table[EventType]
	texts    table[Text]
	waits    table[Wait]
	clocks   []*ClockSnapshot
	messages messages
	count    int
	frameIDs int // in stacks

	one scratch
}

// scratch is memory to decode a definition in order to check it.
type scratch struct {
	task   Task
	frame  Frame
	stack  Stack
	buffer decodeBuffer
}

func (d *definitions) task(id uint32) *Task   { return d.tasks.get(id, &d.messages, decodeTask) }
func (d *definitions) frame(id uint32) *Frame { return d.frames.get(id, &d.messages, decodeFrame) }
func (d *definitions) stack(id uint32) *Stack { return d.stacks.get(id, &d.messages, decodeStack) }
func (d *definitions) module(id uint32) *Module {
	return d.modules.get(id, &d.messages, decodeMessage[Module])
}
func (d *definitions) command(id uint32) *Command {
	return d.commands.get(id, &d.messages, decodeMessage[Command])
}

func (d *definitions) eventType(id uint32) *EventType {
	return d.types.get(id, &d.messages, func(b []byte, t *EventType) (memory int, err error) {
		err = proto.Unmarshal(b, t)
		return t.Memory(), err
	})
}
func (d *definitions) wait(id uint32) *Wait { return d.waits.get(id, &d.messages, decodeMessage[Wait]) }
func (d *definitions) text(id uint32) *Text { return d.texts.get(id, &d.messages, decodeMessage[Text]) }

// decodeMessage decodes definitions that are rare.
func decodeMessage[T any, P interface {
	*T
	proto.Message
}](b []byte, d *T) (memory int, err error) {
	return len(b), proto.Unmarshal(b, P(d))
}

// add reads the payload of a definition block. Members unknown to this version are skipped.
func (d *definitions) add(payload []byte) error {
	if d.messages.size+len(payload) > MaxSectionDefinitionBytes {
		return fmt.Errorf("definitions of more than %d bytes in one section", MaxSectionDefinitionBytes)
	}
	begin := d.messages.add(payload)
	for at := 0; at < len(payload); {
		field, typ, n := protowire.ConsumeTag(payload[at:])
		if n < 0 {
			return fmt.Errorf("read definitions: %w", protowire.ParseError(n))
		}
		at += n
		size := protowire.ConsumeFieldValue(field, typ, payload[at:])
		if size < 0 {
			return fmt.Errorf("read definitions: %w", protowire.ParseError(size))
		}
		if typ == protowire.BytesType {
			member, _ := protowire.ConsumeBytes(payload[at:])
			if err := d.member(field, member, begin+place(at)); err != nil {
				return err
			}
		}
		at += size
	}
	return nil
}

func (d *definitions) member(field protowire.Number, member []byte, at place) error {
	if err := d.countOne(); err != nil {
		return err
	}
	one := &d.one
	switch field {
	case 1:
		if err := one.task.decode(member); err != nil {
			return fmt.Errorf("read the definition of a task: %w", err)
		}
		d.tasks.add(one.task.Id, at)
	case 2:
		return enter(&d.modules, member, at, "a module")
	case 3:
		if err := one.buffer.decodeFrame(member, &one.frame); err != nil {
			return fmt.Errorf("read the definition of a frame: %w", err)
		}
		if err := d.countParts(len(one.frame.Lines)); err != nil {
			return err
		}
		d.frames.add(one.frame.Id, at)
	case 4:
		if err := one.buffer.decodeStack(member, &one.stack); err != nil {
			return fmt.Errorf("read the definition of a stack: %w", err)
		}
		if err := d.countFrames(len(one.stack.Frames)); err != nil {
			return err
		}
		d.stacks.add(one.stack.Id, at)
	case 6:
		return d.addClocks(member)
	case 7:
		return enter(&d.commands, member, at, "a command line")
	case 8:
		return d.addType(member, at)
	case 9:
		return d.addText(member, at)
	case 10:
		if len(member) > maxWaitBytes {
			return nil
		}
		return enter(&d.waits, member, at, "a wait")
	}
	return nil
}

// addText skips a text that is too long.
func (d *definitions) addText(member []byte, at place) error {
	t := new(Text)
	if err := proto.Unmarshal(member, t); err != nil {
		return fmt.Errorf("read the definition of a text: %w", err)
	}
	if t.Problem() == "" {
		d.texts.add(t.Id, at)
	}
	return nil
}

// addType skips a type that readers cannot use.
func (d *definitions) addType(member []byte, at place) error {
	if len(member) > maxTypeBytes {
		return nil
	}
	t := new(EventType)
	if err := proto.Unmarshal(member, t); err != nil {
		return fmt.Errorf("read the definition of an event type: %w", err)
	}
	if err := d.countParts(len(t.Fields)); err != nil {
		return err
	}
	if t.Problem() != "" {
		return nil
	}
	if d.types.count >= MaxSectionTypes {
		return fmt.Errorf("more than %d event types in one section", MaxSectionTypes)
	}
	d.types.add(t.Id, at)
	return nil
}

func (d *definitions) addClocks(member []byte) error {
	clocks := new(ClockSnapshot)
	if err := proto.Unmarshal(member, clocks); err != nil {
		return fmt.Errorf("read a clock snapshot: %w", err)
	}
	if err := checkTimes(clocks.ProtoReflect()); err != nil {
		return fmt.Errorf("read a clock snapshot: %w", err)
	}
	if len(d.clocks) >= maxSectionClocks {
		return fmt.Errorf("more than %d clock snapshots in one section", maxSectionClocks)
	}
	d.clocks = append(d.clocks, clocks)
	return nil
}

func (d *definitions) countOne() error { return d.countParts(1) }

// countParts counts definitions, lines of frames and fields of event types, which share a bound.
func (d *definitions) countParts(n int) error {
	if d.count += n; d.count > MaxSectionDefinitions {
		return fmt.Errorf("more than %d definitions in one section, counting the lines of frames and the fields of event types", MaxSectionDefinitions)
	}
	return nil
}

func (d *definitions) countFrames(n int) error {
	if d.frameIDs += n; d.frameIDs > maxSectionFrameIDs {
		return fmt.Errorf("stacks of more than %d frames in one section", maxSectionFrameIDs)
	}
	return nil
}

// enter adds a rare definition.
func enter[T any, P interface {
	*T
	proto.Message
	GetId() uint32
}](t *table[T], member []byte, at place, what string) error {
	d := P(new(T))
	if err := proto.Unmarshal(member, d); err != nil {
		return fmt.Errorf("read the definition of %s: %w", what, err)
	}
	t.add(d.GetId(), at)
	return nil
}
