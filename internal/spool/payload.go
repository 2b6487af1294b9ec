package spool

import (
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/ringdata"
)

// generation is the payload of a chunk that begins a generation: everything from before it that finalising this generation
// alone needs.
type generation struct {
	Header
	number   uint32
	newRings bool  // the first of a recording: the rings' positions begin with 0
	open     int64 // when the window opened; 0: not yet
}

const (
	generationFixed = 32

	firstTaskSize = ringdata.TaskCgroup // of a rec_task without a cgroup

	// Bits of its flags.
	generationNoSched  = 1
	generationNewRings = 2
	generationStacks   = 4
	generationCgroups  = 8 // each rec_task has its cgroup
)

func (g *generation) append(b []byte) ([]byte, error) {
	le := binary.LittleEndian
	flags := uint32(0)
	if g.NoSched {
		flags |= generationNoSched
	}
	if g.newRings {
		flags |= generationNewRings
	}
	if g.Stacks {
		flags |= generationStacks
	}
	if g.TaskSize == ringdata.TaskSize {
		flags |= generationCgroups
	}
	for _, v := range [...]uint32{g.number, uint32(g.Rings), uint32(g.RecorderPID), flags} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint64(b, uint64(g.open))
	b = le.AppendUint64(b, uint64(g.OffCPUMin))
	b, err := proto.MarshalOptions{}.MarshalAppend(b, g.Session)
	if err != nil {
		return nil, fmt.Errorf("encode the session: %w", err)
	}
	return b, nil
}

func parseGeneration(b []byte) (*generation, error) {
	if len(b) < generationFixed {
		return nil, errors.New("the header of a generation is too short")
	}
	le := binary.LittleEndian
	flags := le.Uint32(b[12:])
	g := &generation{
		Header: Header{
			Rings: int(le.Uint32(b[4:])), RecorderPID: int(le.Uint32(b[8:])), NoSched: flags&generationNoSched != 0,
			Stacks: flags&generationStacks != 0, OffCPUMin: int64(le.Uint64(b[24:])), Session: new(format.Session),
		},
		number: le.Uint32(b), newRings: flags&generationNewRings != 0, open: int64(le.Uint64(b[16:])),
	}
	g.TaskSize = firstTaskSize
	if flags&generationCgroups != 0 {
		g.TaskSize = ringdata.TaskSize
	}
	if g.Rings > maxRings {
		return nil, fmt.Errorf("a spool of %d rings, more than the %d that are allowed", g.Rings, maxRings)
	}
	if err := proto.Unmarshal(b[generationFixed:], g.Session); err != nil {
		return nil, fmt.Errorf("read the session of a spool: %w", err)
	}
	return g, nil
}

// appendRound is the payload of a round: when the window opened, 0 if it has not, and the two positions of each ring.
func appendRound(b []byte, open int64, r *Round) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(open))
	for i := range r.Producer {
		b = binary.LittleEndian.AppendUint64(b, r.Producer[i])
		b = binary.LittleEndian.AppendUint64(b, r.Drained[i])
	}
	return b
}

func RoundBytes(rings int) int { return 8 + 16*rings }

func RoundOpen(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }

func RoundPositions(b []byte, ring int) (producer, drained uint64) {
	le := binary.LittleEndian
	b = b[8+16*ring:]
	return le.Uint64(b), le.Uint64(b[8:])
}

const lossBytes = 32

const tailFixed = 16

// appendTail is the payload of the end: when the window opened, the number of losses, the losses, and an End message
// for the rest.
func appendTail(b []byte, open int64, t *Tail) ([]byte, error) {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(open))
	b = le.AppendUint64(b, uint64(len(t.Losses)))
	for _, l := range t.Losses {
		b = le.AppendUint32(b, l.CPU)
		b = append(b, byte(l.Kind), byte(l.Cause), 0, 0)
		b = le.AppendUint64(b, l.Count)
		b = le.AppendUint64(b, uint64(l.From))
		b = le.AppendUint64(b, uint64(l.Type))
	}
	end := &format.End{Close: t.Close, Cost: &format.RecorderCost{
		Programs: t.Programs, FramesByTable: t.FramesByTable, FramesByPointer: t.FramesByPointer,
	}}
	if t.Clocks != nil {
		end.Clocks = []*format.ClockSnapshot{t.Clocks}
	}
	b, err := proto.MarshalOptions{}.MarshalAppend(b, end)
	if err != nil {
		return nil, fmt.Errorf("encode the end of the recording: %w", err)
	}
	return b, nil
}

func ParseTail(b []byte) (open int64, t *Tail, err error) {
	le := binary.LittleEndian
	short := errors.New("the end of a spool is too short")
	if len(b) < tailFixed {
		return 0, nil, short
	}
	open = int64(le.Uint64(b))
	count := le.Uint64(b[8:])
	b = b[tailFixed:]
	if count > uint64(len(b)/lossBytes) {
		return 0, nil, short
	}
	t = &Tail{}
	for range count {
		t.Losses = append(t.Losses, Loss{
			CPU: le.Uint32(b), Kind: format.Kind(b[4]), Cause: format.Cause(b[5]), Count: le.Uint64(b[8:]), From: int64(le.Uint64(b[16:])),
			Type: le.Uint32(b[24:]),
		})
		b = b[lossBytes:]
	}
	end := new(format.End)
	if err := proto.Unmarshal(b, end); err != nil {
		return 0, nil, fmt.Errorf("read the end of a spool: %w", err)
	}
	t.Close, t.Programs = end.Close, end.GetCost().GetPrograms()
	t.FramesByTable, t.FramesByPointer = end.GetCost().GetFramesByTable(), end.GetCost().GetFramesByPointer()
	if len(end.Clocks) > 0 {
		t.Clocks = end.Clocks[0]
	}
	return open, t, nil
}
