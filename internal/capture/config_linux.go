package capture

import (
	"os"
	"runtime"
	"strings"
	"time"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/probe"
	"wprof/internal/proc"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/symbol"
	"wprof/internal/syscalls"
	"wprof/internal/tracepoint"
	"wprof/internal/waits"
)

// Config is the options of a recording.
type Config struct {
	Duration     time.Duration // 0: until stopped
	Command      []string      // nil: none
	All          bool          // with a command: record the whole system
	Output       string        // "" or "-": standard output
	Level        int           // of compression; -1: by the kind of output
	Live         bool
	Flight       *Flight // nil: everything is kept
	Stats        bool
	FailOnLoss   bool
	Verbose      bool
	Counted      bool // the terminal shows how many events have been recorded
	Stacks       Stacks
	OffCPUMin    time.Duration // minimum time off the CPU for which a stack is taken, or what the thread waits for
	offCPUMinSet bool
	UnwindCache  string      // folder for unwind tables; "": none
	Lines        bool        // look up source lines and inlined functions at the end
	Symbolize    bool        // name everything, even functions that could be named later
	DebugDirs    []string    // that are searched before /usr/lib/debug
	Names        symbol.Form // of C++ and Rust
	Calls        []string    // names and globs of the system calls that are recorded; none: all
	Tracepoints  []string    // patterns of tracepoints that are recorded
	Probes       []*probe.Definition
	ProbeTypes   []*tracepoint.Tracepoint // event types of Probes
	PMUTypes     []*tracepoint.Tracepoint // of the samples of performance counters
	ProbeNotes   []string                 // what their user should know
	Python, Ruby interpreted              // whose functions stacks have
	PythonCalls  pythonChoice             // whose calls are traced, and which
	Torch        torchChoice
	Kernel       bpf.Options
	PMUEvents    counterPlan       // --pmu
	Counters     []*format.Counter // what that is on this machine
	CPUs         int
	Metadata     []*format.KeyValue
	CommandLine  []string
	Schedule     schedule
}

const defaultDuration = time.Second

// configure reads the flags; errors are of usage.
func configure(inv *cli.Invocation) (*Config, error) {
	if len(inv.Args) > 0 {
		if hint := flightHint(inv); hint != "" {
			return nil, cli.Usagef("%s", hint)
		}
		return nil, cli.Usagef("there is nothing to do with %s: write the command to be recorded after --, as in %s -- %s",
			proc.Quote(inv.Args[0]), inv.Tool.Name, strings.Join(proc.QuoteAll(inv.Args), " "))
	}
	if inv.HasCommand() && len(inv.Command) == 0 {
		return nil, cli.Usagef("no command follows --")
	}
	cpus, err := proc.CPUs("/sys")
	if err != nil {
		return nil, err
	}
	cfg := &Config{
		Duration: defaultDuration, Command: inv.Command, All: inv.Bool("all"), Output: inv.String("output"), Level: -1,
		Live: inv.Bool("live"), Stats: inv.Bool("stats"), FailOnLoss: inv.Bool("fail-on-loss"), Verbose: inv.Bool("verbose"),
		DebugDirs: inv.Strings("debug-dir"), CPUs: cpusToServe(cpus),
		CommandLine: append([]string{inv.Tool.Name}, inv.Argv...),
	}
	if inv.HasCommand() {
		cfg.Duration = 0
	}
	if inv.IsSet("dur") {
		cfg.Duration = inv.Duration("dur")
	}
	if err := cfg.setFlight(inv); err != nil {
		return nil, err
	}
	if inv.IsSet("compress") {
		cfg.Level = inv.Int("compress")
	}
	// With a command the terminal is the command's, and the reader of a live stream may write to it.
	cfg.Counted = cfg.Duration == 0 && !inv.HasCommand() && !cfg.Live && inv.StderrIsTerminal()
	if cfg.Metadata, err = metadata(inv.Strings("metadata")); err != nil {
		return nil, err
	}
	if cfg.Stacks, err = stacks(inv); err != nil {
		return nil, err
	}
	if depth := inv.Int("stack-depth"); inv.IsSet("stack-depth") && (depth < 1 || depth > bpf.MaxStackDepth) {
		return nil, cli.Usagef("--stack-depth must be 1 to %d", bpf.MaxStackDepth)
	}
	cfg.OffCPUMin, cfg.offCPUMinSet = inv.Duration("offcpu-min"), inv.IsSet("offcpu-min")
	cfg.Names = symbol.ParseForm(inv.String("demangle"))
	cfg.Symbolize = inv.String("symbolize") != "no"
	cfg.Lines = inv.Bool("lines")
	switch {
	case cfg.Lines && !cfg.Symbolize:
		return nil, cli.Usagef("--lines needs names of functions: leave out --symbolize=no, or --lines, and use wprof-symbolize")
	case cfg.Lines && inv.Bool("live"):
		return nil, cli.Usagef("--lines does not work with --live: use wprof-symbolize on the file")
	}
	if err := cfg.setSchedule(inv); err != nil {
		return nil, err
	}
	for _, value := range inv.Strings("pmu") {
		if err := cfg.PMUEvents.add(value); err != nil {
			return nil, cli.Usagef("--pmu: %w", err)
		}
	}
	if cfg.Probes, err = readProbes(inv.Strings("probe")); err != nil {
		return nil, cli.Usagef("--probe: %w", err)
	}
	if err := cfg.readWatches(inv); err != nil {
		return nil, err
	}
	if err := cfg.setKernel(inv); err != nil {
		return nil, err
	}
	return cfg, cfg.setUnwinding(inv)
}

func (cfg *Config) setUnwinding(inv *cli.Invocation) error {
	const supported = runtime.GOARCH == "amd64"
	unwind := inv.String("unwind")
	u := bpf.Unwinding{Tables: cfg.Stacks.Any() && cfg.Stacks.User && supported && unwind != "fp", Memory: int(inv.Size("unwind-memory")), Counts: cfg.Stats}
	switch {
	case unwind == "tables" && !supported:
		return cli.Usagef("--unwind=tables works on x86-64 only")
	case u.Memory < 2<<20 || u.Memory > 4<<30:
		return cli.Usagef("--unwind-memory must be 2mb to 4gb")
	}
	if err := cfg.checkInterpretedStacks(u.Tables); err != nil {
		return err
	}
	u.Python, u.Ruby = cfg.Python.Python, cfg.Ruby.Python
	cfg.Kernel.Unwind = u
	if dir := inv.String("unwind-cache"); dir != "no" {
		cfg.UnwindCache = dir
	}
	return nil
}

// cpusToServe is the number of CPUs for which rings are made. Virtual machines may have hundreds of possible CPUs that never come
// online; one that does during the recording shares another's ring.
func cpusToServe(cpus []*format.Cpu) int {
	n := 1
	for _, cpu := range cpus {
		if !cpu.Offline {
			n = max(n, int(cpu.Id)+1)
		}
	}
	return n
}

// filtered reports whether only some threads are recorded.
func (cfg *Config) filtered() bool { return cfg.selectsThreads() || cfg.Kernel.Filter.NoSelf }

// selectsThreads reports whether threads of other programs are left out.
func (cfg *Config) selectsThreads() bool {
	f := cfg.Kernel.Filter
	return cfg.Kernel.Follow || len(f.PIDs)+len(f.NoPIDs)+len(f.TIDs)+len(f.NoTIDs)+len(f.Names)+len(f.NoNames)+
		len(f.ThreadNames)+len(f.NoThreadNames)+len(f.Cgroups)+len(f.NoCgroups)+len(f.Containers)+len(f.NoContainers) > 0 || f.Idle || f.NoIdle || f.Kthread || f.NoKthread
}

// packetsLeftOut is a note that a filter of threads leaves out packets; "": no packets are recorded, or all threads but the recorder's are.
func (cfg *Config) packetsLeftOut() string {
	if cfg.Kernel.Sources&sources.Of("net") == 0 || !cfg.selectsThreads() {
		return ""
	}
	return "a packet is recorded only if the thread that runs when it is handled is selected: many received and dropped packets are missing; to select packets by address or port, use net=EXPRESSION without conditions on threads"
}

// neededByFilters is what must hold for any event to be recorded, for a message.
func (cfg *Config) neededByFilters() string {
	if f := cfg.Kernel.Filter; len(f.Cgroups)+len(f.Containers) > 0 {
		return "threads in these cgroups and containers run: /proc/PID/cgroup has the path of the cgroup of a process"
	}
	return "the processes and threads that they name are running"
}

// byID reports whether threads are selected by their ids.
func (cfg *Config) byID() bool {
	f := cfg.Kernel.Filter
	return cfg.Kernel.Follow || len(f.PIDs)+len(f.NoPIDs)+len(f.TIDs)+len(f.NoTIDs) > 0 || f.NoSelf
}

// setKernel sets the options of the kernel programs.
func (cfg *Config) setKernel(inv *cli.Invocation) error {
	spec, err := filter.FromInvocation(inv)
	if err != nil {
		return err
	}
	if inv.IsSet("ringbuf-cnt") && inv.Int("ringbuf-cnt") < 1 {
		return cli.Usagef("--ringbuf-cnt must be at least 1")
	}
	plan, notes, err := planRings(cfg.CPUs, inv.Size("ringbuf-size"), inv.Int("ringbuf-cnt"))
	if err != nil {
		return cli.Usagef("%w", err)
	}
	for _, note := range notes {
		inv.Warnf("%s", note)
	}
	cfg.Kernel = bpf.Options{
		Rings: plan.Rings, RingBytes: plan.RingBytes, StackDepth: inv.Int("stack-depth"),
		Filter: bpf.Filter{
			PIDs: spec.PIDs, NoPIDs: spec.NoPIDs, TIDs: spec.TIDs, NoTIDs: spec.NoTIDs,
			Names: spec.Names, NoNames: spec.NoNames, ThreadNames: spec.ThreadNames, NoThreadNames: spec.NoThreadNames,
			Cgroups: spec.Cgroups, NoCgroups: spec.NoCgroups, Containers: spec.Containers, NoContainers: spec.NoContainers,
			Idle: spec.Idle, NoIdle: spec.NoIdle, Kthread: spec.Kthread, NoKthread: spec.NoKthread,
			Children: spec.Children, NoSelf: inv.Bool("no-self"),
		},
		SelfPID: os.Getpid(),
		Calls:   bpf.Calls{Machine: machine()},
		Follow:  len(cfg.Command) > 0 && !cfg.All,
	}
	if err := cfg.Kernel.Validate(); err != nil {
		return cli.Usagef("%w", err)
	}
	if err := cfg.setFeatures(inv.Strings("feature")); err != nil {
		return err
	}
	if err := cfg.setLimits(inv.Strings("limit")); err != nil {
		return cli.Usagef("--limit: %w", err)
	}
	return cfg.setStacks()
}

// setStacks sets the events for which the kernel programs take stacks: only those that are recorded.
func (cfg *Config) setStacks() error {
	s, k := &cfg.Stacks, &cfg.Kernel
	if s.OffCPU && k.Off&format.GroupSched != 0 {
		if s.offCPURequested {
			return cli.Usagef("-Soffcpu needs switches, and -f no-sched leaves them out")
		}
		s.OffCPU = false
	}
	if s.Waker && k.Off&format.GroupWakeup != 0 {
		if s.wakerRequested {
			return cli.Usagef("-Swaker needs wakeups, and -f no-wakeup leaves them out")
		}
		s.Waker = false
	}
	if cfg.offCPUMinSet && !s.OffCPU && k.Off&(format.GroupSched|format.GroupWaits) != 0 {
		return cli.Usagef("--offcpu-min needs off-CPU stacks or waits: add -S+offcpu, or -f waits")
	}
	parts := bpf.Stacks{Kernel: s.Kernel, User: s.User}
	k.Sample = bpf.Sample{Period: s.Timer, Kernel: s.Kernel, User: s.User}
	if s.OffCPU {
		k.OffCPU.Stacks = parts
	}
	if k.Off&(format.GroupSched|format.GroupWaits) == 0 {
		k.OffCPU.Waits = waits.Uses(syscalls.Names(machine()))
	}
	if s.faultsRequested && !k.Sources.Has(ringdata.TypeFault) {
		return cli.Usagef("-Sfault needs page faults: add -f fault")
	}
	if s.locksRequested && !k.Sources.Has(ringdata.TypeLock) {
		return cli.Usagef("-Slock needs kernel locks: add -f lock")
	}
	k.FaultStacks, k.LockStacks = s.Faults, s.Locks
	if k.Sources.TakesStacks() {
		k.SourceStacks, s.Sources = parts, s.Kernel || s.User
	}
	if len(s.PMU) > 0 {
		k.SourceStacks, s.Sources = parts, s.Kernel || s.User
	}
	if takesStacks(cfg.Probes) {
		k.ProbeStacks, s.Sources = parts, s.Kernel || s.User
	}
	k.OffCPU.Min = cfg.OffCPUMin
	if s.Waker {
		k.Waker = parts
	}
	return nil
}

// setFeatures reads -f; if a group is given more than once, the last one wins.
func (cfg *Config) setFeatures(lists []string) error {
	cfg.Python.On, cfg.Ruby.On = true, true
	for _, g := range format.Groups() {
		if g.Off {
			cfg.Kernel.Off |= g.Group
		}
	}
	for _, list := range lists {
		for _, word := range FeatureFlag().Split(list) {
			if value, ok := strings.CutPrefix(word, tracepoint.Feature+"="); ok {
				patterns, err := tracepointPatterns(value)
				if err != nil {
					return cli.Usagef("--feature: %w", err)
				}
				cfg.Tracepoints = append(cfg.Tracepoints, patterns...)
				continue
			}
			name, off := strings.CutPrefix(word, "no-")
			name, details, given := strings.Cut(name, "=")
			if name == sources.Calls {
				cfg.setCalls(details, given)
			}
			if name == sources.Packets {
				if err := cfg.setPackets(details, given && !off); err != nil {
					return cli.Usagef("--feature: %w", err)
				}
			}
			if name == sources.PythonCalls {
				if err := cfg.setPythonCalls(details, !off); err != nil {
					return err
				}
			}
			if name == sources.Torch {
				if err := cfg.setTorch(details, !off); err != nil {
					return err
				}
			}
			switch g := groupOf(name); {
			case interpreterFeatures()[name] != "":
				cfg.setInterpreted(name, details, !off)
			case name == tracepoint.Feature:
				cfg.Tracepoints = nil
			case sources.Of(name) != 0 && off:
				cfg.Kernel.Sources &^= sources.Of(name)
			case sources.Of(name) != 0:
				cfg.Kernel.Sources |= sources.Of(name)
			case g == format.GroupSamples:
				cfg.setSamples(!off)
			case off:
				cfg.Kernel.Off |= g
			default:
				cfg.Kernel.Off &^= g
			}
		}
	}
	var err error
	if cfg.Kernel.Calls.Selection, err = syscalls.Select(machine(), cfg.Calls); err != nil {
		return cli.Usagef("--feature: %w", err)
	}
	if len(groupNames(cfg.groups())) == 0 && cfg.Kernel.Sources == 0 && len(cfg.Tracepoints)+len(cfg.Probes) == 0 {
		return cli.Usagef("--feature switches everything off: there is nothing to record")
	}
	return nil
}

// setCalls adds system calls to those that are recorded, by their names and globs; without a list, all are.
func (cfg *Config) setCalls(list string, given bool) {
	if !given {
		cfg.Calls = nil
		return
	}
	cfg.Calls = append(cfg.Calls, strings.Split(list, ",")...)
}

// featureDetails returns the features that may have a list.
func featureDetails() map[string]cli.Details {
	return map[string]cli.Details{
		sources.Calls: {
			What: "a system call", See: "syscalls(2)",
			Words: func() []string { return syscalls.AllNames(machine()) },
			Is:    func(word string) bool { return syscalls.Has(machine(), word) },
		},
		sources.Packets: {Check: checkPackets},
		pythonFeature:   {Check: checkInterpreted(pythonFeature)},
		rubyFeature:     {Check: checkInterpreted(rubyFeature)},

		sources.PythonCalls: {Check: checkPythonCalls},
		sources.Torch:       {Check: checkTorch},
	}
}

func groupOf(feature string) format.Group {
	for _, g := range format.Groups() {
		if g.Name == feature {
			return g.Group
		}
	}
	return 0
}

// groups returns the groups that are recorded.
func (cfg *Config) groups() format.Group {
	off := cfg.Kernel.Off
	if cfg.Stacks.Timer == 0 {
		off |= format.GroupSamples
	}
	if off&format.GroupSched != 0 {
		off |= format.GroupWaits
	}
	return ^off
}

// Features returns the words that -f takes, each also with the prefix no-.
func Features() []string {
	return append(append(groupNames(^format.Group(0)), sources.FeatureWords()...), pythonFeature, rubyFeature, tracepoint.Feature)
}

// FeatureFlag is the flag -f.
func FeatureFlag() cli.Flag {
	return cli.Flag{
		Name: "feature", Aliases: []string{"f"}, Kind: cli.List, Value: "LIST", Choices: Features(), CommaList: true, Negate: true,
		Valued: []string{tracepoint.Feature}, Details: featureDetails(), Hint: FeatureHint,
		Usage: "Switch groups of events on, or off with no- before them. " + FeaturesHelp(),
	}
}

// FeatureHint returns advice on a value of -f that names no group: it may be a frequency.
func FeatureHint(value string) string {
	if CheckFrequency(value) != nil {
		return ""
	}
	return "the sampling frequency is --freq=" + value
}

// FeaturesHelp lists the features that are on, and says where the others are described.
func FeaturesHelp() string {
	var on []string
	for _, g := range format.Groups() {
		if !g.Off {
			on = append(on, g.Name+" ("+g.Doc+")")
		}
	}
	return "On by default: " + strings.Join(on, ", ") + ", " + pythonFeature + " and " + rubyFeature + " (functions of Python and Ruby in stacks). --list describes the others, and says what they cost. " +
		"py-stacks=PID|NAME: only of such processes. py-trace[=PID|NAME]: calls of functions of Python in all recorded processes, or in such ones, also those that begin later; before that min:DURATION: leaves out shorter ones, module:GLOB: takes those of such modules, module:!GLOB: others. py-torch[=PID|NAME]: operators of PyTorch in them, py-torch=shapes:[PID|NAME] with the shapes of their tensors. syscall=read,epoll_*: only these calls. net='tcp port 443': only these packets, as pcap-filter(7) selects them. tp=GROUP:NAME,...: any tracepoints, with all their fields; GROUP and NAME may have * and ?."
}

// setSamples switches samples on or off by the feature of that name.
func (cfg *Config) setSamples(on bool) {
	switch {
	case !on:
		cfg.Stacks.Timer = 0
	case cfg.Stacks.Timer == 0:
		cfg.Stacks.Timer = defaultPeriod
		if !cfg.Stacks.OffCPU && !cfg.Stacks.Waker {
			cfg.Stacks.Kernel, cfg.Stacks.User = true, true
		}
	}
}

func metadata(entries []string) ([]*format.KeyValue, error) {
	var all []*format.KeyValue
	for _, entry := range entries {
		key, value, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("--metadata %s: write it as KEY=VALUE", proc.Quote(entry))
		}
		all = append(all, &format.KeyValue{Key: valid(key), Value: valid(value)})
	}
	return all, nil
}

// level returns the compression level: 0 by default for a pipe, whose reader would have to decompress at once.
func (cfg *Config) level(regular bool) int {
	switch {
	case cfg.Level >= 0:
		return cfg.Level
	case regular:
		return 1
	}
	return 0
}

// pace returns the pace for the planned rings.
func (cfg *Config) pace() pace {
	plan := ringPlan{Rings: cfg.Kernel.Rings, RingBytes: cfg.Kernel.RingBytes}
	p := newPace(plan.RingBytes, plan.cpusPerRing(cfg.CPUs), cfg.Live, cfg.Kernel.WakesReader())
	if cfg.Flight != nil {
		for _, c := range cfg.Flight.On {
			p.bound(c.interval())
		}
	}
	if cfg.PythonCalls.On || cfg.Torch.On {
		p.bound(pythonInterval)
		p.shortest = time.Millisecond
	}
	return p
}

// machine is what uname -m says of machines for which this program is built.
func machine() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64"
	}
	return "x86_64"
}
