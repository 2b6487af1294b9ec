package columns

import (
	"github.com/parquet-go/parquet-go"

	"wprof/internal/records"
)

// taskGroup is the group of columns of a task. get returns the task of a row; nil: there is none, if it is optional.
func taskGroup(name string, isOptional, isRenamed bool, get func(*event) *records.Task) field[event] {
	known := taskIndices{get: get}
	fields := []field[event]{
		{name: "tid", node: parquet.Optional(parquet.Int(32)), leaves: []leaf[event]{{width: taskColumns, put: known.put}}},
		{name: "pid", node: parquet.Int(32)}, {name: "comm", node: textNode()}, {name: "pcomm", node: textNode()},
	}
	for i := 1; isOptional && i < taskColumns; i++ {
		fields[i].node = parquet.Optional(fields[i].node)
	}
	if isRenamed {
		fields = append(fields, text("old_comm", func(e *event) string { return e.Text }))
	}
	return group(name, fields...)
}

// Columns of a task.
const (
	taskTID = iota
	taskPID
	taskComm
	taskPComm
	taskColumns
)

// taskIndices keeps for some tasks the indices of their values in the dictionaries of the columns of a group.
type taskIndices struct {
	get    func(*event) *records.Task
	resets int // of the columns
	recent [64]struct {
		task    *records.Task
		indices [taskColumns]int32
	}
}

func (k *taskIndices) put(to []*column, rows []event) {
	columns := (*[taskColumns]*column)(to)
	isIndexed := k.isIndexed(columns)
	for i := range rows {
		t := k.get(&rows[i])
		switch {
		case t == nil:
			for _, c := range columns {
				c.null()
			}
		case isIndexed:
			k.putIndices(columns, t)
		default:
			putTask(columns, t)
		}
	}
}

// isIndexed reports whether all columns have dictionaries in use.
func (k *taskIndices) isIndexed(columns *[taskColumns]*column) bool {
	resets, isIndexed := 0, true
	for _, c := range columns {
		resets += c.resets
		isIndexed = isIndexed && !c.isPlain
	}
	if resets != k.resets {
		clear(k.recent[:])
		k.resets = resets
	}
	return isIndexed
}

func (k *taskIndices) putIndices(columns *[taskColumns]*column, t *records.Task) {
	r := &k.recent[uint64(t.Number)%uint64(len(k.recent))]
	if r.task != t {
		r.task = t
		r.indices = [taskColumns]int32{
			columns[taskTID].ofNumbers.of(t.TID), columns[taskPID].ofNumbers.of(t.PID),
			columns[taskComm].ofTexts.of(t.Comm), columns[taskPComm].ofTexts.of(t.PComm),
		}
	}
	for i, c := range columns {
		if i == taskTID && t.Idle {
			c.null()
			continue
		}
		c.present()
		c.shorts = append(c.shorts, r.indices[i])
	}
}

// putTask adds a task; without a thread id for idle threads.
func putTask(columns *[taskColumns]*column, t *records.Task) {
	if t.Idle {
		columns[taskTID].null()
	} else {
		columns[taskTID].short(t.TID)
	}
	columns[taskPID].short(t.PID)
	columns[taskComm].text(t.Comm)
	columns[taskPComm].text(t.PComm)
}
