package probe

// Program is a kernel program of a probe: one end of a span, or all of an instant, for places where its values are read alike.
type Program struct {
	Context    Context
	Role       Role
	Sites      []Site
	Definition int     // number of the definition: its programs share sample: and limit:
	Values     []Value // in the order in which they are read

	Type, EntryType uint32 // numbers of event types among the layouts of the recording; EntryType 0: a begin has no event of its own
	OneOf           int    // one event of this many is recorded
	PerSecond       int    // events on a CPU; 0: no limit
	Min             int64  // duration of a span, ns
	Stack           bool   // at the beginning of the values
	Counts          bool   // events are counted by their values, in which texts have MaxKeyText bytes, and not written
	CountsBuckets   bool   // of amounts, a power of two each
	CountsDuration  bool   // what is added up is the duration of the span

	Fixed   int    // bytes of the values without strings, which come behind them
	Unread  int    // place of the bits of values that could not be read, 4 bytes; -1: there is none
	AtEnd   uint32 // bits of the values that the end of a span reads
	Watch   Watching
	BeganBy int // place of the tid of the thread in which a span began; -1: there is none
	Key     Key
}

// Value is one value that a program reads.
type Value struct {
	Read       Read
	Place      int // in the values; -1: it is only compared
	Bit        int // of it among those that could not be read
	Conditions []Test
	IsAmount   bool // it is added up
}

// MaxKeyText is how many bytes of a text events are counted by, and MaxKey how many there are of all values.
const (
	MaxKeyText = 64
	MaxKey     = 256
)

// Test is a condition of a value.
type Test struct {
	Op     Op
	Number int64
	Signed bool
	Glob   string // of a string
	Not    bool   // of a string: it must not match
}

// Key is by what the two ends of a span are matched.
type Key struct {
	Kind       KeyKind
	Value      Read // of KeyValue
	PerProcess bool // of KeyValue
	PerSite    bool // and the number of the function: one that ends in a jump to another has the same frame
}

// KeyKind is a kind of key.
type KeyKind uint8

const (
	KeyThread    KeyKind = iota // the thread: the latest begin counts
	KeyFrame                    // the thread and its stack pointer, so that calls nest
	KeyGoroutine                // the goroutine and where in its stack it is
	KeyCall                     // the thread and the trampoline's frame: of fentry and fexit
	KeyValue                    // a value
)

// Context is what a program is called with.
type Context uint8

const (
	Registers Context = iota // of the thread: uprobes and kprobes
	Words                    // arguments of a raw tracepoint
	Record                   // the kernel's record of a tracepoint
	Call                     // arguments and result of a function of the kernel, or of a BPF program
	Hit                      // registers of the thread that hit a breakpoint, and its address
)

// Role is what a program does.
type Role uint8

const (
	Instant Role = iota
	Begin
	End
)

// Site is a place where a program is attached.
type Site struct {
	Path      string // file of a program
	Offset    uint64 // in the file, or from the symbol of the kernel
	Semaphore uint64 // of a USDT, in the file; 0: none
	PID       int    // 0: all processes
	Return    bool   // of the function, instead of its entry

	Name     string // symbol of the kernel, or raw tracepoint
	ID       int    // of a tracepoint's event, or of a BPF program
	Function uint64 // number of the function among those of a glob

	// Address is where a breakpoint is. With a Path and without a PID it is that of the symbol in the file, because the process is not known.
	Address uint64
}

const amountBytes = 8 // of a span that is counted: what is added up, from its begin on

// MaxLength is how many bytes the values may take, with their strings.
func (p *Program) MaxLength() int {
	n := p.Fixed
	if p.Counts {
		return n + amountBytes
	}
	for i := range p.Values {
		if v := &p.Values[i]; v.Place >= 0 && v.Read.Leaf.Kind != LeafNumber {
			n += MaxString
		}
	}
	return n
}
