package format

// LostTask is what a filter writes for a thread whose definition was lost to damage: only the id is left. Its tid is
// one that no thread has, and differs from those of other lost ones.
func LostTask(id TaskID) *Task {
	return &Task{
		Id: uint32(id), Tid: -1, Start: -int64(id), Comm: []byte("(lost)"), ProcessComm: []byte("(lost)"),
		Flags: uint32(TaskFlag_TASK_FLAG_UNKNOWN),
	}
}

// IsLost says whether nothing but an id is known of a thread.
func (t *Task) IsLost() bool { return t == nil || t.Tid < 0 }
