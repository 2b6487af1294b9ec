package capture

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// supervise ends the recording at a signal, or with its processes or its command, and counts down on a terminal. stop ends
// that.
//
// With a command, an interrupt from the terminal reaches the command by itself, and its end ends the recording. Signals that were
// sent to the recorder alone are passed on.
func (s *session) supervise() (stop func()) {
	finished := make(chan struct{})
	go s.countdown(finished)
	if s.processes != nil {
		go s.stopWithProcesses(finished)
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

// stopWithProcesses ends the recording when the processes have ended.
func (s *session) stopWithProcesses(finished <-chan struct{}) {
	if s.processes.wait(finished) {
		s.inv.Warnf("process %d has ended, and the recording with it", s.processes.pids[len(s.processes.pids)-1])
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

// countdown shows the remaining time on a terminal.
func (s *session) countdown(finished <-chan struct{}) {
	if !s.inv.StderrIsTerminal() || s.cfg.Duration < 2*time.Second {
		return
	}
	select {
	case <-s.rec.opened:
	case <-finished:
		return
	}
	end := time.Now().Add(s.cfg.Duration)
	columns := terminalColumns(s.inv.Std.Err)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		left := time.Until(end).Round(time.Second)
		if left <= 0 {
			fmt.Fprint(s.inv.Std.Err, "\r\x1b[K")
			return
		}
		text := fmt.Sprintf("recording, %s left; Ctrl-C ends it early", left)
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
