package capture

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/when"
)

// trigger is an instant that a session waits for.
type trigger struct {
	name  string // preparation, activation
	spec  string // of --prepare or --activate, as typed
	at    when.Instant
	timer int // timerfd(2), on the clock of the instant
	shown bool
}

func newTrigger(name string, spec when.Spec, at when.Instant) (*trigger, error) {
	clock := unix.CLOCK_BOOTTIME
	if _, byWall := at.Wall(); byWall {
		clock = unix.CLOCK_REALTIME
	}
	fd, err := unix.TimerfdCreate(clock, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create a timer for the %s: %w", name, err)
	}
	return &trigger{name: name, spec: spec.Text, at: at, timer: fd}, nil
}

func (t *trigger) close() { _ = unix.Close(t.timer) }

// arm sets the timer to a time ahead of the instant; left is how long it is until the instant. It returns false if the time of day was set
// meanwhile.
func (t *trigger) arm(ahead, left time.Duration) (ok bool, err error) {
	flags, value := 0, (left - ahead).Nanoseconds()
	if wall, byWall := t.at.Wall(); byWall {
		flags, value = unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, wall-ahead.Nanoseconds()
	}
	// A time namespace moves CLOCK_BOOTTIME, so that only a duration of it means the same here and in the kernel.
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(value, 1))}
	err = unix.TimerfdSettime(t.timer, flags, &spec, nil)
	if err == nil || errors.Is(err, unix.ECANCELED) {
		return err == nil, nil
	}
	return false, fmt.Errorf("set the timer for the %s: %w", t.name, err)
}

// wasSet reports whether the timer is ready because the time of day was set, or the machine was suspended.
func (t *trigger) wasSet() bool {
	var count [8]byte
	_, err := unix.Read(t.timer, count[:])
	return errors.Is(err, unix.ECANCELED)
}

// await returns true when a trigger is as near as ahead, and false when the time of day was set meanwhile, or the machine was suspended.
func (s *session) await(t *trigger, ahead time.Duration) (reached bool, err error) {
	defer s.hideTrigger()
	s.boost.End() // it is for work, not for waiting
	defer func() { s.boost = beginBoost() }()
	for {
		now, err := proc.ReadClocks()
		if err != nil {
			return false, err
		}
		left := t.at.Left(now)
		if left <= ahead {
			return true, nil
		}
		if ok, err := t.arm(ahead, left); err != nil || !ok {
			return false, err
		}
		s.showTrigger(t, left, now)
		set, err := s.pollTrigger(t, left)
		if err != nil || set {
			return false, err
		}
	}
}

// descendantsEvery is how often descendants of the processes of --pid are looked for.
const descendantsEvery = time.Second

// pollTrigger waits until the timer has run out, or until the terminal is to show less time. set: the time of day was set meanwhile. It is an
// error if all processes that were to be recorded have ended.
func (s *session) pollTrigger(t *trigger, left time.Duration) (set bool, err error) {
	fds := []unix.PollFd{{Fd: int32(t.timer), Events: unix.POLLIN}}
	wait := time.Duration(-1)
	if s.inv.StderrIsTerminal() {
		wait = left%time.Second + time.Millisecond
	}
	if s.endsWithProcesses() && !s.inv.HasCommand() {
		if err := s.checkProcesses(); err != nil {
			return false, err
		}
		fds = append(fds, s.processes.fds...)
		if len(s.processes.fds) == 0 && (wait < 0 || wait > descendantsEvery) {
			wait = descendantsEvery
		}
	}
	timeout := -1
	if wait >= 0 {
		timeout = int(wait.Milliseconds()) + 1
	}
	n, err := unix.Poll(fds, timeout)
	if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wait for the %s: %w", t.name, err)
	}
	return fds[0].Revents != 0 && t.wasSet(), nil
}

// checkProcesses returns an error if no process is left that could be recorded.
func (s *session) checkProcesses() error {
	if len(s.processes.fds) > 0 {
		s.processes.poll(0)
	}
	if len(s.processes.fds) > 0 {
		return nil
	}
	var descendants *bpf.Followed
	if s.rec != nil {
		descendants = s.rec.tracer.Followed()
	}
	defer descendants.Close()
	if descendants.Any(isAlive) {
		return nil
	}
	return fmt.Errorf("%s before the recording began", s.processes.ended(descendants))
}

// showTrigger prints what is awaited: once, or each second on a terminal.
func (s *session) showTrigger(t *trigger, left time.Duration, now *format.ClockSnapshot) {
	text := fmt.Sprintf("Pending %s trigger... %s left", t.name, leftText(left))
	if wall, byWall := t.at.Wall(); byWall {
		text += ", at " + time.Unix(0, wall).Format("2006-01-02 15:04:05.999 MST")
	}
	if s.inv.StderrIsTerminal() {
		columns := terminalColumns(s.inv.Std.Err)
		text += "; Ctrl-C ends it"
		fmt.Fprintf(s.inv.Std.Err, "\r%s\x1b[K", text[:min(len(text), columns-1)])
		return
	}
	if !t.shown {
		t.shown = true
		s.inv.Warnf("%s", text)
	}
}

// hideTrigger removes what is shown.
func (s *session) hideTrigger() {
	if s.inv.StderrIsTerminal() {
		fmt.Fprint(s.inv.Std.Err, "\r\x1b[K")
	}
}

// leftText is a time that is left, in whole seconds if there are many.
func leftText(left time.Duration) string {
	if left < 10*time.Second {
		return left.Round(10 * time.Millisecond).String()
	}
	return left.Round(time.Second).String()
}
