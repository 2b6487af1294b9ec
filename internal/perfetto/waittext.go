package perfetto

import (
	"wprof/internal/printable"
	"wprof/internal/tracks"
)

// waitText holds the ids of a wait's texts, valid in one generation of the sequence; 0: there is none.
type waitText struct {
	generation        uint32
	name              uint64 // of its slice
	class, file, peer uint64
}

// waitOf returns the ids of a wait's texts, which it describes if they are new.
func (w *view) waitOf(of *tracks.Wait) *waitText {
	if known, found := of.Own.(*waitText); found && known.generation == w.seq.generation {
		return known
	}
	t := &waitText{generation: w.seq.generation, name: w.name(of.Name)}
	for _, one := range [...]struct {
		id   *uint64
		text string
	}{{&t.class, of.ClassName()}, {&t.file, of.File()}, {&t.peer, of.Peer()}} {
		if one.text != "" {
			*one.id = w.text(printable.Text(one.text))
		}
	}
	of.Own = t
	return t
}

// annotateWait gives the current event what a thread waited for.
func (w *view) annotateWait(of *tracks.Wait, t *waitText) {
	for _, one := range [...]struct {
		name annotation
		text uint64
	}{{annWaitClass, t.class}, {annWaitFile, t.file}, {annWaitPeer, t.peer}} {
		if one.text != 0 {
			w.seq.value(one.name, one.text)
		}
	}
	d := of.Def
	if d.GetHasFd() {
		w.seq.signed(annWaitFD, int64(d.Fd))
	}
	if d.GetIsFutex() {
		w.seq.annotate(annFutex, annotationPtr, d.Futex) // the interface shows it as the slice's name has it: 0x7f…
	}
	if owner := d.GetOwner(); owner != 0 {
		w.seq.signed(annLockOwner, int64(owner))
	}
}
