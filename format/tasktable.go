package format

// taskTable finds task definitions by id. Writers number them from 1 without wide gaps, so a slice does; an id far
// beyond the number of definitions goes to a map, so that nobody can make a reader allocate by naming a large one.
type taskTable struct {
	dense   []*Task
	sparse  map[TaskID]*Task
	count   int
	reserve []Task // allocated together and handed out one by one
}

// next is room for a task, to be filled for [taskTable.add]. It stays the same until a task is entered.
func (t *taskTable) next() *Task {
	if len(t.reserve) == 0 {
		t.reserve = make([]Task, min(64, t.count+4))
	}
	return &t.reserve[0]
}

// add enters the task that next returned. A definition never changes, so the first one of an id stays.
func (t *taskTable) add() {
	task := &t.reserve[0]
	id := TaskID(task.Id)
	if id == 0 || t.get(id) != nil {
		return
	}
	t.reserve = t.reserve[1:]
	t.count++
	if int64(id) > 4*int64(t.count)+1024 {
		if t.sparse == nil {
			t.sparse = make(map[TaskID]*Task)
		}
		t.sparse[id] = task
		return
	}
	for int(id) >= len(t.dense) {
		t.dense = append(t.dense, nil)
	}
	t.dense[id] = task
}

func (t *taskTable) get(id TaskID) *Task {
	if int(id) < len(t.dense) {
		if task := t.dense[id]; task != nil {
			return task
		}
	}
	if t.sparse == nil {
		return nil
	}
	return t.sparse[id]
}
