package capture

import (
	"errors"
	"fmt"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/proc"
	"wprof/internal/when"
)

const (
	// gatherTime is how long before the opening gather begins, and gatherThread how much earlier for each thread. It takes 0.3 s on an idle
	// machine, and a second more where file systems do not respond. With less than gatherLeast left it may be late.
	gatherTime   = 5 * time.Second
	gatherThread = time.Millisecond
	gatherLeast  = time.Second
	// beginTime is how long before the list of threads the spool begins, and beginThread how much earlier for each thread, whose command
	// lines are read then. From there on the opening is an instant of CLOCK_MONOTONIC.
	beginTime   = 200 * time.Millisecond
	beginThread = 100 * time.Microsecond

	// tolerance is how late a window may open that was prepared in time: else the session ends, since what was to be recorded is over.
	tolerance = time.Second
	// onTime is how late one may open that was prepared at the last moment.
	onTime = time.Millisecond
)

// ScheduleFlags are --prepare and --activate.
func ScheduleFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "prepare", Kind: cli.String, Value: "WHEN", Check: checkWhen, Usage: "When to attach everything, with the window closed: events then cost a check, and nothing is written. " +
			"By default at once, before --activate. WHEN is @now, a time of day (@14:30, @14:30:05.5, @2026-06-10T14:30:00 in local time; @2026-06-10 is midnight), " +
			"a time from the start of the program (+10s), or the next multiple of a period since 1970, UTC (/1m)."},
		{Name: "activate", Kind: cli.String, Value: "WHEN", Check: checkWhen, Usage: "When to open the window: there time 0 is, -d counts from there, and a command begins. By default once everything is attached. " +
			"/PERIOD is the first multiple after that, so that recorders on hosts with synchronised clocks begin together."},
	}
}

func checkWhen(value string) error {
	_, err := when.Parse(value)
	return err
}

// schedule is when a recording is prepared, and when its window opens.
type schedule struct {
	Prepare, Activate     when.Spec
	PrepareAt, ActivateAt when.Instant
}

// setSchedule reads --prepare and --activate.
func (cfg *Config) setSchedule(inv *cli.Invocation) error {
	start, err := proc.ReadClocks()
	if err != nil {
		return err
	}
	s := &cfg.Schedule
	for _, one := range []struct {
		flag string
		spec *when.Spec
		at   *when.Instant
	}{{"prepare", &s.Prepare, &s.PrepareAt}, {"activate", &s.Activate, &s.ActivateAt}} {
		if *one.spec, err = when.Parse(inv.String(one.flag)); err != nil {
			return cli.Usagef("--%s: %w", one.flag, err)
		}
		at, note, err := one.spec.Resolve(start, time.Local)
		if err != nil {
			return cli.Usagef("--%s %w", one.flag, err)
		}
		if note != "" {
			inv.Warnf("--%s %s", one.flag, note)
		}
		*one.at = at
	}
	if err := when.CheckOrder(s.Prepare, s.Activate, s.PrepareAt, s.ActivateAt, start); err != nil {
		return cli.Usagef("%w", err)
	}
	return nil
}

// isScheduled reports whether the window opens at an instant that was given.
func (cfg *Config) isScheduled() bool { return cfg.Schedule.ActivateAt.IsSet() }

// setUp does everything up to the moment before the window opens.
func (s *session) setUp() error {
	if s.cfg.isScheduled() || s.cfg.Schedule.PrepareAt.IsSet() {
		s.inv.OnAbort(s.hideTrigger)
	}
	if err := s.awaitPreparation(); err != nil {
		return err
	}
	if err := s.setPlanned(); err != nil {
		return err
	}
	if !s.cfg.isScheduled() {
		// Not earlier: opening a FIFO waits for its reader, and the first signal must end that, and waiting for the preparation too.
		s.inv.HandleStop()
	}
	if err := s.prepare(); err != nil {
		return err
	}
	at, err := s.awaitActivation()
	if err != nil {
		return err
	}
	return s.begin(at)
}

// awaitPreparation waits for --prepare. What was checked before may have changed meanwhile.
func (s *session) awaitPreparation() error {
	at := s.cfg.Schedule.PrepareAt
	if !at.IsSet() {
		return nil
	}
	s.cfg.Kernel.Preloaded.Release()
	s.cfg.Kernel.Preloaded = nil // it is large
	t, err := newTrigger("preparation", s.cfg.Schedule.Prepare, at)
	if err != nil {
		return err
	}
	defer t.close()
	for reached := false; !reached; {
		if reached, err = s.await(t, 0); err != nil {
			return err
		}
		t.shown = t.shown && reached
		if err := s.followClock(t, 0); err != nil && !s.cfg.isScheduled() { // else only the activation must be in time
			return err
		}
	}
	return check(s.cfg)
}

// setPlanned sets the instant at which the window opens if the recording is prepared in time: of a period the first multiple from now on.
func (s *session) setPlanned() error {
	s.planned = s.cfg.Schedule.ActivateAt
	if !s.cfg.Schedule.PrepareAt.IsSet() {
		return nil // ActivateAt is already the first multiple after the start of the program
	}
	now, err := proc.ReadClocks()
	if err == nil {
		s.planned = s.planned.Next(now, 1)
	}
	return err
}

// warnIfMissed warns if the window opens at a later multiple than planned: recorders that were ready in time have opened theirs before.
func (s *session) warnIfMissed(at when.Instant, now *format.ClockSnapshot) {
	planned, isWall := s.planned.Wall()
	if opens, _ := at.Wall(); isWall && opens > planned {
		clock := func(ns int64) string { return time.Unix(0, ns).Format("15:04:05.999 MST") }
		late := s.rec.beginAhead() - s.planned.Left(now)
		s.inv.Warnf("--activate %s: the recording was prepared %s too late for the first multiple, %s: its window opens at %s, and those of recorders that were ready have opened before; "+
			"prepare earlier, or choose a longer period", s.cfg.Schedule.Activate.Text, late.Round(time.Millisecond), clock(planned), clock(opens))
	}
}

// followClock sets a trigger to the next multiple of its period if the last one has passed, because the time of day was set or the machine was
// suspended. Any other instant that has passed is an error.
func (s *session) followClock(t *trigger, least time.Duration) error {
	now, err := proc.ReadClocks()
	if err != nil {
		return err
	}
	if next := t.at.Next(now, least); t.at.Left(now) < 0 || next.Left(now) < t.at.Left(now) {
		t.at = next
	}
	late := -t.at.Left(now)
	if late > onTime && s.isLate {
		return s.overrun(late)
	}
	if late > tolerance {
		return fmt.Errorf("the %s time (%s) passed %s ago, while the machine was suspended or because its clock was set: nothing was recorded",
			t.name, t.spec, late.Round(time.Millisecond))
	}
	return nil
}

// gatherAhead is how long before the opening gather is called.
func (r *recorder) gatherAhead() time.Duration {
	return gatherTime + time.Duration(r.threads)*gatherThread
}

// beginAhead is how long before it begin is called.
func (r *recorder) beginAhead() time.Duration {
	return beginTime + time.Duration(r.threads)*beginThread + samplingTime + r.listingTime()
}

// gatherSoon reports whether gather is due as soon as the programs are attached.
func (s *session) gatherSoon() (bool, error) {
	at := s.cfg.Schedule.ActivateAt
	if !at.IsSet() {
		return true, nil
	}
	now, err := proc.ReadClocks()
	return err != nil || at.Next(now, 0).Left(now) <= gatherTime, err
}

// awaitActivation waits until the spool is to begin, and returns when the window is to open.
func (s *session) awaitActivation() (at when.Instant, err error) {
	at = s.cfg.Schedule.ActivateAt
	if !at.IsSet() {
		return at, nil
	}
	now, err := proc.ReadClocks()
	if err != nil {
		return at, err
	}
	at = at.Next(now, s.rec.beginAhead())
	s.warnIfMissed(at, now)
	left := at.Left(now)
	if left < 0 {
		return at, s.overrun(-left)
	}
	s.isLate = left < s.rec.beginAhead() || !s.rec.gathered && left < gatherLeast
	t, err := newTrigger("activation", s.cfg.Schedule.Activate, at)
	if err != nil {
		return at, err
	}
	defer t.close()
	for {
		ahead := s.rec.beginAhead()
		if !s.rec.gathered {
			ahead = s.rec.gatherAhead()
		}
		reached, err := s.await(t, ahead)
		if err != nil {
			return t.at, err
		}
		if err := s.followClock(t, s.rec.beginAhead()); err != nil {
			return t.at, err
		}
		switch {
		case !reached:
			t.shown = false
			err = s.forgetEarly(t)
		case s.rec.gathered:
			return t.at, s.checkWaiting()
		default:
			err = s.rec.gather()
		}
		if err != nil {
			return t.at, err
		}
	}
}

// forgetEarly forgets what was gathered if the opening has become distant.
func (s *session) forgetEarly(t *trigger) error {
	now, err := proc.ReadClocks()
	if err == nil && s.rec.gathered && t.at.Left(now) > s.rec.gatherAhead() {
		s.rec.forget()
	}
	return err
}

// checkWaiting returns an error if the process that is to become the command has ended.
func (s *session) checkWaiting() error {
	if s.command == nil {
		return nil
	}
	select {
	case <-s.command.Done():
		return fmt.Errorf("the process that waited to run %s has ended", proc.Quote(s.cfg.Command[0]))
	default:
		return nil
	}
}

func (s *session) overrun(late time.Duration) error {
	return fmt.Errorf("the activation time (%s) passed %s ago, while the recording was being prepared: activate later, or prepare earlier; nothing was recorded",
		s.cfg.Schedule.Activate.Text, max(late.Round(time.Millisecond), time.Millisecond))
}

// begin begins the spool. From now on the opening is an instant of CLOCK_MONOTONIC.
func (s *session) begin(at when.Instant) error {
	if s.cfg.Stats {
		var err error
		if s.stats, err = s.rec.tracer.EnableStats(); err != nil {
			return err
		}
		s.inv.Warnf("--stats makes the kernel measure every BPF program on this machine until the recording ends, which costs about 40 ns per run")
	}
	clocks, err := proc.ReadClocks()
	if err != nil {
		return err
	}
	s.description.Clocks = []*format.ClockSnapshot{clocks}
	if at.IsSet() {
		s.rec.openAt = at.Monotonic(clocks)
		s.rec.openBy = s.rec.openAt + tolerance.Nanoseconds()
		if s.isLate {
			s.rec.openBy = s.rec.openAt + onTime.Nanoseconds()
		}
		s.description.Requested = s.rec.openAt
	}
	return s.rec.begin(s.description)
}

// notOpened explains the error of a window that did not open.
func (s *session) notOpened(err error) error {
	if errors.Is(err, errLate) {
		return s.overrun(time.Duration(proc.Monotonic() - s.rec.openAt))
	}
	return err
}

// lateText reports that the window opened late; "": it did not.
func (s *session) lateText() string {
	if late := time.Duration(s.rec.openedAt - s.rec.openAt); s.rec.openAt != 0 && late >= onTime {
		return fmt.Sprintf("the window opened %s after the requested instant", late.Round(time.Millisecond))
	}
	return ""
}
