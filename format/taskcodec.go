package format

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
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
	b = appendNumber(b, 13, uint64(t.Cgroup))
	b = append(b, t.unknownFields...)
	return endMember(b, body)
}

// decodeTask reads the message b into t.
func decodeTask(b []byte, t *Task) (memory int, err error) {
	return len(b), t.decode(bytes.Clone(b))
}

// decode reads the message b into t, which holds parts of b from then on.
func (t *Task) decode(b []byte) error {
	*t = Task{}
	for len(b) > 0 {
		f, err := nextField(b)
		if err != nil {
			return err
		}
		b = b[len(f.raw):]
		switch {
		case f.typ == protowire.BytesType && f.number == 4:
			t.Comm = f.text()
		case f.typ == protowire.BytesType && f.number == 5:
			t.ProcessComm = f.text()
		case f.typ != protowire.VarintType || !t.set(f.number, f.value):
			t.unknownFields = f.appendUnknown(t.unknownFields)
		}
	}
	if !isTime(t.Start) {
		return fmt.Errorf("its start: %w", errTime)
	}
	return nil
}

// set sets a numeric field. It returns false for other fields.
func (t *Task) set(field protowire.Number, v uint64) bool {
	switch field {
	case 1:
		t.Id = uint32(v)
	case 2:
		t.Tid = int32(v)
	case 3:
		t.Pid = int32(v)
	case 6:
		t.Ppid = int32(v)
	case 7:
		t.Start = int64(v)
	case 8:
		t.Flags = uint32(v)
	case 9:
		t.Continues = uint32(v)
	case 10:
		t.Command = uint32(v)
	case 11:
		t.NsTid = int32(v)
	case 12:
		t.NsPid = int32(v)
	case 13:
		t.Cgroup = uint32(v)
	default:
		return false
	}
	return true
}
