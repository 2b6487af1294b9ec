package tracks

import (
	"wprof/format"
	"wprof/internal/container"
)

// maxTID is the highest tid that Linux gives: PID_MAX_LIMIT in include/linux/threads.h. Encoders give higher ones to tracks that
// are no threads.
const maxTID = 1 << 22

// Task is a thread under one name, as one definition of the stream has it. A thread has another Task after each rename, exec
// and move to another cgroup, and in each section.
type Task struct {
	Def     *format.Task    // never nil
	Command *format.Command // the command line of its process; nil: not known
	Cgroup  string          // the path of its cgroup; "": not known
	In      container.Place // what that shows
	Idle    bool            // it is the idle thread, of which all CPUs share one definition
	Own     any             // for the encoder
}

// IsThread reports whether it is a thread: neither idle nor one with a tid that Linux does not give.
func (t *Task) IsThread() bool { return !t.Idle && t.Def.Tid > 0 && t.Def.Tid <= maxTID }

// IsSame reports whether both are the same thread.
func (t *Task) IsSame(other *Task) bool {
	return t.Def.Tid == other.Def.Tid && t.Def.Start == other.Def.Start
}
