package format

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// EpochBytes is how many bytes of definitions a section may hold before its writer should begin an epoch.
const EpochBytes = 32 << 20

const (
	// maxSectionDefinitions and maxSectionDefinitionBytes bound what a reader keeps for one section. Writers
	// begin an epoch long before.
	maxSectionDefinitions     = 2 << 20 // and lines of frames
	maxSectionDefinitionBytes = 96 << 20
	maxSectionFrameIDs        = 32 << 20 // in its stacks
)

// appendTask appends t as a member of a Definitions message. It is written by hand because a busy machine makes
// ten thousand threads a second: see BenchmarkDefineTask.
func appendTask(b []byte, t *Task) []byte {
	b, body := beginMember(b, 1)
	b = appendNumber(b, 1, uint64(t.Id))
	b = appendNumber(b, 2, uint64(int64(t.Tid)))
	b = appendNumber(b, 3, uint64(int64(t.Pid)))
	b = appendText(b, 4, t.Comm)
	b = appendText(b, 5, t.ProcessComm)
	b = appendNumber(b, 6, uint64(int64(t.Ppid)))
	b = appendNumber(b, 7, uint64(t.Start))
	b = appendNumber(b, 8, uint64(t.Flags))
	b = appendNumber(b, 9, uint64(t.Continues))
	b = appendNumber(b, 10, uint64(t.Command))
	b = appendNumber(b, 11, uint64(int64(t.NsTid)))
	b = appendNumber(b, 12, uint64(int64(t.NsPid)))
	b = append(b, t.unknownFields...)
	return endMember(b, body)
}

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

// countDefinitions is the number of members of a Definitions message.
func countDefinitions(d *Definitions) int {
	return len(d.Tasks) + len(d.Modules) + len(d.Frames) + len(d.Stacks) + len(d.Probes) + len(d.Clocks) + len(d.Commands)
}

// definitions are those of one section, as far as they have been read.
type definitions struct {
	tasks    table[Task, *Task]
	modules  table[Module, *Module]
	frames   table[Frame, *Frame]
	stacks   table[Stack, *Stack]
	commands table[Command, *Command]
	clocks   []*ClockSnapshot
	count    int
	bytes    int
	frameIDs int // in stacks

	ids      slab[uint32]
	lines    slab[Line]
	pointers slab[*Line]
	texts    slab[byte]
}

// add reads the payload of a definition block. Members of kinds that this version does not use are passed over.
func (d *definitions) add(payload []byte) error {
	d.bytes += len(payload)
	if d.bytes > maxSectionDefinitionBytes {
		return fmt.Errorf("definitions of more than %d bytes in one section", maxSectionDefinitionBytes)
	}
	for len(payload) > 0 {
		field, typ, n := protowire.ConsumeTag(payload)
		if n < 0 {
			return fmt.Errorf("read definitions: %w", protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(field, typ, payload[n:])
		if size < 0 {
			return fmt.Errorf("read definitions: %w", protowire.ParseError(size))
		}
		if typ == protowire.BytesType {
			member, _ := protowire.ConsumeBytes(payload[n:])
			if err := d.member(field, member); err != nil {
				return err
			}
		}
		payload = payload[n+size:]
	}
	return nil
}

func (d *definitions) member(field protowire.Number, member []byte) error {
	if err := d.countOne(); err != nil {
		return err
	}
	switch field {
	case 1:
		return d.enterTask(member)
	case 2:
		return enter(&d.modules, member, "a module")
	case 3:
		if err := d.decodeFrame(member, d.frames.next()); err != nil {
			return fmt.Errorf("read the definition of a frame: %w", err)
		}
		d.frames.add()
	case 4:
		if err := d.decodeStack(member, d.stacks.next()); err != nil {
			return fmt.Errorf("read the definition of a stack: %w", err)
		}
		d.stacks.add()
	case 6:
		clocks := new(ClockSnapshot)
		if err := proto.Unmarshal(member, clocks); err != nil {
			return fmt.Errorf("read a clock snapshot: %w", err)
		}
		if err := checkTimes(clocks.ProtoReflect()); err != nil {
			return fmt.Errorf("read a clock snapshot: %w", err)
		}
		d.clocks = append(d.clocks, clocks)
	case 7:
		return enter(&d.commands, member, "a command line")
	}
	return nil
}

func (d *definitions) countOne() error {
	if d.count++; d.count > maxSectionDefinitions {
		return fmt.Errorf("more than %d definitions in one section, counting the lines of frames", maxSectionDefinitions)
	}
	return nil
}

func (d *definitions) countFrames(n int) error {
	if d.frameIDs += n; d.frameIDs > maxSectionFrameIDs {
		return fmt.Errorf("stacks of more than %d frames in one section", maxSectionFrameIDs)
	}
	return nil
}

func (d *definitions) enterTask(member []byte) error {
	if err := read(&d.tasks, member, "a task"); err != nil {
		return err
	}
	if !isTime(d.tasks.next().Start) {
		return fmt.Errorf("read the definition of a task: %w", errTime)
	}
	d.tasks.add()
	return nil
}

// enter reads one definition into its table.
func enter[T any, P message[T]](t *table[T, P], member []byte, what string) error {
	if err := read(t, member, what); err != nil {
		return err
	}
	t.add()
	return nil
}

// read decodes a definition into the room that its table has for the next one.
func read[T any, P message[T]](t *table[T, P], member []byte, what string) error {
	if err := proto.Unmarshal(member, t.next()); err != nil {
		return fmt.Errorf("read the definition of %s: %w", what, err)
	}
	return nil
}
