package capture

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/spool"
)

const (
	// generationEvery is the interval between generations, which bounds what a killed recorder can lose, and is the
	// granularity in which a part of a recording can be cut out.
	generationEvery = 2 * time.Second

	// drainLimit bounds the wait for records that are still being written after the window has closed. A program
	// runs for microseconds; what takes longer is on a CPU that the hypervisor has descheduled.
	drainLimit = time.Second

	// finishMaps bounds the time for copying map files of generated code at the end of a recording. If a signal has ended it,
	// its user waits: then signalledMaps bounds copying them, and signalledNames copying and reading them together.
	finishMaps     = time.Second
	signalledMaps  = 300 * time.Millisecond
	signalledNames = time.Second

	// quietHeap is the heap below which no garbage is collected while the window is open. Rounds make none; cutting
	// a generation makes a little.
	quietHeap = 64 << 20
)

// recorder is one recording while its window is open. record and what it calls run on a thread of their own.
type recorder struct {
	cfg     *Config
	tracer  *bpf.Tracer
	tasks   *taskLists
	writer  *spool.Writer
	command *command // nil: none
	wake    *wake
	pace    pace
	drain   *drainer
	counter *eventCounter // nil: nobody sees it
	code    *code         // nil: no samples are taken
	unwind  *unwinder     // nil: user stacks are walked by frame pointers
	copier  *copier       // nil: as code, or the window has not opened
	flight  *flight       // nil: everything is kept

	python     *pythonTrace   // nil: no calls of Python are traced
	torch      *torchTrace    // nil: no operators of PyTorch are recorded
	conditions *conditions    // of snapshots; nil: none
	watched    *conditionSink // nil: none
	stopping   atomic.Bool    // the window is to close
	hotplug    *hotplug       // nil: closed, or not permitted

	signalled      <-chan struct{} // closed by the first signal
	beforeOpen     func()          // called a moment before the window opens
	opening        func()          // called when it opens
	afterClose     func()          // called when it has closed
	opened         chan struct{}   // closed when the window is open, or will never be
	openAt         int64           // when the window is to open, CLOCK_MONOTONIC ns; 0: as soon as possible
	openBy         int64           // later it does not open; 0: no limit
	openedAt       int64           // CLOCK_MONOTONIC ns; 0: the window has not opened
	closedAt       int64
	before         []bpf.ProgramStat // when the window opened
	after          []bpf.ProgramStat
	followFailures uint64 // descendants of chosen processes for which there was no room
	priority       string
	offCPUPlace    bpf.Place
	unread         []int        // processes whose command lines could not be read
	notAdded       error        // why events of CPUs that came online, or mappings there, are missing
	counts         *probeCounts // nil: no probe counts
	gathered       bool         // gather was called
	threads        int          // of the machine; 0: not counted
	generation     uint32
	bumped         *bump // the last change of generation
	err            error
}

// attach loads and attaches the kernel programs. Until the window opens they only check whether it has.
func attach(cfg *Config, writer *spool.Writer, cmd *command, gatherSoon bool) (*recorder, error) {
	r := &recorder{cfg: cfg, writer: writer, command: cmd, pace: cfg.pace(), opened: make(chan struct{})}
	if err := r.attach(gatherSoon); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *recorder) attach(gatherSoon bool) (err error) {
	cfg := r.cfg
	if gatherSoon && cfg.Stacks.Any() {
		r.code = beginCode()
	}
	// CPUs are seldom added or removed: a recording works without the kernel's messages about it.
	r.hotplug, _ = openHotplug()
	if r.tracer, err = bpf.Load(cfg.Kernel); err != nil {
		return err
	}
	cfg.Kernel.Preloaded = nil
	r.unwind = startUnwinder(r.tracer, cfg)
	r.offCPUPlace = r.tracer.OffCPUPlace()
	if r.wake, err = newWake(r.tracer.Wakeups()); err != nil {
		return err
	}
	if cfg.Kernel.Follow {
		if err := r.tracer.FollowFromExec(r.command.PID()); err != nil {
			return err
		}
	}
	var rings []ring
	for _, one := range r.tracer.Rings() {
		rings = append(rings, one)
	}
	if r.python = newPythonTrace(cfg); r.python != nil {
		rings = append(rings, r.python)
	}
	if r.torch = newTorchTrace(cfg); r.torch != nil {
		rings = append(rings, r.torch)
	}
	r.flight = newFlight(cfg.Flight, r.tracer)
	if r.conditions, err = cfg.conditions(); err != nil {
		return err
	}
	r.drain = newDrainer(rings, cfg.Kernel.RingBytes, r.sink())
	if r.python != nil || r.torch != nil {
		r.drain.pump = r.pumpPython
	}
	if !gatherSoon {
		r.hotplug.start(r.addCPU, nil)
		r.threads, err = countThreads(r.tracer)
	}
	return err
}

// sink returns the spool, behind what has to see the records on their way to it.
func (r *recorder) sink() (to sink) {
	to = r.writer
	if r.python != nil {
		to = &pythonSink{sink: to, watch: r.python.watch, rings: r.cfg.Kernel.Rings}
	}
	if r.flight != nil {
		to = &flightSink{sink: to, flight: r.flight}
	}
	if r.conditions != nil {
		r.watched = newConditionSink(to, r.conditions, r.cfg.Kernel.Rings+2) // two more for calls of Python and operators of PyTorch
		to = r.watched
	}
	if r.cfg.Counted {
		r.counter = &eventCounter{sink: to}
		to = r.counter
	}
	return to
}

func (r *recorder) taskLists() (*taskLists, error) {
	lists := &taskLists{sink: r.writer, shortest: r.cfg.Flight.generationEvery() / 2}
	if r.watched != nil && r.watched.threads != nil {
		lists.sink = &namedTasks{taskSink: r.writer, threads: r.watched.threads}
	}
	lists.open = func() (taskSource, error) { return r.tracer.ListTasks() }
	missing, err := missingProcesses(r.tracer)
	if len(missing) > 0 {
		wanted := !r.cfg.filtered()
		lists.missing = func() (records []byte) {
			for _, pid := range missing {
				records = appendThreads(records, proc.Threads("/proc", pid), wanted)
			}
			return records
		}
	}
	return lists, err
}

// Run records until the duration is over or Stop is called, on a thread with a priority of its own.
func (r *recorder) Run() error {
	if r.flight == nil { // else snapshots collect it in between
		defer collect(r.gcPercent(), quietHeap)()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked, so that the thread ends here, and its priority with it.
		runtime.LockOSThread()
		r.priority = raisePriority(drainPriority)
		r.err = r.record()
	}()
	<-done
	return r.err
}

// gcPercent switches the garbage collector off below quietHeap, unless this process finalises at the same time.
func (r *recorder) gcPercent() int {
	if r.cfg.Live {
		return 100
	}
	return -1
}

// collect sets when garbage is collected: when the heap has grown by that many percent, negative: never, and when memory reaches a limit.
// restore sets what was set before.
func collect(percent int, limit int64) (restore func()) {
	percent, limit = debug.SetGCPercent(percent), debug.SetMemoryLimit(limit)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// Stop closes the window.
func (r *recorder) Stop() {
	r.stopping.Store(true)
	r.wake.Call()
}

// Close detaches the kernel programs.
func (r *recorder) Close() {
	r.hotplug.close()
	r.hotplug = nil
	r.python.close()
	r.torch.base().close()
	r.flight.stop()
	if r.tasks != nil {
		r.tasks.abandon()
	}
	if r.tracer != nil {
		r.unwind.abandon()
		_ = r.tracer.Close()
	}
	if r.code != nil {
		r.code.end()
	}
	if r.wake != nil {
		_ = r.wake.Close()
	}
}

func (r *recorder) record() error {
	r.unwind.await()
	defer r.unwind.stop()
	err := r.openWindow()
	close(r.opened)
	if err != nil {
		return err
	}
	if r.code != nil && r.flight == nil {
		r.copier = startCopier(r.code.watcher.Files(), r.writer)
	}
	r.writer.Buffer(func() { raiseNice(highestNice) })
	sweep := startSpanSweep(r.tracer)
	err = r.rounds()
	sweep.end()
	r.copier.stop()
	r.flight.stop()
	if err == nil {
		err = r.closeWindow()
	}
	if err == nil {
		r.flight.pinDue(r.writer, true)
	}
	if flushed := r.writer.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return err
	}
	return r.end()
}

// openWindow arms the programs before it lists the threads, so that those that begin meanwhile are not missed. Both are done just before the
// instant at which the window is to open.
func (r *recorder) openWindow() error {
	if err := r.awaitListing(); err != nil {
		return err
	}
	if err := r.tracer.Arm(); err != nil {
		return err
	}
	if err := r.listTasks(); err != nil {
		return err
	}
	listed := proc.Monotonic()
	before, err := r.tracer.Programs()
	if err != nil {
		return err
	}
	r.before = before
	r.beforeOpen()
	open, err := r.awaitOpening(listed)
	if err != nil {
		return err
	}
	r.python.open(open)
	r.torch.base().open(open)
	r.opening() // says that the window is open
	if err := r.writer.Open(open); err != nil {
		return err
	}
	r.openedAt = open
	r.counts = newProbeCounts(r.cfg, open)
	switch {
	case r.command == nil:
		return nil
	case r.cfg.Kernel.WatchesCommand():
		return r.watchCommand()
	}
	return r.command.Release()
}

// listTasks makes a complete list, with rounds between its slices if it takes long.
func (r *recorder) listTasks() error {
	last := proc.Monotonic()
	return r.tasks.all(func() error {
		if proc.Monotonic() < last+r.pace.shortest.Nanoseconds() {
			return nil
		}
		_, _, err := r.drain.Round()
		last = proc.Monotonic()
		return err
	})
}

// rounds drains the rings until the duration is over or Stop is called.
func (r *recorder) rounds() error {
	deadline := int64(0)
	if r.cfg.Duration > 0 {
		deadline = r.openedAt + r.cfg.Duration.Nanoseconds()
	}
	nextCut := r.openedAt + r.cfg.Flight.generationEvery().Nanoseconds()
	wait := r.pace.interval
	awaited := r.cfg.Kernel.Follow
	for {
		now := proc.Monotonic()
		if deadline > 0 {
			if now >= deadline {
				return nil
			}
			wait = min(wait, time.Duration(deadline-now))
		}
		called, err := r.wake.Sleep(r.flight.untilDue(wait))
		if err != nil || called && r.stopping.Load() {
			return err
		}
		if awaited && r.command.HasExecuted() {
			awaited = false
			if err := r.tracer.Executed(); err != nil {
				return err
			}
		}
		fill, whole, err := r.drain.Round()
		if err != nil {
			return err
		}
		if err := r.copier.writeReady(r.writer); err != nil {
			return err
		}
		wait = r.pace.Next(fill)
		if r.drain.wasFull() {
			r.tasks.recordsLost()
		}
		if err := r.counts.writeDue(r); err != nil {
			return err
		}
		begun, err := r.cut(&nextCut)
		if err != nil {
			return err
		}
		if err := r.tasks.round(begun); err != nil {
			return err
		}
		if err := r.flight.afterRound(r.writer, whole); err != nil {
			return err
		}
	}
}

// cut begins a new generation when one is due, by setting its number in the kernel programs. When those that were running
// then have ended, and a round has drained what they wrote, it ends the old generation, and returns true.
func (r *recorder) cut(next *int64) (begun bool, err error) {
	if drained := r.bumped.drained(); r.writer.CutDue() && drained {
		clocks, err := proc.ReadClocks()
		if err != nil {
			return false, err
		}
		return true, r.writer.Cut(clocks)
	}
	now := proc.Monotonic()
	if r.writer.Cutting() || now < *next && !r.flight.isFull(r.writer, now) {
		return false, nil
	}
	r.generation++
	if err := r.tracer.SetGeneration(r.generation); err != nil {
		return false, err
	}
	r.python.newGeneration()
	r.torch.base().newGeneration()
	r.bumped = newBump(r.tracer.AwaitPrograms)
	// Counted from now, not from next: a recorder that was stopped would have to begin several at once.
	*next = now + r.cfg.Flight.generationEvery().Nanoseconds()
	r.flight.bumped(r.generation, now)
	return false, r.writer.BumpGeneration(r.generation)
}

// closeWindow closes the window and drains everything that was written in it.
//
// All threads are listed once more before: where switches were lost, only the list shows which threads are blocked.
func (r *recorder) closeWindow() error {
	if err := r.listTasks(); err != nil {
		return err
	}
	if r.flight != nil {
		r.flight.listing.Lock() // a snapshot may list threads as well, up to the end of its own window
		defer r.flight.listing.Unlock()
	}
	r.closedAt = proc.Monotonic()
	r.python.shut(r.closedAt)
	r.torch.base().shut(r.closedAt)
	r.afterClose()
	r.drain.closed(r.closedAt)
	if err := r.tracer.Disarm(); err != nil {
		return err
	}
	if err := r.tracer.WriteOpen(r.closedAt, false); err != nil {
		return err
	}
	if err := r.counts.write(r, r.closedAt); err != nil {
		return err
	}
	limit := time.Now().Add(drainLimit)
	for {
		_, all, err := r.drain.Round()
		if err != nil || all || time.Now().After(limit) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// isSignalled reports whether a signal has ended the recording.
func (r *recorder) isSignalled() bool {
	select {
	case <-r.signalled:
		return true
	default:
		return false
	}
}

// signalledTime is how long map files may be read after a signal: what copying them has left of signalledNames.
func (r *recorder) signalledTime() time.Duration {
	if r.cfg.Live || !r.isSignalled() {
		return signalledNames
	}
	return max(signalledMaps, signalledNames-time.Duration(proc.Monotonic()-r.closedAt))
}

// end writes the data that does not come from rings.
func (r *recorder) end() error {
	if r.code != nil {
		limit := finishMaps
		if r.isSignalled() {
			limit = signalledMaps
		}
		r.code.watcher.FinishMaps(limit)
		r.code.watcher.WaitForFiles()
		if err := r.drain.drainSide(); err != nil {
			return err
		}
	}
	if err := r.listBlocked(); err != nil {
		return err
	}
	tail, err := r.tail()
	if err != nil {
		return err
	}
	return r.writer.End(tail)
}

// listBlocked writes the stacks of the threads that are still blocked, and what they wait for.
func (r *recorder) listBlocked() error {
	if !r.listsBlocked() {
		return nil
	}
	var list bytes.Buffer
	if r.flight != nil {
		r.flight.listing.Lock()
		defer r.flight.listing.Unlock()
	}
	if err := r.tracer.ReadBlocked(&list, r.closedAt); err != nil {
		return err
	}
	return r.writer.Blocked(list.Bytes())
}

func (r *recorder) listsBlocked() bool {
	return r.cfg.Stacks.OffCPU || r.cfg.Kernel.OffCPU.Waits != nil
}

// tail collects the data that is in no record.
func (r *recorder) tail() (spool.Tail, error) {
	clocks, err := proc.ReadClocks()
	if err != nil {
		return spool.Tail{}, err
	}
	if r.after, err = r.tracer.Programs(); err != nil {
		return spool.Tail{}, err
	}
	if r.followFailures, err = r.tracer.FollowFailures(); err != nil {
		return spool.Tail{}, err
	}
	if r.flight != nil {
		if before := r.flight.programsBefore(r.writer.Oldest()); len(before) == len(r.after) {
			r.before = before
		}
	}
	tail := spool.Tail{Close: r.closedAt, Clocks: clocks, Programs: r.countedPrograms()}
	if r.unwind != nil {
		c := r.unwind.readCounts()
		tail.FramesByTable, tail.FramesByPointer = c.ByRule, c.ByPointer
	}
	for _, loss := range r.tracer.TailLosses() {
		tail.Losses = append(tail.Losses, spool.Loss{
			CPU: uint32(loss.CPU), Kind: format.Kind(loss.Kind), Cause: causeOf(loss), Count: uint64(loss.Count), From: loss.From, Type: loss.Type,
		})
	}
	tail.Losses = append(tail.Losses, skipped(tail.Programs, r.openedAt)...)
	unreported, err := r.unreportedMappings()
	tail.Losses = append(tail.Losses, unreported...)
	return tail, err
}

// unreadProcesses returns the processes whose files in /proc could not be read, because they hang.
func (r *recorder) unreadProcesses() []int {
	unread := slices.Clone(r.unread)
	if r.code != nil && r.code.watcher != nil {
		unread = append(unread, r.code.watcher.Unread()...)
	}
	slices.Sort(unread)
	return slices.Compact(unread)
}

// skipped returns the events for which the kernel did not run a program, because it was running on that CPU already. It
// counts them neither by CPU nor by time.
func skipped(programs []*format.ProgramCost, since int64) (losses []spool.Loss) {
	known := bpf.ProgramsByName()
	for _, cost := range programs {
		if cost.RecursionMisses > 0 && known.LosesSkipped(cost.Name) {
			kind := known.KindOf(cost.Name)
			losses = append(losses, spool.Loss{
				CPU: format.AllCPUs, Kind: kind, Cause: recursionCause(kind), Count: cost.RecursionMisses, From: since,
			})
		}
	}
	return losses
}

// unreportedMappings returns the side-band records that were lost at the end. As during a recording, they are losses of samples.
func (r *recorder) unreportedMappings() (losses []spool.Loss, err error) {
	if r.code == nil {
		return nil, nil
	}
	unreported, err := r.code.watcher.Unreported(r.closedAt)
	for _, u := range unreported {
		losses = append(losses, spool.Loss{CPU: uint32(u.CPU), Kind: format.KindSample, Cause: format.CauseSideband, Count: u.Count, From: u.From})
	}
	return losses, err
}

func causeOf(loss bpf.Loss) format.Cause {
	switch {
	case loss.Kind == bpf.LostDefinition || loss.Cause == bpf.NoDefinition:
		return format.CauseDefinition
	case loss.Cause == bpf.Nesting:
		return format.CauseNesting
	case loss.Cause == bpf.FullTable:
		return format.CauseTable
	case loss.Cause == bpf.LeftOut:
		return format.CauseLimit
	}
	return format.CauseTail
}

// recursionCause returns the cause of loss for a skipped program that writes events of a kind: one that writes none loses only a stack.
func recursionCause(kind format.Kind) format.Cause {
	if kind == 0 {
		return format.CauseDefinition
	}
	return format.CauseRecursion
}

// programCosts returns the programs' counters since the window opened.
func (r *recorder) programCosts() []*format.ProgramCost { return programCosts(r.before, r.after) }

func programCosts(before, after []bpf.ProgramStat) []*format.ProgramCost {
	var costs []*format.ProgramCost
	for i, program := range after {
		since := before[i]
		costs = append(costs, &format.ProgramCost{
			Name: program.Name, Runs: program.Runs - since.Runs, Ns: uint64(program.Time - since.Time),
			RecursionMisses: program.RecursionMisses - since.RecursionMisses,
		})
	}
	return costs
}

// countedPrograms returns the programs with any count: without --stats the kernel counts only skipped runs.
func (r *recorder) countedPrograms() []*format.ProgramCost { return counted(r.programCosts()) }

func counted(costs []*format.ProgramCost) []*format.ProgramCost {
	return slices.DeleteFunc(costs, func(c *format.ProgramCost) bool { return c.Runs+c.RecursionMisses == 0 })
}

// ringBytes is the memory of all rings.
func (cfg *Config) ringBytes() uint64 { return uint64(cfg.Kernel.Rings) * uint64(cfg.Kernel.RingBytes) }

// bytesRead returns the bytes read from each ring.
func (r *recorder) bytesRead() []uint64 { return slices.Clone(r.drain.read) }

// describePace describes the pace for -v.
func (r *recorder) describePace() string {
	return fmt.Sprintf("rounds every %s to %s by a thread of priority %s", r.pace.shortest, r.pace.longest, r.priority)
}
