package waits

import (
	"strings"

	"wprof/format"
)

// idle returns whether a wait of a class is for work, as far as it alone shows that: a thread that waits for room in a queue or a pipe, or
// for the answer to its own request, has work.
func (r *rules) idle(class Class, f *Facts) Idle {
	switch {
	case f.State&format.StateIdle != 0, f.KernelThread && class == KernelWork:
		return Always
	case class == Receive && IsClient(f.Wait):
		return Never
	case (class == Pipe || class == Terminal) && r.calls[string(f.Wait.GetCall())].disk == DiskWrite:
		return Never
	case class == Child && f.Wait.GetIsFutex(): // a thread to be joined
		return IfUsual
	case class == Condition && waitsForRoom(f.User):
		return Never
	case class == Condition && f.Wait.GetIsFutex() && isSemaphore(f.User):
		return IfNotHeld
	}
	return r.classes[class].Idle
}

// waitsForRoom reports whether a function that waits for another thread's signal puts something into a queue: by its name, since a wait for
// room and a wait for work make the same calls.
func waitsForRoom(user []string) bool {
	for i, name := range user {
		if i >= userFrames {
			return false
		}
		name = strings.ToLower(name)
		for _, word := range [...]string{"push", "enqueue", "produce", "chansend", "offer", "queue_put", "::put", ".put", "put_item"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
}
