package probe

// Definition is one probe, or a span from two.
type Definition struct {
	Text     string // as it was written
	From     string // what errors begin with: its file and line, "probes.txt:3: "; "": it is in no file
	Legs     []Leg  // one, or the two ends of a span
	Settings Settings
}

// Leg is a place where a probe is attached, and what is read there.
type Leg struct {
	Probe  ProbeKind
	Target Word
	Args   []Arg
	All    bool // arg:*: also all other arguments that are known
	Stack  bool

	Implied bool // Args, All and Stack are what a breakpoint records without parameters

	PIDs []int // pid:; none: every process
	GPU  bool  // pid:nv-smi
	Path Word  // path:
	Comm Word  // comm:, a glob
}

// Word is a part of a definition.
type Word struct {
	Text string
	At   int // byte offset in the definition
}

// ProbeKind is what a probe is attached to.
type ProbeKind uint8

const (
	_             ProbeKind = iota
	UserEntry               // u:FUNC[+off], u:FILE:LINE
	UserReturn              // uret:FUNC
	UserSpan                // uspan:FUNC
	USDT                    // usdt:PROVIDER:NAME
	KernelEntry             // k:FUNC[+off]
	KernelReturn            // kret:FUNC
	KernelSpan              // kspan:FUNC
	Tracepoint              // tp:CATEGORY:NAME
	RawTracepoint           // raw_tp:NAME
	BPFEntry                // bpf:PROG|ID[:SUBPROG]
	BPFReturn               // bpfret:PROG|ID[:SUBPROG]
	BPFSpan                 // bpfspan:PROG|ID[:SUBPROG]
	Breakpoint              // watch:SYMBOL[+off][:LEN][:ACCESS]
)

// KindInfo is a row of the table of probe kinds.
type KindInfo struct {
	Kind   ProbeKind
	Word   string // before the target
	Target string // its form, for messages
	Doc    string
	Span   bool
	User   bool // pid:, path: and comm: are allowed
	Return bool // arg:ret is allowed
	Entry  bool // arg:INDEX and arg:NAME are allowed
}

// Kinds returns the table of probe kinds.
func Kinds() []KindInfo {
	return []KindInfo{
		{Kind: UserEntry, Word: "u", Target: "FUNC[+OFFSET] or FILE:LINE", Doc: "entry of a function of a program, or a line of its source", User: true, Entry: true},
		{Kind: UserReturn, Word: "uret", Target: "FUNC", Doc: "return of a function of a program", User: true, Return: true},
		{Kind: UserSpan, Word: "uspan", Target: "FUNC", Doc: "a function of a program, from entry to return", Span: true, User: true, Entry: true, Return: true},
		{Kind: USDT, Word: "usdt", Target: "PROVIDER:NAME", Doc: "a static probe of a program (USDT)", User: true, Entry: true},
		{Kind: KernelEntry, Word: "k", Target: "FUNC[+OFFSET]", Doc: "entry of a kernel function", Entry: true},
		{Kind: KernelReturn, Word: "kret", Target: "FUNC", Doc: "return of a kernel function", Return: true},
		{Kind: KernelSpan, Word: "kspan", Target: "FUNC", Doc: "a kernel function, from entry to return", Span: true, Entry: true, Return: true},
		{Kind: Tracepoint, Word: "tp", Target: "CATEGORY:NAME", Doc: "a tracepoint of the kernel, with the fields of its format", Entry: true},
		{Kind: RawTracepoint, Word: "raw_tp", Target: "NAME", Doc: "a tracepoint of the kernel, with the arguments that the kernel passes", Entry: true},
		{Kind: BPFEntry, Word: "bpf", Target: "PROG[:SUBPROG]", Doc: "entry of a BPF program, by its name or id", Entry: true},
		{Kind: BPFReturn, Word: "bpfret", Target: "PROG[:SUBPROG]", Doc: "return of a BPF program", Return: true},
		{Kind: BPFSpan, Word: "bpfspan", Target: "PROG[:SUBPROG]", Doc: "a BPF program, from entry to return", Span: true, Entry: true, Return: true},
		{Kind: Breakpoint, Word: "watch", Target: "SYMBOL[+OFFSET][:LEN][:ACCESS], an address 0x… instead of the symbol, or kernel: before it", Doc: "accesses to memory, or execution of code, by a hardware breakpoint", User: true, Entry: true},
	}
}

// Info returns the row of a kind.
func (k ProbeKind) Info() KindInfo {
	for _, row := range Kinds() {
		if row.Kind == k {
			return row
		}
	}
	return KindInfo{}
}

// Arg is what is read of an argument.
type Arg struct {
	At      int // byte offset in the definition of what follows arg:
	Base    Base
	Index   int    // of BaseIndex
	Name    string // of BaseName
	Access  []Access
	Type    Type // TypeAuto: that of the argument
	Display Display
	Leg     int // the leg at which it is read
}

// Base is what an argument expression begins with.
type Base uint8

const (
	BaseIndex   Base = iota // arg:0
	BaseName                // arg:size
	BaseReturn              // arg:ret
	BaseContext             // arg:ctx
)

// Access is one accessor.
type Access struct {
	At     int
	Kind   AccessKind
	Field  string // of a Field
	Index  int64  // of an Element
	Type   string // of a Cast and a Container: "struct sock", "u32"; of a Cast without the *
	IsPtr  bool   // of a Cast: TYPE *
	Member string // of a Container: may have dots
}

// AccessKind is the kind of an accessor.
type AccessKind uint8

const (
	Field     AccessKind = iota // .field
	Element                     // [N]
	Cast                        // ::cast<TYPE>
	Container                   // ::container_of<TYPE, MEMBER>
)

// Type is the type of a value, given after a colon.
type Type uint8

const (
	TypeAuto Type = iota
	TypeU8
	TypeU16
	TypeU32
	TypeU64
	TypeS8
	TypeS16
	TypeS32
	TypeS64
	TypeF32
	TypeF64
	TypeStr
	TypePtr
)

// TypeInfo is a row of the table of types.
type TypeInfo struct {
	Type   Type
	Words  []string // the first is its name, the others mean the same
	Size   int      // bytes; 0: of a string
	Signed bool
	Float  bool
}

// Types returns the table of types.
func Types() []TypeInfo {
	return []TypeInfo{
		{Type: TypeU8, Words: []string{"u8"}, Size: 1},
		{Type: TypeU16, Words: []string{"u16"}, Size: 2},
		{Type: TypeU32, Words: []string{"u32"}, Size: 4},
		{Type: TypeU64, Words: []string{"u64"}, Size: 8},
		{Type: TypeS8, Words: []string{"s8"}, Size: 1, Signed: true},
		{Type: TypeS16, Words: []string{"s16"}, Size: 2, Signed: true},
		{Type: TypeS32, Words: []string{"s32", "int"}, Size: 4, Signed: true},
		{Type: TypeS64, Words: []string{"s64", "long"}, Size: 8, Signed: true},
		{Type: TypeF32, Words: []string{"f32"}, Size: 4, Float: true},
		{Type: TypeF64, Words: []string{"f64"}, Size: 8, Float: true},
		{Type: TypeStr, Words: []string{"str"}},
		{Type: TypePtr, Words: []string{"ptr"}, Size: 8},
	}
}

// Info returns the row of a type; that of u64 for TypeAuto.
func (t Type) Info() TypeInfo {
	for _, row := range Types() {
		if row.Type == t {
			return row
		}
	}
	return TypeInfo{Type: TypeU64, Words: []string{"u64"}, Size: 8}
}

// Display is how a value is shown: the modifiers after its type.
type Display struct {
	Name      string // /name(N); "": that of the argument
	Hex       bool   // /x
	Enum      bool   // /enum
	Names     []NumberName
	Counter   bool // /counter
	PerThread bool // /counter(thread)
	Hist      bool // /hist
}

// NumberName names a number: /map(K=V,…).
type NumberName struct {
	Number int64
	Name   string
}

// Settings are what stands between the bars.
type Settings struct {
	ID      string // id:; "": none
	Name    string // name:, a template; "": none
	Sample  int    // one of N; 0: all
	Limit   int    // events a second; 0: no limit
	Min     int64  // of a span, ns
	NoEntry bool   // entry:no: no event at the entry of a span
	If      []Condition
	Key     [2]*Arg // key: of the first leg, and of the second; nil: by thread

	Count        bool // count:
	Sum          *Arg // sum:ARG
	Hist         *Arg // hist:ARG
	HistDuration bool // hist:dur
	By           By
}

// By is by:.
type By struct {
	Args  []Arg
	Stack bool
	Comm  bool
}

// Aggregates reports whether events are counted in the kernel instead of recorded.
func (s *Settings) Aggregates() bool {
	return s.Count || s.Sum != nil || s.Hist != nil || s.HistDuration
}

// Condition is one comparison of if:.
type Condition struct {
	Arg      Arg
	Op       Op
	Number   int64
	Unsigned bool   // Number is to be read as uint64
	Text     string // of OpGlob, and of OpEqual and OpNotEqual with a text or the name of a number of an enumeration
	IsText   bool
}

// Op is a comparison.
type Op uint8

const (
	OpEqual Op = iota
	OpNotEqual
	OpLess
	OpLessEqual
	OpGreater
	OpGreaterEqual
	OpMask // &: any of these bits is set
	OpGlob // ~: the string matches
)
