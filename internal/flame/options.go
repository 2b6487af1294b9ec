package flame

// Options say what to keep apart while a capture is read: everything costs memory.
type Options struct {
	Threads  bool  // each thread, not only those that have ended and had the same name together
	Places   bool  // places in the code, not only functions
	CPUs     bool  // CPUs
	Wakes    int   // how many wakers in a row; 0: none
	Slot     int64 // cut time into slots so long, ns; 0: not
	MaxSlots int   // the most slots
	Stretch  bool  // where there would be more, make each twice as long; else that is an error
	Trail    bool  // what each thread did in order of time; includes Threads
	Spread   bool  // share a thread's time on the CPU out among all of its samples, not span by span
	MinBlock int64 // leave out times off the CPU shorter than this, ns
	Idle     bool  // fold the idle threads too, which stand for CPUs that do nothing
}

// Mode is what part of the time is told.
type Mode uint8

const (
	Wall   Mode = iota // all of it
	OnCPU              // on a CPU
	OffCPU             // off the CPU: blocked, and waiting for a CPU
	Waker              // off the CPU, with who ended it
)

// Root is what stands below the stacks.
type Root uint8

const (
	ByProcess Root = iota
	ByThread
	ByComm // names of threads
	ByCPU
	ByNone
)

// View says which part of a profile is told, and how its frames are put together.
type View struct {
	Mode        Mode
	By          Root
	States      bool // a frame for why a thread was off the CPU
	Reverse     bool // innermost frame first
	NoIdleWaits bool // leave out ClassIdle
	// Only says which threads are told; nil: all.
	Only func(*Thread) bool
	// From and To are slots, To beyond the last one; both 0: all time.
	From, To int
}
