package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/cli"
	"wprof/internal/proc"
	"wprof/internal/spool"
	"wprof/internal/when"
)

// Main records, finalises, reports, and returns the exit status for the process, which then ends. With a command, wrong usage
// is the recorder's own failure too.
func Main(t cli.Tool, argv []string, std cli.Std) int {
	ran, boost := false, beginBoost()
	t.Run = func(inv *cli.Invocation) error {
		ran = true
		return runOwn(inv, boost)
	}
	status := cli.Run(t, argv, std)
	if !ran && status != cli.ExitOK && slices.Contains(argv, "--") {
		return statusOwnFailure
	}
	return status
}

// runOwn runs, and keeps the recorder's own failures apart from a command's status.
func runOwn(inv *cli.Invocation, boost *booster) error {
	err := run(inv, boost)
	if err == nil || !inv.HasCommand() {
		return err
	}
	// A command's own status is an error without text. The recorder's failures must be distinct from it.
	status := new(cli.ExitError)
	if errors.As(err, &status) && status.Err == nil {
		return err
	}
	if failure := new(commandError); errors.As(err, &failure) {
		return cli.WithCode(failure.Status, err)
	}
	return cli.WithCode(statusOwnFailure, err)
}

// run records, finalises and reports.
func run(inv *cli.Invocation, boost *booster) error {
	s := &session{inv: inv, started: proc.Monotonic(), boost: boost, ended: make(chan struct{})}
	defer s.cleanUp()
	if inv.IsSet("list") {
		return list(inv)
	}
	for _, flag := range []string{"measure", "json"} {
		if inv.Bool(flag) {
			return cli.Usagef("--%s is for --list", flag)
		}
	}
	cfg, err := configure(inv)
	if err != nil {
		return err
	}
	if err := check(cfg); err != nil {
		return err
	}
	if inv.HasCommand() {
		if _, err := lookUp(cfg.Command[0]); err != nil {
			return err
		}
	}
	for _, text := range append(cfg.ProbeNotes, hiddenThreads(), missingNames(cfg.Stacks), cfg.packetsLeftOut()) {
		if text != "" {
			inv.Warnf("%s", text)
		}
	}
	processes, err := openProcesses(inv, cfg.Kernel.Filter.PIDs)
	if err != nil {
		return err
	}
	out, err := inv.CreateOutput(cfg.Output, true)
	if err != nil {
		return err
	}
	defer out.Abort()
	if cfg.Flight != nil {
		s.sigusr1 = make(chan os.Signal, 1)
		signal.Notify(s.sigusr1, unix.SIGUSR1) // before it can end the recorder
		defer signal.Stop(s.sigusr1)
		var unopened context.Context
		unopened, s.acceptSnapshots = context.WithCancel(context.Background())
		defer s.acceptSnapshots()
		go s.refuseSnapshots(unopened)
	}
	s.cfg, s.out, s.processes = cfg, out, processes
	return s.run()
}

// session is one run of the tool from the checks to the report.
type session struct {
	inv             *cli.Invocation
	cfg             *Config
	out             *cli.Output
	description     *format.Session
	planned         when.Instant // when the window opens if it is prepared in time
	isLate          bool         // the window is prepared at the last moment
	started         int64
	written         counter // what went to out
	command         *command
	processes       *processes // nil: no --pid
	creating        sync.Mutex // held while spool is being created
	spool           *spool.Writer
	rec             *recorder
	boost           *booster
	sigusr1         chan os.Signal // SIGUSR1 to a flight recorder
	acceptSnapshots func()         // to be called when the window has opened
	snapshots       *snapshots     // nil: no flight recorder
	stats           io.Closer      // nil: the kernel does not measure the programs
	summary         assemble.Summary
	ended           chan struct{} // closed at the end
	early           error         // why the recording ended early; nil: it did not
	unnamed         string        // a warning about missing names; "": none
	hung            []string      // files whose file systems do not respond
}

func (s *session) run() error {
	if err := s.setUp(); err != nil {
		return s.withRoomHint(err)
	}
	stop := s.supervise()
	err := s.record()
	stop()
	defer s.snapshots.wait()
	if err == nil {
		err = s.out.Commit()
	}
	if s.command != nil {
		s.boost.End() // without a command the boost lasts until the process ends, which takes time too
	}
	if s.command != nil && errors.Is(err, unix.EPIPE) {
		// The output's reader has ended; the command's status is still to be passed on.
		return s.commandStatus()
	}
	if err != nil {
		return s.keepSpool(err)
	}
	if err := s.removeSpool(); err != nil {
		s.inv.Warnf("the spool is no longer needed but could not be removed: %v", err)
	}
	return s.report()
}

// prepare creates the spool and the command's process, and loads the kernel programs. A signal that ends the process meanwhile finds what it
// must remove.
func (s *session) prepare() error {
	host, err := proc.ReadHost()
	if err != nil {
		return err
	}
	if s.description, err = describe(s.cfg, host); err != nil {
		return err
	}
	if err := s.createSpool(); err != nil {
		return err
	}
	if s.inv.HasCommand() {
		s.boost.End() // the command would inherit it
		if s.command, err = startCommand(s.cfg.Command, s.commandOutput(), s.cfg.Kernel.WatchesCommand()); err != nil {
			return err
		}
		s.boost = beginBoost()
	}
	// After the command has been started: its limits are its own.
	proc.RaiseFileLimit(4 * filesNeeded(s.cfg))
	soon, err := s.gatherSoon()
	if err != nil {
		return err
	}
	if s.rec, err = attach(s.cfg, s.spool, s.command, soon); err != nil {
		return err
	}
	if err := s.attachPython(); err != nil {
		return err
	}
	if err := s.attachTorch(); err != nil || !soon {
		return err
	}
	return s.rec.gather()
}

// createSpool creates the spool, beside the output if that is a named file, so that it is found if the recorder is killed.
func (s *session) createSpool() (err error) {
	s.creating.Lock()
	defer s.creating.Unlock()
	s.inv.OnAbort(func() {
		s.creating.Lock()
		defer s.creating.Unlock()
		s.abandon()
	})
	err = cli.AsUser(func() (err error) {
		if s.out.IsNamed() {
			s.spool, err = spool.Create(s.cfg.Output + ".part")
		} else {
			s.spool, err = spool.CreateUnlinked("")
		}
		return err
	})
	if err != nil {
		return err
	}
	go s.watchDisk(s.spool.Name()) // not later: Keep may change it
	if aside := s.spool.MovedAside(); aside != "" {
		s.inv.Warnf("an older spool was moved to %s; wprof-symbolize finishes it", aside)
		if f := s.cfg.Flight; f != nil && f.Keep != nil {
			for _, err := range f.Keep.pruneSpools(aside) {
				s.inv.Warnf("a spool that was left could not be removed: %v", err)
			}
		}
	}
	if s.spool.OnTmpfs() {
		instead := "set TMPDIR to a folder on a disk"
		if s.out.IsNamed() { // the spool is beside it
			instead = "name a file on a disk with -o"
		}
		s.inv.Warnf("the spool is on a tmpfs and takes memory; %s", instead)
	}
	return nil
}

// dropUnopened removes a spool in which nothing can have been recorded.
func (s *session) dropUnopened() {
	if !s.spool.Opened() {
		_ = s.removeSpool()
	}
}

// abandon runs before a signal ends the recorder. It takes no lock that recording or writing may hold.
func (s *session) abandon() {
	if s.spool == nil {
		return
	}
	s.dropUnopened()
	if !s.out.IsNamed() || !s.spool.Opened() {
		return
	}
	if path := s.spool.Place(); path != "" {
		s.inv.Warnf("ended by a signal; %s", keptText(path, s.cfg.Output))
	}
}

// keptText describes how to finish a recording from its spool.
func keptText(path, output string) string {
	return fmt.Sprintf("what was recorded is kept: to finish it, run wprof-symbolize %s -o %s", proc.Quote(path), proc.Quote(output))
}

// removeSpool removes the spool's name, with no more rights than its user has.
func (s *session) removeSpool() error { return cli.AsUser(s.spool.Remove) }

// commandOutput keeps what the command prints out of the stream.
func (s *session) commandOutput() *os.File {
	stream, err := s.out.Stat()
	if err != nil {
		return os.Stderr
	}
	standard, err := os.Stdout.Stat()
	if s.out.IsStdout() || err == nil && os.SameFile(stream, standard) {
		return os.Stderr
	}
	return os.Stdout
}

// record runs the recorder, and finalises after it, or at the same time in a live recording.
func (s *session) record() error {
	s.rec.signalled = s.inv.Stopped()
	s.rec.beforeOpen, s.rec.afterClose = s.boost.End, func() { s.boost = beginBoost() }
	s.rec.opening = s.inv.HandleStop // until then a signal ends this process, and nothing is left
	if s.cfg.Verbose {
		go s.printOpen()
	}
	if s.cfg.Live {
		return s.recordLive()
	}
	err := s.runRecorder()
	if err != nil {
		return s.salvage(s.notOpened(err))
	}
	s.rec.Close()
	recorded, err := s.spool.Spool()
	if err != nil {
		return err
	}
	return s.write(recorded)
}

// runRecorder records, and writes the snapshots of a flight recorder.
func (s *session) runRecorder() error {
	if s.rec.flight == nil {
		return s.rec.Run()
	}
	defer collect(-1, flightHeap)()
	s.snapshots = startSnapshots(s)
	defer s.snapshots.finish()
	return s.rec.Run()
}

// salvage writes the part of a recording that fitted on its spool's disk.
func (s *session) salvage(cause error) error {
	if !s.outgrew(cause) {
		return cause
	}
	s.rec.Close()
	recorded, err := s.spool.Salvage()
	if err != nil {
		return cause
	}
	return s.write(recorded)
}

// couldNotGrow reports whether a file had no room or reached a limit on its length.
func couldNotGrow(err error) bool { return cli.IsFull(err) || cli.IsTooLong(err) }

// withRoomHint adds advice to the error of a spool that could not grow before the window opened.
func (s *session) withRoomHint(err error) error {
	if s.spool == nil || s.rec != nil && s.rec.openedAt != 0 || !couldNotGrow(err) {
		return err
	}
	return fmt.Errorf("%w; %s", err, s.roomHint(err))
}

// roomHint returns advice on getting more room for a spool that could not grow.
func (s *session) roomHint(err error) string {
	if cli.IsTooLong(err) && proc.LimitsFileSize() {
		return "raise the limit on the length of files (ulimit -f)"
	}
	if s.out.IsNamed() { // the spool is beside it
		return "free some space, or write to another disk"
	}
	return "free some space, or set TMPDIR to a folder on a larger disk"
}

func (s *session) write(recorded *spool.Spool) error {
	bar := s.inv.Progress("writing")
	defer bar.Done()
	return s.finalise(recorded, assemble.Options{Progress: bar.Set})
}

// recordLive finalises while it records. An error of finalising ends the recording.
func (s *session) recordLive() error {
	recorded, err := s.spool.Spool()
	if err != nil {
		return err
	}
	finalised := make(chan error, 1)
	go func() {
		err := s.finalise(recorded, assemble.Options{Live: true})
		if err != nil {
			s.rec.Stop()
		}
		finalised <- err
	}()
	err = s.rec.Run()
	if err != nil {
		// Finalise waits for the spool's end, which will not be written.
		s.spool.GiveUp()
	}
	s.rec.Close()
	downstream := <-finalised
	if err == nil || s.outgrew(err) {
		return downstream
	}
	return s.notOpened(err)
}

// outgrew reports whether a recording has ended early because its spool could not grow, and stores the reason.
func (s *session) outgrew(cause error) bool {
	if s.rec.openedAt == 0 || !couldNotGrow(cause) {
		return false
	}
	s.early = fmt.Errorf("the recording ended early, because its spool could not grow: %w; %s", cause, s.roomHint(cause))
	return true
}

func (s *session) finalise(recorded *spool.Spool, o assemble.Options) (err error) {
	defer recorded.Close()
	o.Cost, o.Marks = s.cost, s.snapshots.marked()
	naming := s.name(recorded, &o)
	defer func() { s.hung, s.unnamed = naming.end() }()
	s.written.w = s.out
	w := format.NewWriter(&s.written, format.WriterOptions{Level: s.cfg.level(s.out.IsRegular()), Live: o.Live})
	s.summary, err = assemble.Finalise(recorded, w, o)
	if output := cli.WriteError(err); output != nil {
		return output
	}
	if err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	if s.early == nil && recorded.Changed() {
		s.early = fmt.Errorf("the recording is not complete: %w meanwhile; record again, and leave FILE.part alone", spool.ErrChanged)
	}
	return nil
}

// naming is how functions of a spool are named.
type naming struct {
	limited *interruptible // nil: they are not
	last    *names
}

// name makes options name functions.
func (s *session) name(recorded *spool.Spool, o *assemble.Options) *naming {
	n := new(naming)
	if s.rec.code == nil {
		return n
	}
	n.limited = &interruptible{stop: s.interrupt(), limit: namesLimit, poll: hungPoll, begin: func() source {
		n.last = newNames(recorded, s.rec.code.watcher.Files(), s.cfg, s.inv.Stopped(), s.rec.signalledTime())
		return n.last
	}}
	o.Names = n.limited
	if s.cfg.Lines {
		o.Lines = n.limited
	}
	return n
}

// end closes the files that names were read from. It returns the files whose file systems do not respond, and a warning about missing
// names; "": none.
func (n *naming) end() (hung []string, unnamed string) {
	switch {
	case n.limited == nil:
		return nil, ""
	case n.limited.failed != nil:
		unnamed = n.limited.failed.Error()
	case n.limited.names != nil: // else it may still be running
		unnamed = n.last.resolver.MapsCut()
		n.last.Close()
	}
	return n.limited.hung, unnamed
}

// interrupt returns a channel that the first signal closes while functions are named. It is nil if that signal has ended
// the recording, and in a live recording, which the signal ends.
func (s *session) interrupt() <-chan struct{} {
	select {
	case <-s.inv.Stopped():
		return nil
	default:
	}
	if s.cfg.Live {
		return nil
	}
	return s.inv.Stopped()
}

// cost returns the resources that the recorder has used so far, in all stages.
func (s *session) cost() *format.RecorderCost {
	usage, err := proc.ReadUsage()
	if err != nil {
		return &format.RecorderCost{}
	}
	return &format.RecorderCost{
		UserNs: usage.User.Nanoseconds(), SystemNs: usage.System.Nanoseconds(), PeakRss: usage.PeakRSS,
		RingBytes: s.cfg.ringBytes(), SpoolBytes: uint64(s.spool.Bytes()),
	}
}

// keepSpool leaves a spool that is not empty where it can be found, and prints how to finish the recording from it.
func (s *session) keepSpool(err error) error {
	unlinked := s.spool.Path() == ""
	if s.rec.openedAt == 0 || unlinked && (s.cfg.Live || errors.Is(err, unix.EPIPE)) {
		// It is empty, most of it has been freed on disk, or the output's reader has ended.
		_ = s.removeSpool()
		return s.withRoomHint(err)
	}
	switch _, unread := s.spool.Salvage(); {
	case errors.Is(unread, spool.ErrNoRound):
		_ = s.removeSpool()
		return fmt.Errorf("%w; nothing had been recorded yet", err)
	case errors.Is(unread, spool.ErrChanged):
		_ = s.removeSpool()
		if !errors.Is(err, spool.ErrChanged) {
			err = fmt.Errorf("%w; %w", err, unread)
		}
		return fmt.Errorf("%w, so that nothing of the recording is left; record again, and leave FILE.part alone meanwhile", err)
	}
	var path string
	failed := cli.AsUser(func() (err error) {
		path, err = s.spool.Keep()
		return err
	})
	if failed != nil {
		return fmt.Errorf("%w; what was recorded is lost: %w", err, failed)
	}
	output := "FILE"
	if !unlinked {
		output = s.cfg.Output
	}
	return fmt.Errorf("%w; %s", err, keptText(path, output))
}

// cleanUp releases everything that is left, after success and after errors.
func (s *session) cleanUp() {
	close(s.ended)
	if s.command != nil {
		s.command.Cancel()
	}
	if s.rec != nil {
		s.rec.Close()
		if s.rec.code != nil {
			s.rec.code.Close()
		}
	}
	if s.spool != nil {
		s.dropUnopened()
	}
	if s.stats != nil {
		_ = s.stats.Close()
	}
	if s.spool != nil {
		_ = s.spool.Close()
	}
}

// counter counts the bytes written through it.
type counter struct {
	w      io.Writer
	n      int64
	writes atomic.Uint64 // counts beginnings and ends of writes, so that it is odd while one is under way
}

func (c *counter) Write(b []byte) (int, error) {
	c.writes.Add(1)
	n, err := c.w.Write(b)
	c.writes.Add(1)
	c.n += int64(n)
	return n, err
}

// report prints the outcome and returns the tool's error.
func (s *session) report() error {
	if s.cfg.Stats {
		s.writeStats(s.inv.Std.Err)
	}
	outcome := s.outcome()
	s.inv.Warnf("%s", outcome.Summary())
	if text := outcome.CutText(); text != "" {
		s.inv.Warnf("%s", text)
	}
	for _, text := range slices.Concat([]string{s.lateText(), s.unopened(), s.unnamed, s.hungText()}, s.rec.unwind.unknownInterpreters(), generatedTexts(s.summary.Generated)) {
		if text != "" {
			s.inv.Warnf("%s", text)
		}
	}
	if text := unreadText(s.rec.unreadProcesses(), s.rec.code != nil); text != "" {
		s.inv.Warnf("%s", text)
	}
	if n := s.rec.followFailures; n > 0 {
		s.inv.Warnf("%s of the chosen processes are not in the recording: more than 65,536 were alive at once", cli.Counted(n, "descendant"))
	}
	for _, pid := range s.rec.python.endedEarly() {
		s.inv.Warnf("calls of Python in process %d are missing from some time on: it had no sign of life of the recorder for a while", pid)
	}
	for _, text := range s.rec.python.watchWarnings() {
		s.inv.Warnf("%s", text)
	}
	for _, pid := range s.rec.torch.base().endedEarly() {
		s.inv.Warnf("operators of PyTorch in process %d are missing from some time on: it had no sign of life of the recorder for a while", pid)
	}
	if err := s.rec.notAdded; err != nil {
		s.inv.Warnf("samples, counts or breakpoints of a CPU are missing: %v", err)
	}
	if s.early != nil {
		return s.failEarly()
	}
	if outcome.Events == 0 && s.cfg.filtered() {
		s.inv.Warnf("no event passed the filters: check that %s", s.cfg.neededByFilters())
	}
	if s.cfg.FailOnLoss && outcome.Lossy() && s.command != nil {
		<-s.command.Done()
		return cli.WithCode(statusOwnFailure, errLost)
	}
	if s.command != nil {
		return s.commandStatus()
	}
	if s.cfg.FailOnLoss && outcome.Lossy() {
		return cli.WithCode(cli.ExitLost, errLost)
	}
	return nil
}

// failEarly returns the error of an incomplete recording, after the end of the command.
func (s *session) failEarly() error {
	if s.command != nil {
		<-s.command.Done()
		return cli.WithCode(statusOwnFailure, s.early)
	}
	return cli.WithCode(cli.ExitFailed, s.early)
}

// commandStatus waits for the command's end and returns its status as the tool's.
func (s *session) commandStatus() error {
	status, err := s.command.Status()
	if err != nil {
		return err
	}
	return cli.WithCode(status, nil)
}

var errLost = errors.New("events were lost, and --fail-on-loss was given")

func (s *session) outcome() *Outcome {
	usage, _ := proc.ReadUsage()
	o := &Outcome{
		Threads: s.summary.Threads, Window: time.Duration(s.summary.Close - s.summary.Open),
		CPU: usage.CPU(), PeakRSS: usage.PeakRSS, SpoolBytes: s.spool.Bytes(), OutputBytes: s.written.n,
		RingBytes: s.cfg.Kernel.RingBytes, ByTables: s.cfg.Kernel.Unwind.Tables, Losses: s.summary.Losses,
		Stacks: s.summary.Stacks, Modules: s.summary.Modules, Rate: s.cfg.Stacks.Timer, PMU: len(s.cfg.Stacks.PMU) > 0,
	}
	for _, n := range s.summary.Events {
		o.Events += n
	}
	return o
}
