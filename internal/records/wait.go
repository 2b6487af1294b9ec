package records

import (
	"wprof/format"
	"wprof/internal/waits"
)

// classNames are the words for what threads wait for, by class.
func classNames() []string {
	var names []string
	for _, c := range waits.Classes() {
		names = append(names, c.Name)
	}
	return names
}

// Slots of a switch's fields in Record.Labels.
const (
	labelCall = iota
	labelFile
	labelPeer
)

// maxWaits bounds the waits whose texts are kept.
const maxWaits = 1 << 14

// fillWait sets the fields on what the thread waited for that a switch brings back.
func (m *Maker) fillWait(r *Record, v format.SwitchEvent) {
	stack, _ := v.Stack()
	id, _ := v.Wait()
	state, known := v.NextState()
	switch {
	case known && state.IsRunnable() && state&format.StateThrottled != 0:
		r.Values[slotClass] = int64(waits.Throttled)
		r.Has |= 1 << SwitchWaitClass
	case known && state&format.StatePreempted != 0:
		r.Values[slotClass] = int64(waits.Preempted)
		r.Has |= 1 << SwitchWaitClass
	case stack != 0 || id != 0 || state&format.StateIOWait != 0:
		r.Values[slotClass] = int64(m.classes.Blocked(stack, id, state, r.Tasks[1].Kernel).Class)
		r.Has |= 1 << SwitchWaitClass
	}
	w := m.r.Wait(id)
	if w == nil {
		return
	}
	r.Labels = m.waitLabels(id, w)
	for slot, field := range [maxLabels]int{SwitchWaitCall, SwitchWaitFile, SwitchWaitPeer} {
		if r.Labels[slot] != "" {
			r.Has |= 1 << field
		}
	}
	if w.HasFd {
		r.Values[slotFD] = int64(w.Fd)
		r.Has |= 1 << SwitchWaitFD
	}
	if w.IsFutex {
		r.Values[slotFutex] = int64(w.Futex)
		r.Has |= 1 << SwitchFutex
	}
	if w.Owner != 0 {
		r.Values[slotOwner] = int64(w.Owner)
		r.Has |= 1 << SwitchLockOwner
	}
}

// waitLabels returns the texts of a wait.
func (m *Maker) waitLabels(id format.WaitID, w *format.Wait) *Labels {
	if known, found := m.waits.Get(id); found {
		return known
	}
	labels := &Labels{
		labelCall: m.texts.Clean(w.Call), labelFile: m.texts.Clean([]byte(waits.File(w))), labelPeer: m.texts.Clean([]byte(waits.Peer(w))),
	}
	m.waits.Put(id, labels)
	return labels
}
