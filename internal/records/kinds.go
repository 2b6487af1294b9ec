package records

import (
	"cmp"
	"slices"

	"wprof/format"
)

// Version is the version of the schema. A new field or kind raises the second number, any other change the first.
const Version = "3.9"

// Kind is a kind of record. The numbers are in the order of [Kinds] and mean nothing elsewhere; 0 is none.
type Kind uint8

// The kinds; [Kinds] says what each means and which fields it has.
const (
	Switch Kind = iota + 1
	Waking
	WakeupNew
	Timer
	PMUEvent
	HardIRQ
	SoftIRQ
	WorkQueue
	IPISend
	IPI
	Fork
	Exec
	TaskRename
	TaskExit
	TaskFree
	Lost
	Gap
	Typed
	ProbeInstant
	ProbeEntry
	ProbeExit
)

// FieldType is the type of a field, and determines where [Record] stores it.
type FieldType uint8

const (
	TypeInstant  FieldType = iota + 1 // ns from the opening of the first window, in Values
	TypeDuration                      // ns, in Values
	TypeInt                           // in Values
	TypeStack                         // id of a stack, in Values
	TypeWord                          // index in Field.Words, in Values
	TypeText                          // any text, in Text; at most one a kind
	TypeTask                          // in Tasks
	TypeRenamed                       // a task with its old name, in Tasks and Text
	TypeNumbers                       // one for each of the header's pmus, in Numbers
	TypeLabel                         // a text that a definition has, in Labels
	TypeArgs                          // the fields of an event type that a section defines, in Args
)

// Field is one field of a kind, in addition to those that every record has.
type Field struct {
	Name  string
	Type  FieldType
	Opt   bool     // it may be absent
	Short bool     // of TypeInt: it fits 32 bits, as CPU numbers and thread ids do
	Words []string // of TypeWord: all possible values
	Doc   string
	Slot  int // index in Values, Tasks or Labels
}

// KindInfo describes a kind.
type KindInfo struct {
	Kind      Kind
	Name      string      // in the field t, and of the file of columns; see [KindInfo.EventName]
	Source    format.Kind // the kind of event from which it is made; 0: the recorder has no source for it
	Synthetic bool        // made from the opening and closing of windows, not from an event
	Probe     bool        // made from typed events of user-defined probes
	Sampled   bool        // made from typed events that are samples of performance counters
	Extension bool        // not part of the schema of other tools' JSON
	Fields    []Field
	Doc       string

	plain []plainField // parallel to Fields; nil: the kind has a row in [table]
}

// EventName returns the name of the kind of event in all tools, which differs from that in the schema for a few.
func (k *KindInfo) EventName() string {
	if k.Source != 0 {
		return k.Source.String()
	}
	return k.Name
}

// IsAvailable reports whether captures can have records of the kind.
func (k *KindInfo) IsAvailable() bool { return k.Source != 0 || k.Synthetic || k.Probe || k.Sampled }

// HasTypes reports whether the kind's events are of types that the recording defines.
func (k *KindInfo) HasTypes() bool { return k.Kind == Typed || k.Probe }

// Indices of the fields in Record.Has; a test holds them to the table.
const (
	SwitchPrev = iota
	SwitchNext
	SwitchPrevState
	SwitchPrevPrio
	SwitchNextPrio
	SwitchWakingTime
	SwitchWakingReason
	SwitchWaker
	SwitchWakingCPU
	SwitchWakingContext
	SwitchWakingInterrupt
	SwitchOffCPU
	SwitchNextState
	SwitchOffCPUStack
	SwitchWaitClass
	SwitchWaitCall
	SwitchWaitFD
	SwitchWaitFile
	SwitchWaitPeer
	SwitchFutex
	SwitchLockOwner
	SwitchDelay
	SwitchChain
	SwitchInterrupts
	SwitchPMUs
)

const (
	WakingWaker = iota
	WakingWakee
	WakingStack
	WakingContext
)

const (
	TimerTask = iota
	TimerStack
	TimerCounters
)

const (
	PMUTask = iota
	PMUName
	PMUPeriod
	PMUStack
	PMUCounters
)

const (
	ForkTask = iota
	ForkChild
)

const (
	ExecTask = iota
	ExecFilename
	ExecOldTID
)

// Fields of TaskExit.
const (
	ExitTask = iota
	ExitCode
	ExitSignal
)

// LifeTask is the task of the kinds without other fields.
const LifeTask = 0

const (
	LostDuration = iota
	LostStart
	LostCount
	LostCause
	LostWhat
	LostType
	LostOpen
)

const (
	GapDuration = iota
	GapStart
)

const (
	TypedName = iota
	TypedGroup
	TypedTask
	TypedPhase
	TypedEnds
	TypedKey
	TypedDuration
	TypedStart
	TypedOpen
	TypedCounters
	TypedArgs
)

// Fields of the kinds of probes. The values, of all but exits without the span's, come last.
const (
	ProbeID = iota
	ProbeName
	ProbeTask
	ProbeStack
	ProbeDuration
	ProbeStart
	ProbeOpen
	ProbeExitArgs

	ProbeArgs = ProbeDuration
)

// Kinds returns the table of kinds, in the order of their numbers. Records of kinds of events without a row in [table] have the
// fields of the events; these kinds come last, unless a row without a source has their name, which they replace.
func Kinds() []KindInfo { return kindsOf(format.Kinds()) }

func kindsOf(events []format.KindInfo) []KindInfo {
	kinds := table()
	for _, k := range events {
		name := cmp.Or(k.JSON, k.Name)
		if row := slices.IndexFunc(kinds, func(have KindInfo) bool { return have.Source == k.Kind }); row >= 0 {
			kinds[row].Name = name
		} else if row := slices.IndexFunc(kinds, func(have KindInfo) bool { return !have.IsAvailable() && have.Name == name }); row >= 0 {
			kinds[row] = plainKind(&k)
		} else if k.Follows == 0 {
			kinds = append(kinds, plainKind(&k))
		}
	}
	for i := range kinds {
		kinds[i].Kind = Kind(i + 1)
		assignSlots(kinds[i].Fields)
	}
	return kinds
}

// assignSlots assigns slots to fields.
func assignSlots(fields []Field) {
	values, tasks, labels := 0, 0, 0
	for i := range fields {
		switch f := &fields[i]; f.Type {
		case TypeTask, TypeRenamed:
			f.Slot, tasks = tasks, tasks+1
		case TypeLabel:
			f.Slot, labels = labels, labels+1
		case TypeText, TypeNumbers, TypeArgs:
		default:
			f.Slot, values = values, values+1
		}
	}
}

func table() []KindInfo {
	return []KindInfo{
		{
			Source: format.KindSwitch,
			Doc:    "A CPU switches from one thread to another.",
			Fields: []Field{
				{Name: "prev", Type: TypeTask, Doc: "the thread that leaves the CPU"},
				{Name: "next", Type: TypeTask, Doc: "the thread that takes it over"},
				{Name: "prev_state", Type: TypeWord, Words: StateNames(), Doc: "the state in which prev leaves"},
				{Name: "prev_prio", Type: TypeInt, Short: true, Doc: "kernel priority of prev: 0-99 real time, 100-139 normal, -1 deadline"},
				{Name: "next_prio", Type: TypeInt, Short: true, Doc: "kernel priority of next"},
				{Name: "waking_ts", Type: TypeInstant, Opt: true, Doc: "since when next was runnable: the time of its wakeup or preemption; absent if before the window. A thread that was woken while it went to sleep is runnable from when it left its CPU, which is later"},
				{Name: "waking_reason", Type: TypeWord, Words: ReasonNames(), Opt: true, Doc: "why next was runnable; preempted also where it called the scheduler itself and next_state is runnable; absent for threads that were runnable when the window opened"},
				{Name: "waker", Type: TypeTask, Opt: true, Doc: "the thread that woke next, or preempted it"},
				{Name: "waking_cpu", Type: TypeInt, Short: true, Opt: true, Doc: "the CPU where that happened"},
				{Name: "waking_context", Type: TypeWord, Words: ContextNames(), Opt: true, Doc: "interrupt: an interrupt woke next, and waker is the interrupted thread; absent if a thread woke it, and where the recorder cannot detect interrupts"},
				{Name: "waking_interrupt", Type: TypeText, Opt: true, Doc: "that interrupt, as softirq:NET_RX; absent if interrupts were not recorded, and if it had not ended when next was on another CPU already"},
				{Name: "offcpu_dur", Type: TypeDuration, Opt: true, Doc: "off-CPU time of next; from the start of the window if it left its CPU before. Where next is the idle thread, how long the CPU was not idle"},
				{Name: "next_state", Type: TypeWord, Words: StateNames(), Opt: true, Doc: "the state in which next left its CPU before"},
				{Name: "offcpu_stack_id", Type: TypeStack, Opt: true, Doc: "the stack with which next left its CPU; with -e prev-stack, and in the JSON of the C program wprof, the one with which prev leaves it"},
				{Name: "wait_class", Type: TypeWord, Words: classNames(), Opt: true, Doc: "what next waited for; absent if nothing is known of it, as for waits below --offcpu-min that are not for I/O"},
				{Name: "wait_call", Type: TypeLabel, Opt: true, Doc: "the system call in which next waited; absent if it was in none, or it was not recorded"},
				{Name: "wait_fd", Type: TypeInt, Short: true, Opt: true, Doc: "the descriptor for which it waited"},
				{Name: "wait_file", Type: TypeLabel, Opt: true, Doc: "what the descriptor is: the last names of a file's path, or socket, pipe, eventfd, epoll, …"},
				{Name: "wait_peer", Type: TypeLabel, Opt: true, Doc: "of a socket: the other end, as 10.0.0.3:5432 or the path of a Unix socket; of one that listens, its own address"},
				{Name: "futex", Type: TypeInt, Opt: true, Doc: "address of the futex for which it waited, in the memory of its process"},
				{Name: "lock_owner", Type: TypeInt, Short: true, Opt: true, Doc: "tid of the thread that owned the lock when next began to wait, as the lock itself said"},
				{Name: "compound_delay", Type: TypeDuration, Opt: true, Doc: "how long next waited for a CPU, plus the compound delay that its waker had when it woke next; after a preemption, plus the one that next had before. Parts of it may lie before the window. A chain begins anew at a waker that is not known, or hidden"},
				{Name: "compound_chain_len", Type: TypeInt, Opt: true, Doc: "number of wakeups in compound_delay"},
				{Name: "interrupts_dur", Type: TypeDuration, Opt: true, Doc: "how long interrupts ran while prev was on the CPU, since the opening of the window; absent if none did that was recorded"},
				{Name: "pmus", Type: TypeNumbers, Opt: true, Doc: "counted over prev's time on the CPU; null: not known. Absent if its beginning was not seen, as at the first switch of a CPU in a window, or in a range that a filter kept"},
			},
		},
		{
			Source: format.KindWaking, Doc: "A thread is woken, and runnable from then on.",
			Fields: append(wakingFields("the thread running on the CPU of the wakeup, also if an interrupt wakes", "the thread that is woken"),
				Field{Name: "waking_context", Type: TypeWord, Words: ContextNames(), Opt: true, Doc: "interrupt: an interrupt wakes wakee, and waker is the interrupted thread; absent if a thread wakes it, and where the recorder cannot detect interrupts"}),
		},
		{
			Source: format.KindWakeupNew, Doc: "A new thread becomes runnable for the first time.",
			Fields: wakingFields("the thread that created it", "the new thread"),
		},
		{
			Source: format.KindSample, Doc: "A sample of what a CPU does. Idle CPUs are not sampled.",
			Fields: []Field{
				{Name: "task", Type: TypeTask, Doc: "the thread that runs"},
				{Name: "stack_id", Type: TypeStack, Opt: true, Doc: "stack of the thread; absent if none was taken"},
				sampleCountsField(),
			},
		},
		{
			Name: "pmu_event", Sampled: true, Doc: "A sample of an event of performance counters (wprof-record -Spmu), or a hit of a tracepoint that is sampled so. What idle threads cause is not sampled.",
			Fields: []Field{
				{Name: "task", Type: TypeTask, Doc: "the thread that runs"},
				{Name: "pmu", Type: TypeText, Doc: "the event's name"},
				{Name: "sample_period", Type: TypeInt, Opt: true, Doc: "number of events that the sample stands for: those since the one before"},
				{Name: "stack_id", Type: TypeStack, Opt: true, Doc: "stack of the thread; absent if none was taken"},
				sampleCountsField(),
			},
		},
		{
			Name: "hardirq", Doc: "An interrupt was handled.",
			Fields: spanFields("the thread that was interrupted",
				Field{Name: "irq", Type: TypeInt, Short: true, Doc: "its number"},
				Field{Name: "action", Type: TypeText, Doc: "the handler's name"},
				Field{Name: "pmus", Type: TypeNumbers, Opt: true, Doc: "counted during it"}),
		},
		{
			Name: "softirq", Doc: "A soft interrupt was handled.",
			Fields: spanFields("the thread that was interrupted", Field{Name: "action", Type: TypeText, Doc: "its name: timer, rcu, net_rx, …"}),
		},
		{
			Name: "wq", Doc: "A work item of a work queue was done.",
			Fields: spanFields("the worker", Field{Name: "desc", Type: TypeText, Doc: "the function's name"}),
		},
		{
			Name: "ipi_send", Doc: "A CPU sends an interrupt to another one.",
			Fields: []Field{
				{Name: "task", Type: TypeTask, Doc: "the thread that sends"},
				{Name: "kind", Type: TypeText, Doc: "what it is for"},
				{Name: "target_cpu", Type: TypeInt, Short: true, Opt: true, Doc: "the target CPU; absent if there are several"},
			},
		},
		{
			Name: "ipi", Doc: "An interrupt from another CPU was handled.",
			Fields: spanFields("the thread that was interrupted",
				Field{Name: "kind", Type: TypeText, Doc: "what it is for"},
				Field{Name: "sender_cpu", Type: TypeInt, Short: true, Opt: true, Doc: "the sending CPU"},
				Field{Name: "ipi_delay", Type: TypeDuration, Opt: true, Doc: "time from sending to the start of handling"}),
		},
		{
			Source: format.KindFork, Doc: "A thread or process is created.",
			Fields: []Field{
				{Name: "task", Type: TypeTask, Doc: "the thread that forks"},
				{Name: "child", Type: TypeTask, Doc: "the new thread"},
			},
		},
		{
			Source: format.KindExec, Doc: "A process runs a new program.",
			Fields: []Field{
				{Name: "task", Type: TypeTask, Doc: "the thread, under its new name"},
				{Name: "filename", Type: TypeText, Doc: "the path passed to exec"},
				{Name: "old_tid", Type: TypeInt, Short: true, Opt: true, Doc: "its thread id before, if another thread than the leader called exec"},
			},
		},
		{
			Source: format.KindRename, Doc: "A thread changes its name.",
			Fields: []Field{{Name: "task", Type: TypeRenamed, Doc: "the thread under its new name, with old_comm, its old name"}},
		},
		{
			Source: format.KindExit, Doc: "A thread ends; it still runs until its last switch.",
			Fields: []Field{
				{Name: "task", Type: TypeTask, Doc: "the thread"},
				{Name: "exit_code", Type: TypeInt, Short: true, Opt: true, Doc: "exit status of the thread, or that of exit_group if this ended it; absent if a signal killed it"},
				{Name: "exit_signal", Type: TypeInt, Short: true, Opt: true, Doc: "number of the signal that killed it; absent if none did"},
			},
		},
		{
			Source: format.KindFree, Doc: "The kernel frees a thread; its thread id can be reused.",
			Fields: []Field{{Name: "task", Type: TypeTask, Doc: "the thread"}},
		},
		{
			Source: format.KindLost, Extension: true, Doc: "Events are missing. cpu is absent if they may be missing on any CPU.",
			Fields: []Field{
				{Name: "dur", Type: TypeDuration, Doc: "the time in which they were lost"},
				{Name: "start_ts", Type: TypeInstant, Opt: true, Doc: "when the loss may have begun; absent if before the window"},
				{Name: "count", Type: TypeInt, Opt: true, Doc: "number of lost events; absent if not known"},
				{Name: "cause", Type: TypeWord, Words: causeNames(), Doc: "the cause"},
				{Name: "what", Type: TypeWord, Words: eventNames(), Opt: true, Doc: "the kind of event, as in wprof-info; absent: any"},
				{Name: "type", Type: TypeText, Opt: true, Doc: "of typed events: name of their type, or of its group; absent if that is not known"},
				openField(),
			},
		},
		{
			Name: "gap", Synthetic: true, Extension: true, Doc: "In a capture with several recordings: the time between the closing of one window and the opening of the next one, at ts. It has no cpu.",
			Fields: []Field{
				{Name: "dur", Type: TypeDuration, Doc: "time between the two windows"},
				{Name: "start_ts", Type: TypeInstant, Doc: "when the earlier window closed"},
			},
		},
		{
			Source: format.KindTyped, Extension: true, Doc: "An event of a type that the recording defines. cpu is absent if the event is not about one CPU.",
			Fields: []Field{
				{Name: "name", Type: TypeText, Doc: "name of the type; (lost) if its definition was lost"},
				{Name: "group", Type: TypeLabel, Opt: true, Doc: "group of the type: what it comes from, such as a probe or a library; absent if it has none"},
				{Name: "task", Type: TypeTask, Opt: true, Doc: "the thread; absent if there is none"},
				{Name: "phase", Type: TypeWord, Words: []string{"begin", "end"}, Opt: true, Doc: "whether the event begins or ends a span; absent for others. An end belongs to the latest begin before it, of the type in ends, that has the same value in the field key, or without key, the same thread"},
				{Name: "ends", Type: TypeLabel, Opt: true, Doc: "of an end: name of the type of its begin; absent if the definition of that type was lost"},
				{Name: "key", Type: TypeLabel, Opt: true, Doc: "of a begin or an end: name of the field in args that pairs them"},
				{Name: "dur", Type: TypeDuration, Opt: true, Doc: "duration of a span"},
				{Name: "start_ts", Type: TypeInstant, Opt: true, Doc: "start of a span; absent if before the window"},
				openField(),
				{Name: "pmus", Type: TypeNumbers, Opt: true, Doc: "of an interrupt or a work item: counted within it; null: not known"},
				{Name: "args", Type: TypeArgs, Doc: "values by field name; threads as task objects, stacks as ids, null for no thread or stack, for a number that is not known, and for what could not be read; bytes as hexadecimal digits, addresses and other numbers that are shown in hexadecimal as texts (0x1f), times like ts, durations like dur, enumerations by name, lists as arrays; beyond 256 KiB of texts in an event, texts are \"(left out)\""},
			},
		},
		{Name: "utrace_instant", Probe: true, Doc: "A user-defined probe was hit. Of a probe that counts in the kernel: what it has counted of one key in the interval that ends there; its args have the key, events, sum, buckets (how many events had an amount below 1, then below 2, 4, 8 and so on), and the length of the interval.", Fields: probeFields("the thread that hit it")},
		{
			Name: "utrace_entry", Probe: true, Doc: "A span of a user-defined probe begins. Its utrace_exit repeats the values.",
			Fields: probeFields("the thread in which it begins"),
		},
		{
			Name: "utrace_exit", Probe: true, Doc: "A span of a user-defined probe ends.",
			Fields: probeFields("the thread in which it ends; an argument has the one in which it began, if that may be another",
				Field{Name: "dur", Type: TypeDuration, Doc: "duration"},
				Field{Name: "start_ts", Type: TypeInstant, Opt: true, Doc: "start; absent if before the window"},
				openField()),
		},
	}
}

// probeFields returns the fields of a kind of events of probes.
func probeFields(task string, fields ...Field) []Field {
	all := []Field{
		{Name: "utrace_id", Type: TypeLabel, Doc: "id of the probe"},
		{Name: "name", Type: TypeText, Doc: "name of the event: by the template of the probe's definition, or what it is attached to"},
		{Name: "task", Type: TypeTask, Opt: true, Doc: task + "; absent if there is none"},
		{Name: "stack_id", Type: TypeStack, Opt: true, Doc: "stack of the thread; absent if none was taken"},
	}
	return append(append(all, fields...), Field{Name: "args", Type: TypeArgs, Doc: "values by name, as in args of typed; null where one could not be read"})
}

// sampleCountsField is what the counters have counted up to a sample.
func sampleCountsField() Field {
	return Field{Name: "pmus", Type: TypeNumbers, Opt: true, Doc: "counted since the switch to the thread; null: not known. Absent if that switch was not seen, as before the first one of a CPU in a window, or in a range that a filter kept"}
}

// openField is the field of spans that are still open.
func openField() Field {
	return Field{Name: "open", Type: TypeWord, Words: []string{"yes"}, Opt: true, Doc: "yes if it had not ended when the window, or the time range, closed"}
}

func wakingFields(waker, wakee string) []Field {
	return []Field{
		{Name: "waker", Type: TypeTask, Doc: waker},
		{Name: "wakee", Type: TypeTask, Doc: wakee},
		{Name: "waker_stack_id", Type: TypeStack, Opt: true, Doc: "stack of the waker"},
	}
}

// spanFields returns the fields of a kind of spans.
func spanFields(task string, fields ...Field) []Field {
	return append([]Field{
		{Name: "task", Type: TypeTask, Doc: task},
		{Name: "dur", Type: TypeDuration, Doc: "duration"},
		{Name: "start_ts", Type: TypeInstant, Opt: true, Doc: "start; absent if before the window"},
	}, fields...)
}
