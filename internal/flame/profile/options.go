package profile

// Options choose what a profile distinguishes, all of which costs memory.
type Options struct {
	Threads  bool     // each thread by itself; else ended threads with the same name are merged
	Places   bool     // places in the code, not only functions
	CPUs     bool     // CPUs
	Wakes    int      // how many wakers in a row; 0: none
	Slot     int64    // length of time slots, ns; 0: none
	MaxSlots int      // the most slots
	Stretch  bool     // double their length where there would be more; else that is an error
	Trail    bool     // what each thread did in order of time; includes Threads
	Spread   bool     // divide a thread's time on the CPU among all of its samples, not span by span
	MinBlock int64    // leave out times off the CPU shorter than this, ns
	Memory   int      // maximum bytes while collecting; 0: the default for one profile
	Events   []string // names of events that are counted by stack, instead of what threads do
	Idle     bool     // fold the idle threads too
}
