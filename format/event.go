package format

// TaskID names a task definition within its section. 0 names none.
type TaskID uint32

// StackID names a stack definition within its section. 0 names none.
type StackID uint32

// WaitID is the id of a wait's definition; 0: none.
type WaitID uint32

// MaxArgs is the highest number of numeric fields that a kind may have.
const MaxArgs = 12

// AllCPUs is the CPU of an event about all CPUs.
const AllCPUs = ^uint32(0)

// Flags are the bits of an event. The low four mean the same in every kind.
type Flags uint32

const (
	FlagSubject Flags = 1 << 0 // the event's own task is visible; filters only clear it
	FlagObject  Flags = 1 << 1 // the other side is visible; filters only clear it
	FlagOpen    Flags = 1 << 2 // what the event reports had not ended when the window, or the chosen range, closed; with FlagLate, when its thread ended
	FlagLate    Flags = 1 << 3 // arrived too late for its place; Event.Own has its own time

	SwitchHasSince    Flags = 1 << 4
	SwitchApprox      Flags = 1 << 5
	SwitchHasStack    Flags = 1 << 6
	SwitchPreempt     Flags = 1 << 7
	SwitchYield       Flags = 1 << 8
	SwitchCalled      Flags = 1 << 9
	SwitchSinceCalled Flags = 1 << 10
	SwitchHasWait     Flags = 1 << 11
	SwitchHasCounts   Flags = 1 << 12
	WakingHasStack    Flags = 1 << 4
	WakingInIRQ       Flags = 1 << 5
	ExecHasOldTID     Flags = 1 << 4
	ExecCut           Flags = 1 << 5
	ExitLast          Flags = 1 << 4
	TypedHasStart     Flags = 1 << 4
	LostHasType       Flags = 1 << 4
	SampleHasCounts   Flags = 1 << 4
	StateHasSince     Flags = 1 << 4
	StateHasWaking    Flags = 1 << 5
	StateApprox       Flags = 1 << 6
	StateNew          Flags = 1 << 7
	StateHasStack     Flags = 1 << 8
	StateWokenIRQ     Flags = 1 << 9
	StateHasWait      Flags = 1 << 10

	// FlagsVisible are the two visibility bits; an event with neither is not written.
	FlagsVisible = FlagSubject | FlagObject
)

// Event is one event of a stream. The Reader reuses it: it is valid until the next call of Next.
type Event struct {
	Time  int64 // CLOCK_MONOTONIC, ns
	Own   int64 // with FlagLate: the time at which it really happened, ns
	Kind  Kind
	Flags Flags
	CPU   uint32 // AllCPUs: about all of them
	Task  TaskID // see KindInfo.Task; 0 for none
	// Args are the numeric fields in the order of the kind's table. Signed values and times are stored as
	// uint64(int64); fields whose flag is not set are 0. The generated index constants and accessors name them.
	Args [MaxArgs]uint64
	Data []byte // the bytes field, if the kind has one; belongs to the Reader
}
