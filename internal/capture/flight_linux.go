package capture

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/proc"
	"wprof/internal/sideband"
	"wprof/internal/spool"
)

// Flight is what a flight recorder keeps; nil: everything is kept.
type Flight struct {
	Window time.Duration // 0: no limit
	Bytes  int64         // of the spool; 0: no limit

	Keep  *Keep         // where snapshots are kept; nil: beside the output, all of them
	Exec  string        // command that is run with the name of each snapshot; "": none
	After time.Duration // from the trigger of a snapshot to the end of its window
	Every time.Duration // pause after a snapshot in which conditions are ignored
	On    []*Condition  // for which snapshots are taken
	Count int           // of snapshots, after which the recording ends; 0: no limit
}

const (
	defaultWindow      = time.Second
	defaultFlightBytes = 1 << 30
	// leastFlightBytes holds what stands at the beginning of a spool, such as the kernel's symbols, and a second of a busy machine.
	leastFlightBytes = 64 << 20
	leastWindow      = 100 * time.Millisecond
	// flightHeap is the memory of the Go runtime at which a flight recorder collects garbage while it writes no snapshot: it makes
	// little, mostly of the unwind tables of new programs.
	flightHeap = 96 << 20
	// shortestGeneration bounds what a generation costs: each stack is written again in it, and what two rounds have drained.
	shortestGeneration = time.Second
	// shortestFullGeneration is for generations that reach their share of the limit.
	shortestFullGeneration = 250 * time.Millisecond
)

// String is the value of -F.
func (f *Flight) String() string {
	window, size := "0", "0"
	if f.Window > 0 {
		window = f.Window.String()
	}
	if f.Bytes > 0 {
		size = sizeFlag(int(f.Bytes))
	}
	return window + "," + size
}

// ParseFlight reads TIME, SIZE or both: 2s,64mb.
func ParseFlight(text string) (*Flight, error) {
	f := &Flight{Window: defaultWindow, Bytes: defaultFlightBytes}
	if text == "" {
		return f, nil
	}
	window, size, sized := strings.Cut(text, ",")
	if window != "" {
		if strings.Trim(window, "0123456789.") == "" && strings.Trim(window, "0") != "" {
			return nil, fmt.Errorf("%q has no unit: %[1]ss is a window of that length; perf's -F %[1]s is --freq=%[1]s here, or -S+timer=%[1]shz", window)
		}
		if CheckFrequency(window) == nil {
			return nil, fmt.Errorf("%q is no window like 1s: perf's -F %[1]s is --freq=%[1]s here, or -S+timer=%[1]s", window)
		}
		var err error
		if f.Window, err = cli.ParseDuration(window); err != nil {
			return nil, err
		}
		if f.Window > 0 && f.Window < leastWindow {
			return nil, fmt.Errorf("the window must be at least %s, or 0 for no limit", leastWindow)
		}
	}
	if sized {
		var err error
		if f.Bytes, err = cli.ParseSize(size); err != nil {
			return nil, err
		}
		if f.Bytes > 0 && f.Bytes < leastFlightBytes {
			return nil, fmt.Errorf("the size must be at least %s, or 0 for no limit", sizeFlag(leastFlightBytes))
		}
	}
	return f, nil
}

// CheckFlight validates the value of -F before anything happens.
func CheckFlight(text string) error {
	_, err := ParseFlight(text)
	return err
}

// flightFlags are the flags that only a flight recorder has.
var flightFlags = [...]string{"snapshot-on", "keep", "exec", "after", "snapshot-every", "snapshot-count"}

// setFlight reads -F and what belongs to it.
func (cfg *Config) setFlight(inv *cli.Invocation) (err error) {
	if !inv.IsSet("flight-recorder") {
		for _, flag := range flightFlags {
			if inv.IsSet(flag) {
				return cli.Usagef("--%s is for snapshots of a flight recorder: add -F", flag)
			}
		}
		return nil
	}
	if cfg.Live {
		return cli.Usagef("--flight-recorder and --live contradict each other: what was written cannot be dropped")
	}
	if cfg.Flight, err = ParseFlight(inv.String("flight-recorder")); err != nil {
		return err
	}
	if !inv.IsSet("dur") {
		cfg.Duration = 0
	}
	f := cfg.Flight
	f.Exec, f.After, f.Every, f.Count = inv.String("exec"), inv.Duration("after"), inv.Duration("snapshot-every"), inv.Int("snapshot-count")
	if inv.IsSet("snapshot-count") && f.Count < 1 {
		return cli.Usagef("--snapshot-count must be at least 1")
	}
	if f.Every > 0 && !inv.IsSet("snapshot-on") {
		return cli.Usagef("--snapshot-every is a pause in which conditions are ignored: add --snapshot-on CONDITION")
	}
	for _, text := range inv.Strings("snapshot-on") {
		c, err := ParseCondition(text)
		if err != nil {
			return cli.Usagef("--snapshot-on: %w", err)
		}
		f.On = append(f.On, c)
	}
	if !inv.IsSet("keep") {
		if len(f.On) > 0 && (cfg.Output == "" || cfg.Output == "-") {
			return cli.Usagef("--snapshot-on: a snapshot has no name on standard output: give -o FILE or --keep FOLDER")
		}
		return nil
	}
	if f.Keep, err = ParseKeep(inv.String("keep")); err != nil {
		return err
	}
	if err := f.Keep.open(); err != nil {
		return err
	}
	if cfg.Output == "" {
		cfg.Output = strings.TrimSuffix(f.Keep.prefix(), "-") + captureSuffix
	}
	return nil
}

// flightHint is advice on an argument that was intended as the value of -F; "": it was not.
func flightHint(inv *cli.Invocation) string {
	switch word := inv.Args[0]; {
	case !inv.IsSet("flight-recorder") || inv.String("flight-recorder") != "":
		return ""
	case CheckFrequency(word) == nil:
		return fmt.Sprintf("-F is the flight recorder: perf's -F %s is --freq=%s here, or -S+timer=%shz", word, word, strings.TrimSuffix(word, "hz"))
	case CheckFlight(word) == nil:
		return "no space after -F: write -F" + word
	}
	return ""
}

// generationEvery is the interval between generations: what is kept before the window is at most two of them and a list of tasks.
func (f *Flight) generationEvery() time.Duration {
	if f == nil || f.Window == 0 {
		return generationEvery
	}
	return min(max(f.Window/2, shortestGeneration), generationEvery)
}

// flight keeps the window of a flight recorder. Its methods are for the draining thread, which never waits for it, and do nothing for nil.
//
// A goroutine of its own follows the side-band, and makes of it what has to be known at the beginning of a generation, its base. It
// also closes the files that no process has mapped since before the window.
type flight struct {
	config *Flight
	tracer *bpf.Tracer
	files  *sideband.Files // nil: no code is recorded

	pinning pinning
	listing sync.Mutex   // held while threads that are blocked are listed
	oldest  atomic.Int64 // when the first generation that is kept had all its threads listed; 0: nothing was dropped yet
	round   int64        // time of the last round
	began   int64        // when the generation began

	mu      sync.Mutex
	updates flightUpdates // that the goroutine has not taken yet

	more    chan struct{} // one element: there are updates, or stopped was closed
	ready   chan basePart
	stopped chan struct{}
	done    chan struct{}
	running bool

	programs []flightPrograms // of the generations that may be kept, with mu
}

// flightUpdates are side-band records, and the beginnings of generations between them.
type flightUpdates struct {
	bytes       []byte
	generations []newGeneration
}

type newGeneration struct {
	number uint32
	round  int64 // time of the last round before it
	at     int   // in bytes
}

// basePart is a part of a generation's base.
type basePart struct {
	generation  uint32
	records     []byte
	first, last bool
}

// flightPrograms are the counters of the kernel programs when a generation began.
type flightPrograms struct {
	generation uint32
	stats      []bpf.ProgramStat
}

const (
	// maxUpdateBytes and maxNewGenerations bound the updates; the goroutine takes them within milliseconds.
	maxUpdateBytes    = 64 << 20
	maxNewGenerations = 1 << 10
	// baseCost: a base is made at most every baseCost times the time that it takes to make.
	baseCost = 50
	// baseRate is the most bytes of bases in a second.
	baseRate = 4 << 20
	// forgetEvery is how often files are compared with what is mapped, forgetAfter how long before what is kept they were mapped last.
	forgetEvery = 5 * time.Second
	forgetAfter = int64(10e9)
	// partsPerRound bounds what the draining thread writes of a base after a round.
	partsPerRound = 8
)

func newFlight(cfg *Flight, tracer *bpf.Tracer) *flight {
	if cfg == nil {
		return nil
	}
	return &flight{
		config: cfg, tracer: tracer, pinning: newPinning(), more: make(chan struct{}, 1), ready: make(chan basePart, partsPerRound),
		stopped: make(chan struct{}), done: make(chan struct{}),
	}
}

// start begins to keep the window: what was written so far stays.
func (f *flight) start(w *spool.Writer, files *sideband.Files) error {
	if f == nil {
		return nil
	}
	if err := w.Roll(f.config.Window, f.config.Bytes); err != nil {
		return err
	}
	f.files, f.running = files, true
	go f.follow()
	return nil
}

// stop ends the goroutine.
func (f *flight) stop() {
	if f == nil || !f.running {
		return
	}
	f.running = false
	close(f.stopped)
	f.signal()
	<-f.done
}

func (f *flight) signal() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// note adds side-band records, and the beginning of a generation after them if that is not 0, to the updates. It allocates nothing once there
// is room for what is usual.
func (f *flight) note(records []byte, generation uint32) {
	f.mu.Lock()
	n := &f.updates
	if len(n.bytes)+len(records) <= maxUpdateBytes && len(n.generations) < maxNewGenerations {
		n.bytes = append(n.bytes, records...)
		if generation != 0 {
			n.generations = append(n.generations, newGeneration{generation, f.round, len(n.bytes)})
		}
	}
	f.mu.Unlock()
	f.signal()
}

// flightSink passes on the side-band and the rounds.
type flightSink struct {
	sink
	flight *flight
}

func (s *flightSink) Sideband(records []byte) error {
	s.flight.note(records, 0)
	return s.sink.Sideband(records)
}

func (s *flightSink) Round(round spool.Round) error {
	s.flight.round = round.Time
	return s.sink.Round(round)
}

// bumped notes that a generation begins: what was drained in earlier rounds is not in it.
func (f *flight) bumped(generation uint32, now int64) {
	if f != nil {
		f.began = now
		f.note(nil, generation)
	}
}

// isFull reports whether a generation is to end early, because it has reached its share of the limit.
func (f *flight) isFull(w *spool.Writer, now int64) bool {
	return f != nil && now > f.began+shortestFullGeneration.Nanoseconds() && w.GenerationFull()
}

// afterRound writes what is ready of a base, pins the window for a snapshot that is due, and drops what the window no longer needs. whole: the
// round has moved everything.
func (f *flight) afterRound(w *spool.Writer, whole bool) error {
	if f == nil {
		return nil
	}
	if !w.Cutting() { // what is written now would be written twice
		if err := f.writeReady(w); err != nil {
			return err
		}
	}
	f.pinDue(w, whole)
	if oldest := w.Drop(proc.Monotonic()); oldest > 0 {
		f.oldest.Store(oldest)
	}
	return nil
}

func (f *flight) writeReady(w *spool.Writer) error {
	for range partsPerRound {
		select {
		case p := <-f.ready:
			if err := w.Base(p.generation, p.first, p.last, p.records); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// programsBefore are the counters of the kernel programs at or before the beginning of a generation; nil: they are not known.
func (f *flight) programsBefore(generation uint32) (stats []bpf.ProgramStat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.programs {
		if p.generation <= generation {
			stats = p.stats
		}
	}
	return stats
}

// flightFollower is what the goroutine knows.
type flightFollower struct {
	*flight
	state    *sideband.State
	commands sideband.CommandReader
	base     []byte
	next     int64 // when the next base may be made
	held     []heldFile
	copied   map[format.ModuleKey]int64 // map files of generated code: when a process had such code last
	forget   int64                      // when files were compared last
	noted    int64                      // when the counters of the kernel programs were read last
}

type heldFile struct {
	*sideband.Held
	key  format.ModuleKey
	used int64 // when it was known to be mapped
}

func (f *flight) follow() {
	defer close(f.done)
	g := &flightFollower{flight: f, state: sideband.NewState()}
	var updates flightUpdates
	for {
		select {
		case <-f.more:
		case <-f.stopped:
			return
		}
		f.mu.Lock()
		updates, f.updates = f.updates, flightUpdates{bytes: updates.bytes[:0], generations: updates.generations[:0]}
		f.mu.Unlock()
		if !g.take(&updates) {
			return
		}
	}
}

// take follows updates. It returns false when the recording ends.
func (g *flightFollower) take(n *flightUpdates) bool {
	records := bytes.Clone(n.bytes) // the state keeps them for a while
	from := 0
	for _, one := range n.generations {
		g.state.Add(records[from:one.at:one.at])
		from = one.at
		if !g.begin(&one) {
			return false
		}
	}
	g.state.Add(records[from:])
	return true
}

// begin makes the base of a generation if one may be made. It returns false when the recording ends.
func (g *flightFollower) begin(n *newGeneration) bool {
	g.notePrograms(n.number)
	if now := proc.Monotonic(); now >= g.next {
		at := n.round - sideband.StateLag
		g.state.Until(at)
		g.make(at)
		took := proc.Monotonic() - now
		g.next = now + max(baseCost*took, int64(len(g.base))*int64(time.Second)/baseRate)
		if !g.pass(n.number) {
			return false
		}
	}
	g.closeFiles()
	return true
}

// make makes the base.
func (g *flightFollower) make(at int64) {
	if g.files == nil { // then the side-band has the command lines only
		g.base, _ = sideband.CommandLinesAt(at)
		return
	}
	g.state.Forget(func(pid uint32) bool { return isAlive(int32(pid)) })
	g.state.SetCommands(g.commands.Read(g.state.Unread(), at))
	g.base = g.state.Append(g.base[:0], at)
}

// pass passes the base on, in parts of whole records. It returns false when the recording ends.
func (g *flightFollower) pass(generation uint32) bool {
	for rest, first := bytes.Clone(g.base), true; ; first = false {
		n := sideband.Whole(rest, spool.MaxBase)
		part := basePart{generation: generation, records: rest[:n:n], first: first, last: n == len(rest)}
		select {
		case g.ready <- part:
		case <-g.stopped:
			return false
		}
		if part.last {
			return true
		}
		rest = rest[n:]
	}
}

// notePrograms reads the counters of the kernel programs, because a window reports what they counted since about its opening.
func (g *flightFollower) notePrograms(generation uint32) {
	now := proc.Monotonic()
	if now < g.noted+programsEvery.Nanoseconds() {
		return
	}
	g.noted = now
	stats, err := g.tracer.Programs()
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.programs = append(g.programs, flightPrograms{generation, stats})
	if extra := len(g.programs) - maxFlightPrograms; extra > 0 {
		g.programs = append(g.programs[:0], g.programs[extra:]...)
	}
}

const (
	// programsEvery is how often they are read, which takes 3 ms.
	programsEvery = 2 * time.Second
	// maxFlightPrograms is enough for an hour; in a longer window, skipped programs are counted since the recording began.
	maxFlightPrograms = 1800
)

// forgetCode drops the names of generated code of programs that ended before the window, less forgetAfter.
func (g *flightFollower) forgetCode(now, oldest int64, mapped map[format.ModuleKey]bool) {
	copied := make(map[format.ModuleKey]int64)
	var gone []*format.Module
	for _, m := range g.files.MapFiles() {
		key := m.Key()
		used, known := g.copied[key]
		if !known || mapped[key] {
			used = now
		}
		if oldest > 0 && used < oldest-forgetAfter {
			gone = append(gone, m)
		} else {
			copied[key] = used
		}
	}
	g.copied = copied
	if oldest > 0 {
		g.files.ForgetCode(gone, oldest-forgetAfter)
	}
}

// closeFiles closes the files that no process has mapped since before what is kept.
func (g *flightFollower) closeFiles() {
	now, oldest := proc.Monotonic(), g.oldest.Load()
	if g.files == nil || now < g.forget+forgetEvery.Nanoseconds() {
		return
	}
	g.forget = now
	for _, h := range g.files.Fresh() {
		g.held = append(g.held, heldFile{h, h.Module().Key(), now})
	}
	mapped := make(map[format.ModuleKey]bool)
	g.state.EachModule(func(m *format.Module) { mapped[m.Key()] = true })
	var gone []*sideband.Held
	rest := g.held[:0]
	for _, h := range g.held {
		if mapped[h.key] {
			h.used = now
		}
		if oldest > 0 && h.used < oldest-forgetAfter {
			gone = append(gone, h.Held)
		} else {
			rest = append(rest, h)
		}
	}
	clear(g.held[len(rest):])
	g.held = rest
	if len(gone) > 0 {
		g.files.Forget(gone)
	}
	g.forgetCode(now, oldest, mapped)
}
