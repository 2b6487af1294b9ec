package chrome

import (
	"bytes"
	"strconv"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/tracks"
)

// task is a thread under one name, with the texts that are written for it.
type task struct {
	tid, pid int32
	idle     bool
	unknown  bool // its process is unknown
	kernel   bool
	comm     string
	process  string // name of its process
	command  string // its command line; "": not known
	name     []byte // comm as a JSON string
	label    []byte // comm and tid without quotes, for use within a JSON string
	onCPU    []byte // its slices on a CPU: the text between "cat" and "ts", and from "dur" on
	onCPUEnd []byte
	row      *track // nil: not looked up
}

// task returns the texts of a task.
func (c *conversion) task(of *tracks.Task) *task {
	k, known := of.Own.(*task)
	if !known {
		k = c.newTask(of)
		of.Own = k
	}
	return k
}

func (c *conversion) newTask(of *tracks.Task) *task {
	d := of.Def
	has := func(flag format.TaskFlag) bool { return d.Flags&uint32(flag) != 0 }
	k := &task{tid: d.Tid, pid: d.Pid, kernel: has(format.TaskFlag_TASK_FLAG_KTHREAD)}
	switch {
	case of.Idle:
		k.idle, k.comm = true, "idle"
	case d.Pid == 0 || has(format.TaskFlag_TASK_FLAG_UNKNOWN):
		k.unknown, k.pid, k.comm, k.process = true, unknownPID, "TID "+strconv.Itoa(int(d.Tid)), records.Unknown
	default:
		k.comm, k.process = c.texts.Name(d.Comm), c.texts.Name(d.ProcessComm)
		c.command(k, of.Command)
		if in := of.In.Label(); in != "" {
			k.process += " (" + in + ")"
		}
	}
	k.finish()
	return k
}

// command names a process by the first word of its command line, where that is known.
func (c *conversion) command(k *task, of *format.Command) {
	if of == nil {
		return
	}
	args := bytes.TrimRight(of.Args, "\x00")
	first, _, _ := bytes.Cut(args, []byte{0})
	if len(first) == 0 {
		return
	}
	k.process = c.texts.Clip(first)
	k.command = c.texts.Clip(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))
}

// finish makes the texts that every slice needs.
func (k *task) finish() {
	k.name = records.AppendString(nil, k.comm)
	k.label = append([]byte{}, k.name[1:len(k.name)-1]...)
	if k.idle {
		return
	}
	k.label = strconv.AppendInt(append(k.label, ' '), int64(k.tid), 10)
	k.onCPU = append(append([]byte(`"name":`), k.name...), `,"pid":4194305,"tid":`...)
	k.onCPUEnd = strconv.AppendInt([]byte(`,"args":{"tid":`), int64(k.tid), 10)
	k.onCPUEnd = strconv.AppendInt(append(k.onCPUEnd, `,"pid":`...), int64(k.pid), 10)
}
