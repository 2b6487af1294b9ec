package records

import (
	"strconv"

	"wprof/format"
	"wprof/internal/bounded"
	"wprof/internal/byid"
	"wprof/internal/container"
)

// maxIdle is more than the CPUs of any machine: a stream can name CPUs of any number.
const maxIdle = 1 << 14

// tasks holds the tasks in records of the current section.
type tasks struct {
	r        *format.Reader
	first    int64
	texts    *Texts
	json     bool // Task.JSON is requested
	cgroups  bool // ... with the cgroup
	count    int64
	numbers  []uint32 // of the current section's tasks that have a number, by id; 0: none
	byID     byid.Table[*Task]
	idle     *bounded.Map[uint32, *Task]
	filtered *Task
	lost     *Task
}

func newTasks(r *format.Reader, first int64, texts *Texts, o *Options) tasks {
	t := tasks{r: r, first: first, texts: texts, json: o.JSON, cgroups: o.Cgroups, idle: bounded.NewMap[uint32, *Task](maxIdle)}
	t.filtered = t.standIn("<filtered>")
	t.lost = t.standIn("<lost>")
	return t
}

func (t *tasks) standIn(name string) *Task {
	return t.finish(&Task{TID: -1, Comm: name, PComm: Unknown})
}

// finish numbers a task and writes its object.
func (t *tasks) finish(k *Task) *Task {
	k.Number = t.count
	t.count++
	if !t.json {
		return k
	}
	k.JSON = appendTask(make([]byte, 0, 64+len(k.Comm)+len(k.PComm)), k)
	if t.cgroups {
		k.JSON = append(t.appendCgroup(k.JSON[:len(k.JSON)-1], k), '}')
	}
	return k
}

// cgroup returns the path of a task's cgroup; "": not known.
func (t *tasks) cgroup(k *Task) string {
	if k.cgroup == 0 {
		return ""
	}
	text := t.r.Text(k.cgroup)
	if text == nil || !container.IsPath(text.Text) {
		return ""
	}
	return t.texts.Clean(text.Text)
}

// appendCgroup appends the fields that Options.Cgroups adds, those that are known.
func (t *tasks) appendCgroup(b []byte, k *Task) []byte {
	if path := t.cgroup(k); path != "" {
		place := container.Of(path)
		for _, f := range [...]struct{ name, text string }{
			{"cgroup", path}, {"runtime", place.Runtime}, {"container", place.ID}, {"pod", place.Pod}, {"unit", place.Unit},
		} {
			if f.text != "" {
				b = AppendString(append(append(append(b, ",\""...), f.name...), "\":"...), f.text)
			}
		}
	}
	if k.NSPID != 0 {
		b = strconv.AppendInt(append(b, `,"ns_tid":`...), int64(k.NSTID), 10)
		b = strconv.AppendInt(append(b, `,"ns_pid":`...), int64(k.NSPID), 10)
	}
	return b
}

// appendTask appends a task as a JSON object, null for none.
func appendTask(b []byte, k *Task) []byte {
	if k == nil {
		return append(b, "null"...)
	}
	b = append(b, '{')
	if !k.Idle {
		b = append(strconv.AppendInt(append(b, `"tid":`...), int64(k.TID), 10), ',')
	}
	b = strconv.AppendInt(append(b, `"pid":`...), int64(k.PID), 10)
	b = AppendString(append(b, `,"comm":`...), k.Comm)
	b = AppendString(append(b, `,"pcomm":`...), k.PComm)
	return append(b, '}')
}

func (t *tasks) newSection() {
	t.byID.Clear()
	t.numbers = t.numbers[:0]
}

// of returns the task with an id. cpu distinguishes idle threads.
func (t *tasks) of(id format.TaskID, cpu uint32) *Task {
	k := t.byID.Get(uint32(id))
	if k == nil {
		k = t.find(id)
	}
	if k.Idle {
		return t.idleOn(cpu)
	}
	return k
}

func (t *tasks) find(id format.TaskID) *Task {
	d := t.r.Task(id)
	if d.IsLost() {
		return t.lost // not kept: its definition may still come
	}
	next := t.count
	number := t.number(id)
	if *number != 0 {
		t.count = int64(*number) - 1 // it was numbered before and dropped since
	}
	k := t.describe(d)
	if *number != 0 {
		t.count = next
	} else if t.count > next {
		*number = uint32(t.count)
	}
	t.byID.Put(uint32(id), k)
	return k
}

// maxNumbered bounds the ids whose numbers are kept. Writers use no larger ids.
const maxNumbered = 1 << 22

// number returns the place that holds the number of a task plus 1.
func (t *tasks) number(id format.TaskID) *uint32 {
	if id >= maxNumbered {
		return new(uint32)
	}
	for uint64(len(t.numbers)) <= uint64(id) {
		t.numbers = append(t.numbers, 0)
	}
	return &t.numbers[id]
}

func (t *tasks) describe(d *format.Task) *Task {
	has := func(flag format.TaskFlag) bool { return d.Flags&uint32(flag) != 0 }
	switch {
	case d.Tid == 0 || has(format.TaskFlag_TASK_FLAG_IDLE):
		return &Task{Idle: true}
	case d.Pid == 0 || has(format.TaskFlag_TASK_FLAG_UNKNOWN):
		return t.finish(&Task{TID: d.Tid, Comm: "TID " + strconv.Itoa(int(d.Tid)), PComm: Unknown})
	}
	k := &Task{
		TID: d.Tid, PID: d.Pid, Comm: t.texts.view(d.Comm), PComm: t.texts.view(d.ProcessComm), PPID: d.Ppid,
		Start: d.Start - t.first, Kernel: has(format.TaskFlag_TASK_FLAG_KTHREAD), command: d.Command, cgroup: d.Cgroup,
		NSTID: d.NsTid, NSPID: d.NsPid,
	}
	if k.PComm == "" {
		k.PComm = Unknown
	}
	return t.finish(k)
}

// idleOn returns the idle thread of a CPU. All share one definition.
func (t *tasks) idleOn(cpu uint32) *Task {
	if k, found := t.idle.Get(cpu); found {
		return k
	}
	name := "swapper/" + strconv.FormatUint(uint64(cpu), 10)
	k := t.finish(&Task{Comm: name, PComm: name, Idle: true, Kernel: true})
	t.idle.Put(cpu, k)
	return k
}
