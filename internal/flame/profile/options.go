package profile

// Options choose what a profile keeps apart, all of which costs memory.
type Options struct {
	Threads  bool     // each thread, not only those that have ended and had the same name together
	Places   bool     // places in the code, not only functions
	CPUs     bool     // CPUs
	Wakes    int      // how many wakers in a row; 0: none
	Slot     int64    // length of the slots into which time is cut, ns; 0: it is not
	MaxSlots int      // the most slots
	Stretch  bool     // where there would be more, make each twice as long; else that is an error
	Trail    bool     // what each thread did in order of time; includes Threads
	Spread   bool     // share a thread's time on the CPU out among all of its samples, not span by span
	MinBlock int64    // leave out times off the CPU shorter than this, ns
	Memory   int      // bytes that the profile and what it is made of may take; 0: as much as a tool may
	Events   []string // names of events that are counted by stack, instead of what threads do
	Idle     bool     // fold the idle threads too, which stand for CPUs that do nothing
}
