package format

import "strconv"

// Kind is the kind of an event. The numbers are part of the format and never change.
type Kind uint8

// The event kinds; [Kinds] has their meaning and fields.
const (
	KindSwitch      Kind = 1
	KindWaking      Kind = 2
	KindWakeupNew   Kind = 3
	KindFork        Kind = 4
	KindExec        Kind = 5
	KindRename      Kind = 6
	KindExit        Kind = 7
	KindFree        Kind = 8
	KindStateCPU    Kind = 9
	KindStateThread Kind = 10
	KindLost        Kind = 11
	KindCPULeft     Kind = 12
	KindSample      Kind = 13
	KindTyped       Kind = 14

	// MaxKind is the highest kind of this version.
	MaxKind = KindTyped
)

// Group is a bit for the kinds that wprof-record -f switches on or off together, or several such bits.
type Group uint32

// The groups; [Groups] describes them.
const (
	GroupSched Group = 1 << iota
	GroupWakeup
	GroupTaskLife
	GroupSamples
	GroupWaits
)

// GroupInfo describes one group.
type GroupInfo struct {
	Group Group
	Name  string // in wprof-record -f
	Doc   string
	Off   bool // it is recorded only if it is requested
}

// Groups is the table of groups, in the order in which help lists them.
func Groups() []GroupInfo {
	return []GroupInfo{
		{Group: GroupSched, Name: "sched", Doc: "context switches and states"},
		{Group: GroupWakeup, Name: "wakeup", Doc: "wakeups"},
		{Group: GroupTaskLife, Name: "task-life", Doc: "fork, exec, rename, exit and free"},
		{Group: GroupSamples, Name: "samples", Doc: "timer samples"},
		{Group: GroupWaits, Name: "waits", Doc: "what threads wait for, where they are off-CPU for --offcpu-min or longer"},
	}
}

// Name returns the name of a single group; "" for others.
func (g Group) Name() string {
	for _, info := range Groups() {
		if info.Group == g {
			return info.Name
		}
	}
	return ""
}

// FieldType is how a field is stored and what its value is.
type FieldType uint8

const (
	FieldUint      FieldType = iota + 1 // unsigned integer, uvarint
	FieldSint                           // signed integer, zigzag varint
	FieldTime                           // CLOCK_MONOTONIC ns; in the times column, as zigzag(base - value)
	FieldTask                           // id of a task definition, uvarint; 0 names no task
	FieldState                          // State bits, uvarint
	FieldCause                          // Cause, uvarint
	FieldKind                           // Kind, uvarint; 0 means any
	FieldStack                          // id of a stack definition, uvarint; 0 names no stack
	FieldEventType                      // id of an event type definition, uvarint
	FieldWait                           // id of a wait definition, uvarint; 0 names none
	FieldBytes                          // uvarint length and bytes, in [Event.Data]; at most one a kind, always last
)

// Side selects which of an event's two visibility bits applies to the thread in a field.
type Side uint8

const (
	SideNone    Side = iota
	SideSubject      // the event's own task
	SideObject       // the other thread
)

// Base is the time that a FieldTime is stored as a distance from.
type Base uint8

const (
	BaseEvent Base = iota // the event's own time
	BaseLeft              // when the thread in the kind's first field left a CPU, by the switches before it in the block
)

// Field describes one field of an event kind.
type Field struct {
	Name string // in the text form; in CamelCase it names the accessor
	Type FieldType
	Unit string // "ns"; "": given by the type
	Opt  Flags  // the flag that announces the field; 0: always there
	Side Side   // for FieldTask: the side of the named thread
	Base Base   // for FieldTime
	Doc  string
}

// FlagInfo describes one flag of an event kind that announces no field or more than one.
type FlagInfo struct {
	Name string
	Bit  Flags
	Doc  string
}

// Drawing is how timelines draw a kind: spans as slices, other events as instants, fields as arguments.
type Drawing struct {
	On   TypeTrack
	Name string // the field that names the slice or instant; "": the kind's name
}

// KindInfo describes one event kind.
type KindInfo struct {
	Kind       Kind
	Name       string   // in the text form, in -k lists and in statistics
	JSON       string   // in JSON lines and columns; "": Name
	Group      Group    // 0: always recorded
	Follows    Kind     // the kind whose name in -k lists keeps or drops this one too; 0: its own
	Start      string   // field with the start of the span that this event ends; "": an instant
	LosesState bool     // the scheduler state is unknown after events of this kind were lost
	Draw       *Drawing // nil: each output has its own code for the kind, or does not draw it
	Task       string   // what the event's own task is
	Object     string   // what the other side is; "" for events with one side
	Fields     []Field
	Flags      []FlagInfo
	Doc        string
}

// IsPlain reports whether the row fully describes the kind: its events are decoded field by field from struct rec_NAME in
// bpf/records.h, and every output is derived from the table.
func (k *KindInfo) IsPlain() bool { return k.Draw != nil }

// RecordFields returns the names of the record fields that hold f. A stack has two, for its user and kernel ids; bytes have a
// second one for their length.
func (f *Field) RecordFields() []string {
	switch f.Type {
	case FieldStack:
		return []string{"user", "kernel"}
	case FieldBytes:
		return []string{f.Name, f.Name + "_len"}
	}
	return []string{f.Name}
}

// Kinds is the table of event kinds, in the order of their numbers.
// It is a function so that the table cannot be modified; callers that need it often keep the result.
func Kinds() []KindInfo {
	return []KindInfo{
		{
			Kind: KindSwitch, Name: "switch", Group: GroupSched, LosesState: true,
			Task: "the thread that leaves the CPU", Object: "the thread that takes it over",
			Doc: "A CPU switches from one thread to another (kernel tracepoint sched_switch).",
			Fields: []Field{
				{Name: "next", Type: FieldTask, Side: SideObject, Doc: "the thread that takes the CPU over"},
				{Name: "prev_state", Type: FieldState, Doc: "the state in which the task leaves; R+ when it could have run on: it was preempted, or yielded"},
				{Name: "prev_prio", Type: FieldSint, Doc: "kernel priority of the task: 0-99 real time, 100-139 normal, -1 deadline"},
				{Name: "next_prio", Type: FieldSint, Doc: "kernel priority of next"},
				{Name: "since", Type: FieldTime, Unit: "ns", Opt: SwitchHasSince, Base: BaseLeft, Doc: "when next last left a CPU; absent if it has not run before, or if that is not known"},
				{Name: "next_state", Type: FieldState, Opt: SwitchHasSince, Doc: "the state in which next left then"},
				{Name: "stack", Type: FieldStack, Opt: SwitchHasStack, Doc: "where next was from then until it came back"},
				{Name: "wait", Type: FieldWait, Opt: SwitchHasWait, Doc: "what next was waiting for from then on"},
				{Name: "counts", Type: FieldBytes, Opt: SwitchHasCounts, Doc: "what the session's counters counted while the task was on the CPU, see [counters](#counters)"},
			},
			Flags: []FlagInfo{
				{Name: "approx", Bit: SwitchApprox, Doc: "since is an estimate: next left before the recorder was attached"},
				{Name: "preempt", Bit: SwitchPreempt, Doc: "the task was preempted inside the kernel: the kernel's own preempt bit"},
				{Name: "yield", Bit: SwitchYield, Doc: "the task called sched_yield"},
				{Name: "called", Bit: SwitchCalled, Doc: "prev_state is R+, and the task called the scheduler itself (the kernel's own state is R, without the preempt bit): on its way back to user mode, by sched_yield, or woken while it was going to sleep"},
				{Name: "since_called", Bit: SwitchSinceCalled, Doc: "next_state is R+, and the flag called belonged to the switch with which next left"},
			},
		},
		{
			Kind: KindWaking, Name: "waking", Group: GroupWakeup,
			Task: "the waker: the thread running on the CPU where the waking happens, even if an interrupt wakes", Object: "the wakee",
			Doc: "A thread is about to be made runnable (kernel tracepoint sched_waking).",
			Fields: []Field{
				{Name: "wakee", Type: FieldTask, Side: SideObject, Doc: "the thread that is woken"},
				{Name: "prio", Type: FieldSint, Doc: "kernel priority of the wakee"},
				{Name: "target_cpu", Type: FieldUint, Doc: "the CPU that the wakee ran on last"},
				{Name: "stack", Type: FieldStack, Opt: WakingHasStack, Doc: "where the waker was, including the interrupt if one woke"},
			},
			Flags: []FlagInfo{{Name: "interrupt", Bit: WakingInIRQ, Doc: "the waking happens in an interrupt, and the waker is only the interrupted thread. A soft interrupt counts as part of the interrupt at whose end it runs, or of the thread if the thread runs it itself, as the sender on a loopback connection does; on arm64 always of the thread, except for the idle thread. If the recorder cannot read the kernel's preempt count, the flag is not set for interrupts of kernel code, but set for wakings in page faults of user mode"}},
		},
		{
			Kind: KindWakeupNew, Name: "wakeup_new", Group: GroupWakeup,
			Task: "the thread that created the new one", Object: "the new thread",
			Doc: "A new thread is made runnable for the first time (kernel tracepoint sched_wakeup_new).",
			Fields: []Field{
				{Name: "wakee", Type: FieldTask, Side: SideObject, Doc: "the new thread"},
				{Name: "prio", Type: FieldSint, Doc: "kernel priority of the new thread"},
				{Name: "target_cpu", Type: FieldUint, Doc: "the CPU that it is queued on"},
				{Name: "stack", Type: FieldStack, Opt: WakingHasStack, Doc: "where the thread was that created the new one"},
			},
		},
		{
			Kind: KindFork, Name: "fork", Group: GroupTaskLife,
			Task: "the thread that forks", Object: "the new thread",
			Doc: "A thread or process is created (kernel tracepoint sched_process_fork). The child's definition names its process and that process's parent.",
			Fields: []Field{
				{Name: "child", Type: FieldTask, Side: SideObject, Doc: "the new thread"},
			},
		},
		{
			Kind: KindExec, Name: "exec", Group: GroupTaskLife, Task: "the thread, under its name after the exec",
			Doc: "A process executes a new program (kernel tracepoint sched_process_exec).",
			Fields: []Field{
				{Name: "prev", Type: FieldTask, Side: SideSubject, Doc: "the definition that the thread had before"},
				{Name: "old_tid", Type: FieldUint, Opt: ExecHasOldTID, Doc: "the thread id before, when a thread other than the leader called exec"},
				{Name: "filename", Type: FieldBytes, Doc: "the path passed to exec"},
			},
			Flags: []FlagInfo{{Name: "cut", Bit: ExecCut, Doc: "the stored path is not complete"}},
		},
		{
			Kind: KindRename, Name: "rename", JSON: "task_rename", Group: GroupTaskLife, Task: "the thread, under its new name",
			Doc: "A thread changes its name (kernel tracepoint task_rename).",
			Fields: []Field{
				{Name: "prev", Type: FieldTask, Side: SideSubject, Doc: "the definition with the old name"},
			},
		},
		{
			Kind: KindExit, Name: "exit", JSON: "task_exit", Group: GroupTaskLife, Task: "the thread that exits",
			Doc: "A thread ends (kernel tracepoint sched_process_exit); it still runs until its last switch.",
			Fields: []Field{
				{Name: "code", Type: FieldUint, Doc: "task_struct.exit_code: status << 8 | signal, as wait(2) reports it"},
			},
			Flags: []FlagInfo{{Name: "last", Bit: ExitLast, Doc: "it is the last thread of its process; no earlier exit of the process has this flag"}},
		},
		{
			Kind: KindFree, Name: "free", JSON: "task_free", Group: GroupTaskLife, Task: "the thread whose memory is freed",
			Doc: "The kernel frees the memory of a thread (kernel tracepoint sched_process_free); its tid can be used again. The CPU is the one on which this happens.",
		},
		{
			Kind: KindStateCPU, Name: "state_cpu", Group: GroupSched, Follows: KindSwitch, LosesState: true,
			Task: "the thread that runs on the CPU",
			Doc:  "Part of a state: the thread that runs on a CPU. With the flag open: it still runs when the window closes.",
			Fields: []Field{
				{Name: "prio", Type: FieldSint, Doc: "kernel priority of the task"},
				{Name: "since", Type: FieldTime, Unit: "ns", Opt: StateHasSince, Doc: "since when it has run; absent if that is not known"},
			},
			Flags: []FlagInfo{{Name: "approx", Bit: StateApprox, Doc: "since is an estimate: it began before the recorder was attached"}},
		},
		{
			Kind: KindStateThread, Name: "state_thread", Group: GroupSched, Follows: KindSwitch, LosesState: true,
			Task: "a live thread that is on no CPU",
			Doc:  "Part of a state: why a thread is off the CPU. The event's CPU is where it ran last. With the flag open: it is still off when the window closes.",
			Fields: []Field{
				{Name: "state", Type: FieldState, Doc: "the state in which it left, or R: it is runnable"},
				{Name: "prio", Type: FieldSint, Doc: "kernel priority of the task"},
				{Name: "since", Type: FieldTime, Unit: "ns", Opt: StateHasSince, Doc: "since when; absent if that is not known"},
				{Name: "woken", Type: FieldTime, Unit: "ns", Opt: StateHasWaking, Doc: "when it was woken without having run since"},
				{Name: "waker", Type: FieldTask, Opt: StateHasWaking, Doc: "the waker; 0 if not known"},
				{Name: "waker_cpu", Type: FieldUint, Opt: StateHasWaking, Doc: "the CPU on which the waker ran"},
				{Name: "stack", Type: FieldStack, Opt: StateHasStack, Doc: "where it is; only written at the end of the window or of the kept range, for a thread that has not run since"},
				{Name: "wait", Type: FieldWait, Opt: StateHasWait, Doc: "what it waits for; only written where stack may be"},
			},
			Flags: []FlagInfo{
				{Name: "approx", Bit: StateApprox, Doc: "since is an estimate: it began before the recorder was attached"},
				{Name: "new", Bit: StateNew, Doc: "it has never run"},
				{Name: "interrupt", Bit: StateWokenIRQ, Doc: "it was woken in an interrupt, and the waker is only the interrupted thread"},
			},
		},
		{
			Kind: KindLost, Name: "lost", Start: "from", LosesState: true, Task: "none",
			Doc: "Events are missing. The event comes at the end of the time in which they were lost.",
			Fields: []Field{
				{Name: "from", Type: FieldTime, Unit: "ns", Doc: "when the loss may have begun"},
				{Name: "count", Type: FieldUint, Doc: "number of events; 0 if that is not known"},
				{Name: "cause", Type: FieldCause, Doc: "why"},
				{Name: "what", Type: FieldKind, Doc: "the kind of the lost events; 0: any"},
				{Name: "type", Type: FieldBytes, Opt: LostHasType, Doc: "name of the event type of lost typed events, or of its group; absent if that is not known"},
			},
		},
		{
			Kind: KindCPULeft, Name: "cpu_left", Group: GroupSched, Follows: KindSwitch, LosesState: true,
			Task: "the thread that this stream no longer shows running",
			Doc:  "A filter hides what happens on this CPU from here on: as far as this stream shows, the kept thread no longer runs.",
		},
		{
			Kind: KindSample, Name: "sample", JSON: "timer", Group: GroupSamples, Task: "the thread that runs on the CPU",
			Doc: "What a CPU does at the moment of a timer, whose period is in the session's sources. Idle CPUs are not sampled.",
			Fields: []Field{
				{Name: "stack", Type: FieldStack, Doc: "where the thread is, in user space and in the kernel; 0 when stacks were not requested, or none was found"},
				{Name: "source", Type: FieldUint, Doc: "id of the source, see Session.sources; 0: it was lost"},
				{Name: "counts", Type: FieldBytes, Opt: SampleHasCounts, Doc: "what the session's counters have counted since the task came to the CPU, see [counters](#counters)"},
			},
		},
		{
			Kind: KindTyped, Name: "typed", Start: "start", Task: "the thread; 0: none",
			Doc: "An event of a type that the section defines: see [event types](#event-types).",
			Fields: []Field{
				{Name: "type", Type: FieldEventType, Doc: "id of its type"},
				{Name: "start", Type: FieldTime, Unit: "ns", Opt: TypedHasStart, Doc: "of a span: when it began"},
				{Name: "values", Type: FieldBytes, Doc: "the values of the type's fields"},
			},
		},
	}
}

// Cause is why events are missing.
type Cause uint8

// The causes; [Causes] has their meaning.
const (
	CauseRing       Cause = 1
	CauseRecursion  Cause = 2
	CauseNesting    Cause = 3
	CauseDamage     Cause = 4
	CauseTail       Cause = 5
	CauseThrottle   Cause = 6
	CauseSideband   Cause = 7
	CauseSpool      Cause = 8
	CauseDefinition Cause = 9
	CauseLimit      Cause = 10
	CauseTable      Cause = 11

	maxCause = CauseTable
)

// CauseInfo describes one cause of loss.
type CauseInfo struct {
	Cause Cause
	Name  string // in the text form and in messages
	Doc   string
}

// Causes is the table of causes, in the order of their numbers.
func Causes() []CauseInfo {
	return []CauseInfo{
		{CauseRing, "ring", "the ring buffer was full"},
		{CauseRecursion, "recursion", "the kernel skipped a program that was already running on the CPU"},
		{CauseNesting, "nesting", "programs were nested deeper than there are scratch buffers"},
		{CauseDamage, "damage", "the stream was damaged or truncated; readers insert these events, writers may keep them"},
		{CauseTail, "tail", "lost after the last record that could be written"},
		{CauseThrottle, "throttle", "perf throttled a sampling event"},
		{CauseSideband, "sideband", "mapping and name records of perf were lost"},
		{CauseSpool, "spool", "the recorder's spool was cut or damaged"},
		{CauseDefinition, "definition", "there was no room for a definition that an event refers to: a stack, a wait, a command line, or a thread whose own events were not recorded; the event itself is there, without it. With what=typed it is one that only events of types refer to, as the file of a system call's descriptor"},
		{CauseLimit, "limit", "a limit that the user had set left them out: no fault of the recording"},
		{CauseTable, "table", "a table of the kernel programs was full (the spans of a user-defined probe that had begun, or the keys by which one counts), or the memory in which a process keeps calls of Python"},
	}
}

// IsFault reports whether events are missing that were to be recorded.
func (c Cause) IsFault() bool { return c != CauseLimit }

// IsFault reports whether events are missing that were to be recorded.
func (l *Loss) IsFault() bool { return l.GetCause() != uint32(CauseLimit) }

// IsFault reports whether the events were to be recorded.
func (v LostEvent) IsFault() bool { return v.Cause().IsFault() }

// TypeName is Type, cut to the length that a name of an event type may have; empty: not known. Use it where losses are added up by type: a
// damaged or hostile stream may have 1 MiB in each event.
func (v LostEvent) TypeName() []byte {
	of, _ := v.Type()
	return of[:min(len(of), maxTypeText)]
}

// String returns the cause's name, or "cause N" for one unknown to this version.
func (c Cause) String() string {
	for _, info := range Causes() {
		if info.Cause == c {
			return info.Name
		}
	}
	return "cause " + strconv.Itoa(int(c))
}

// String returns the kind's name, "any" for 0, or "kindN" for one unknown to this version.
func (k Kind) String() string {
	if k <= MaxKind {
		return kindNames[k]
	}
	return "kind" + strconv.Itoa(int(k))
}

// kindNames holds the names of all kinds. Building the table of kinds for each name took 17% of a filter test.
var kindNames = func() (names [MaxKind + 1]string) {
	names[0] = "any"
	for _, info := range Kinds() {
		names[info.Kind] = info.Name
	}
	return names
}()

// Status returns the exit status, and the number of the signal that killed the thread; 0: none did. See wait(2).
func (v ExitEvent) Status() (code, signal uint64) { return v.Code() >> 8 & 0xff, v.Code() & 0x7f }
