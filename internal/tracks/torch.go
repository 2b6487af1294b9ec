package tracks

import (
	"wprof/format"
	"wprof/internal/sources"
)

// Link is how a slice belongs to another one: from the first with its ID that leads, an arrow leads to the next that does not.
type Link struct {
	ID    uint64 // 0: it does not belong to another one
	Leads bool
}

// torchFields are the fields of operators of PyTorch that link backward functions with their forward ones.
type torchFields struct{ scope, sequence, forward int }

// newTorchFields returns the fields of a type; nil: its events are no operators of PyTorch.
func newTorchFields(def *format.EventType) *torchFields {
	if string(def.Group) != sources.Torch {
		return nil
	}
	t := torchFields{-1, -1, -1}
	for n, f := range def.Fields {
		switch {
		case f.List:
		case string(f.Name) == "scope" && f.Is(format.ValueType_VALUE_ENUM):
			t.scope = n
		case string(f.Name) == "sequence" && f.Is(format.ValueType_VALUE_INT):
			t.sequence = n
		case string(f.Name) == "forward_thread" && f.Is(format.ValueType_VALUE_TASK):
			t.forward = n
		}
	}
	if min(t.scope, t.sequence, t.forward) < 0 {
		return nil
	}
	return &t
}

// link links a forward function with its backward one by PyTorch's number and the thread that it belongs to: that of the forward one.
func (d *typedItems) link(t *drawnType, e *format.Event) Link {
	if t.torch == nil {
		return Link{}
	}
	sequence := &d.values[t.torch.sequence]
	isBackward := d.values[t.torch.scope].Number == sources.TorchBackward
	of := e.Task
	if isBackward {
		of = format.TaskID(d.values[t.torch.forward].ID())
	}
	thread := d.task(of)
	if sequence.IsUnknown() || thread == nil || !thread.IsThread() {
		return Link{}
	}
	return Link{ID: uint64(thread.Def.Tid)<<32 | uint64(uint32(sequence.Number)), Leads: !isBackward}
}
