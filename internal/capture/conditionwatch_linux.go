package capture

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"wprof/internal/assemble"
	"wprof/internal/glob"
	"wprof/internal/printable"
	"wprof/internal/proc"
)

// watchConditions requests a snapshot whenever a condition holds.
func (s *session) watchConditions(sink *conditionSink, finished <-chan struct{}) {
	counters := newCounterWatch(sink.conditions)
	var batches, free chan *countedBatch
	if sink.counted != nil {
		batches, free = sink.counted.ready, sink.counted.free
	}
	for {
		select {
		case b := <-batches:
			counters.take(b, func(c *counterCondition, reason string) {
				s.snapshots.request(assemble.Mark{At: b.at, Condition: c.text}, func() string { return reason })
			})
			free <- b
		case f := <-sink.fired:
			s.snapshots.request(f.Mark, f.reason)
		case check := <-sink.checks:
			if condition, reason := sink.compareNames(check); condition != "" {
				s.snapshots.request(assemble.Mark{At: check.came, Condition: condition, TID: check.tid}, func() string { return reason })
			}
		case <-finished:
			return
		}
	}
}

// compareNames returns which condition a thread meets, by its name and its process's, and how; "": none.
func (s *conditionSink) compareNames(check threadCheck) (condition, reason string) {
	thread, process, pid := check.names.strings()
	if pid == 0 {
		thread, process, pid = threadNames(check.tid)
	}
	if pid == os.Getpid() {
		return "", ""
	}
	matchesOff, matchesWait := false, false
	for _, c := range s.aboutThreads {
		if !glob.Match(c.name, thread) && !glob.Match(c.name, process) {
			continue
		}
		took, what := check.off, "blocked"
		if c.kind == onRunq {
			took, what, matchesWait = check.wait, "waiting for a CPU", true
		} else {
			matchesOff = true
		}
		if took > c.limit {
			return c.text, fmt.Sprintf("%s: thread %d (%s) was %s for %s", c.text, check.tid, printable.Text(string(thread)), what, limitText(took))
		}
	}
	until := proc.Monotonic() + quietFor
	if !matchesOff && check.off > 0 {
		s.threads.ignore(quietThread{tid: check.tid, names: check.names, until: until})
	}
	if !matchesWait && check.wait > 0 {
		s.threads.ignore(quietThread{tid: check.tid, names: check.names, isWaiting: true, until: until})
	}
	return "", ""
}

func (i *identity) strings() (thread, process []byte, pid int) {
	thread, _, _ = bytes.Cut(i.thread[:], []byte{0})
	process, _, _ = bytes.Cut(i.process[:], []byte{0})
	return thread, process, int(i.pid)
}

// threadNames returns the names of a thread and of its process, which are empty when it has ended.
func threadNames(tid uint32) (thread, process []byte, pid int) {
	thread, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", tid))
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if _, rest, found := bytes.Cut(status, []byte("\nTgid:\t")); found {
		id, _, _ := bytes.Cut(rest, []byte("\n"))
		pid, _ = strconv.Atoi(string(id))
	}
	process = thread
	if pid != 0 && pid != int(tid) {
		process, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	}
	return bytes.TrimSuffix(thread, []byte("\n")), bytes.TrimSuffix(process, []byte("\n")), pid
}
