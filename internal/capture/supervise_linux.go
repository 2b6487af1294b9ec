package capture

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/internal/assemble"
	"wprof/internal/proc"
)

// supervise ends the recording at a signal, or with its processes or its command, and shows on a terminal how it goes. stop ends
// that.
//
// With a command, an interrupt from the terminal reaches the command by itself, and its end ends the recording. Signals that were
// sent to the recorder alone are passed on.
func (s *session) supervise() (stop func()) {
	finished := make(chan struct{})
	go s.showStatus(finished)
	if s.rec.flight != nil {
		go s.snapshotOnSignal(finished)
	}
	if s.endsWithProcesses() {
		go s.stopWithProcesses(finished, s.rec.tracer.Followed())
	}
	if s.command == nil {
		go func() {
			select {
			case <-s.inv.Stopped():
				s.rec.Stop()
			case <-finished:
			}
		}()
		return func() { close(finished) }
	}
	// While the command runs, a closed pipe ends the recording and not the tool, which still has to pass on a
	// status. This comes after the command's start, which would inherit that SIGPIPE is ignored.
	s.inv.OnDownstreamClosed(s.rec.Stop)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig != unix.SIGINT || !isForeground() {
					s.command.Signal(sig)
				}
			case <-s.command.Done():
				signal.Stop(signals)
				s.rec.Stop()
				return
			}
		}
	}()
	return func() { close(finished) }
}

// refuseSnapshots says that there is no window yet at each SIGUSR1, until the context ends.
func (s *session) refuseSnapshots(unopened context.Context) {
	for {
		select {
		case sig := <-s.sigusr1:
			if unopened.Err() != nil {
				s.sigusr1 <- sig
				return
			}
			s.inv.Warnf("no snapshot (SIGUSR1): no window has opened yet")
		case <-unopened.Done():
			return
		}
	}
}

// snapshotOnSignal requests a snapshot at each SIGUSR1, and when a condition holds.
func (s *session) snapshotOnSignal(finished <-chan struct{}) {
	select {
	case <-s.rec.opened:
		s.acceptSnapshots()
	case <-finished:
		return
	}
	if s.rec.watched != nil {
		go s.watchConditions(s.rec.watched, finished)
	}
	for {
		select {
		case <-s.sigusr1:
			s.snapshots.request(assemble.Mark{At: proc.Monotonic(), Condition: "SIGUSR1"}, nil)
		case <-finished:
			return
		}
	}
}

// endsWithProcesses reports whether only the processes of --pid are recorded, with their descendants.
func (s *session) endsWithProcesses() bool {
	f := s.cfg.Kernel.Filter
	return s.processes != nil && s.command == nil && !f.Idle && !f.Kthread
}

// stopWithProcesses ends the recording when the processes and their descendants have ended.
func (s *session) stopWithProcesses(finished <-chan struct{}, descendants *bpf.Followed) {
	defer descendants.Close()
	if s.processes.wait(finished, descendants) {
		s.inv.Warnf("%s, and the recording with it", s.processes.ended(descendants))
		s.rec.Stop()
	}
}

// isForeground reports whether Ctrl-C at the terminal reaches this process, and so its command: Go does not report the sender of a
// signal.
func isForeground() bool {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false // there is no terminal
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// terminalColumns returns 80 if the width is unknown.
func terminalColumns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
			return int(size.Col)
		}
	}
	return 80
}

// statusLine is the text that a terminal shows during the recording, by how long the window has been open; "": no more.
type statusLine func(open time.Duration) string

// statusLine returns nil if nothing is to be shown.
func (s *session) statusLine() statusLine {
	switch {
	case !s.inv.StderrIsTerminal():
		return nil
	case s.rec.counter != nil:
		kept := ""
		if f := s.cfg.Flight; f != nil && f.Window > 0 {
			kept = fmt.Sprintf(", of which the last %s are kept", f.Window)
		}
		return func(open time.Duration) string {
			return fmt.Sprintf("recording for %s%s: %s; Ctrl-C ends it", open.Round(time.Second), kept, s.rec.counter)
		}
	case s.cfg.Duration < 2*time.Second:
		return nil
	}
	return func(open time.Duration) string {
		left := (s.cfg.Duration - open).Round(time.Second)
		if left <= 0 {
			return ""
		}
		return fmt.Sprintf("recording, %s left; Ctrl-C ends it early", left)
	}
}

// showStatus shows the status line and updates it each second.
func (s *session) showStatus(finished <-chan struct{}) {
	line := s.statusLine()
	if line == nil {
		return
	}
	select {
	case <-s.rec.opened:
	case <-finished:
		return
	}
	opened := time.Now()
	columns := terminalColumns(s.inv.Std.Err)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		text := line(time.Since(opened))
		if text == "" {
			fmt.Fprint(s.inv.Std.Err, "\r\x1b[K")
			return
		}
		fmt.Fprintf(s.inv.Std.Err, "\r%s\x1b[K", text[:min(len(text), columns-1)])
		select {
		case <-tick.C:
		case <-s.inv.Stopped():
			fmt.Fprint(s.inv.Std.Err, "\r\x1b[K")
			return
		case <-finished:
			fmt.Fprint(s.inv.Std.Err, "\r\x1b[K")
			return
		}
	}
}
