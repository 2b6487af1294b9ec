package capture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"wprof/internal/printable"
	"wprof/internal/proc"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

// conditionSink compares the records on their way to a sink with the conditions of --snapshot-on. It reads headers only, 2 ns a record, and
// unpacks switches and wakings where a condition is about threads.
type conditionSink struct {
	sink
	*conditions
	decoders []ringdata.Decoder
	scratch  []byte
	threads  *threadTimes     // nil: no condition is about threads or counters
	counted  *countedRuns     // nil: no condition is about counters
	fired    chan firing      // conditions that hold; those that find no room are dropped, because others are there
	checks   chan threadCheck // threads whose names are to be compared
	waiting  []threadCheck    // those for which checks has no room yet
	own      map[uint32]bool  // threads that met conditions in this round: whether they are the recorder's
}

// maxWaitingChecks bounds the threads whose names are to be compared: another goroutine compares tens of thousands a second.
const maxWaitingChecks = 1 << 14

func newConditionSink(to sink, c *conditions, rings int) *conditionSink {
	s := &conditionSink{sink: to, conditions: c, fired: make(chan firing, 16), checks: make(chan threadCheck, 256), own: make(map[uint32]bool)}
	if len(c.aboutThreads)+len(c.counters) > 0 {
		s.threads = newThreadTimes(c.aboutThreads)
		s.decoders = make([]ringdata.Decoder, rings)
		for i := range s.decoders {
			s.decoders[i].CPU = uint16(i)
		}
	}
	if len(c.counters) > 0 {
		s.counted = newCountedRuns(s.threads)
	}
	return s
}

// Ring implements sink.
func (s *conditionSink) Ring(ring int, from uint64, run []byte) error {
	if s.threads != nil {
		s.threads.begin(proc.Monotonic())
	}
	for rest := run; len(rest) > ringdata.HeaderBytes; {
		header := binary.LittleEndian.Uint32(rest)
		room := ringdata.Room(header)
		if room <= ringdata.HeaderBytes || room > len(rest) {
			break
		}
		if header&ringdata.HeaderDiscarded == 0 {
			s.record(ring, header, rest[:room])
		}
		rest = rest[room:]
	}
	return s.sink.Ring(ring, from, run)
}

func (s *conditionSink) record(ring int, header uint32, raw []byte) {
	body := raw[ringdata.HeaderBytes:]
	kind := ringdata.KindOf(header, body)
	le := binary.LittleEndian
	switch {
	case kind == ringdata.KindSwitch || kind == ringdata.KindWaking || kind == ringdata.KindWakeupNew:
		if s.threads != nil {
			s.unpack(&s.decoders[ring], raw)
		}
	case s.threads != nil && kind == ringdata.KindFork && len(body) >= ringdata.ForkSize:
		s.threads.identify(recordTime(body), body[ringdata.ForkChild:])
	case s.threads != nil && kind == ringdata.KindExec && len(body) >= ringdata.ExecSize:
		s.threads.identify(recordTime(body), body[ringdata.ExecIdent:])
	case s.threads != nil && kind == ringdata.KindRename && len(body) >= ringdata.RenameSize:
		s.threads.identify(recordTime(body), body[ringdata.RenameIdent:])
	case kind == ringdata.KindTyped && len(s.byType) > 0 && len(body) >= ringdata.TypedSize:
		s.typed(body)
	case kind == ringdata.KindText && len(s.texts) > 0 && len(body) >= ringdata.TextSize:
		s.text(body)
	case kind == ringdata.KindInstant && len(s.byType) > 0 && len(body) >= ringdata.InstantSize:
		for _, c := range s.byType[le.Uint32(body[ringdata.InstantType:])] {
			if c.kind == onEvent {
				s.fire(&c, body, 0)
			}
		}
	case kind == ringdata.KindExit && len(s.crashes) > 0 && len(body) >= ringdata.ExitSize:
		signal := le.Uint32(body[ringdata.ExitCode:]) & 0x7f
		const selected = ringdata.FlagLast | ringdata.FlagSubject // exits of threads that filters leave out are recorded too, for the stream's state
		if body[ringdata.HdrFlags]&selected == selected && signal != 0 && !isEndedOnPurpose(signal) {
			s.hold(firing{Mark: markOf("crash", body), what: crashText(body, unix.Signal(signal))})
		}
	case len(s.losses) > 0 && (kind == ringdata.KindLost || kind == ringdata.KindMissing && isLoss(body)):
		f := firing{Mark: markOf("loss", body)}
		f.TID = 0
		s.hold(f)
	}
}

// crashText says which process a signal has ended.
func crashText(exit []byte, signal unix.Signal) string {
	name, _, _ := bytes.Cut(exit[ringdata.ExitProcessComm:][:ringdata.ExitProcessCommSize], []byte{0})
	return fmt.Sprintf("process %d (%s) was ended by %s", binary.LittleEndian.Uint32(exit[ringdata.ExitPID:]), printable.Text(string(name)),
		cmp.Or(unix.SignalName(signal), fmt.Sprintf("signal %d", int(signal))))
}

// recordTime is the time of a record that is not packed, CLOCK_MONOTONIC ns.
func recordTime(body []byte) int64 { return int64(binary.LittleEndian.Uint64(body[ringdata.HdrTS:])) }

// isLoss reports whether a rec_missing is about more than what a limit left out.
func isLoss(b []byte) bool {
	return len(b) >= ringdata.MissingSize && binary.LittleEndian.Uint32(b[ringdata.MissingCause:]) != ringdata.MissingCauseLimit
}

// typed compares an event of a type that conditions name, and the length of a span.
func (s *conditionSink) typed(body []byte) {
	if body[ringdata.HdrFlags]&ringdata.FlagOpen != 0 {
		return // it is still open, and listed for a snapshot
	}
	le := binary.LittleEndian
	started := int64(le.Uint64(body[ringdata.TypedStart:]))
	took := recordTime(body) - started
	for _, c := range s.byType[le.Uint32(body[ringdata.TypedType:])] {
		if c.kind == onEvent || started > 0 && took > c.limit && c.names.match(body) {
			s.fire(&c, body, took)
		}
	}
}

// fire reports an event that meets a condition.
func (s *conditionSink) fire(c *typeCondition, body []byte, took int64) {
	if len(s.fired) == cap(s.fired) {
		return // in a storm, nothing is copied
	}
	if c.of.source != nil && s.isOwn(binary.LittleEndian.Uint32(body[ringdata.HdrTID:])) {
		return // the system calls by which a snapshot is written would lead to the next one
	}
	f := firing{Mark: markOf(c.text, body), of: c.of, record: bytes.Clone(body)}
	if c.kind == onSlow {
		f.took = took
	}
	s.hold(f)
}

// isOwn reports whether a thread is one of the recorder's.
func (s *conditionSink) isOwn(tid uint32) bool {
	own, known := s.own[tid]
	if !known {
		_, err := os.Stat("/proc/self/task/" + strconv.FormatUint(uint64(tid), 10))
		own = err == nil
		s.own[tid] = own
	}
	return own
}

func (s *conditionSink) hold(f firing) {
	select {
	case s.fired <- f:
	default:
	}
}

// unpack gives a switch or a waking to the times of threads.
func (s *conditionSink) unpack(d *ringdata.Decoder, raw []byte) {
	var n int
	if s.scratch, n = d.Append(s.scratch[:0], raw); n <= 0 || len(s.scratch) < ringdata.HeaderBytes+ringdata.WakingSize {
		return
	}
	s.threads.take(s.scratch[ringdata.HeaderBytes:])
	if s.counted != nil {
		s.counted.take(s.scratch[ringdata.HeaderBytes:])
	}
}

// Round implements sink.
func (s *conditionSink) Round(round spool.Round) error {
	clear(s.own) // ids are used again
	if s.counted != nil {
		s.counted.endRound(round.Time)
	}
	if s.threads != nil {
		s.threads.endRound(round.Time, func(check threadCheck) {
			if len(s.waiting) < maxWaitingChecks { // else it is found when the thread waits the next time
				s.waiting = append(s.waiting, check)
			}
		})
		s.passChecks()
	}
	return s.sink.Round(round)
}

// passChecks passes threads on to be compared, as many as there is room for.
func (s *conditionSink) passChecks() {
	for i := range s.waiting {
		select {
		case s.checks <- s.waiting[i]:
		default:
			s.waiting = append(s.waiting[:0], s.waiting[i:]...)
			return
		}
	}
	s.waiting = s.waiting[:0]
}

// namedTasks takes the names of threads for conditions from lists on their way to a sink.
type namedTasks struct {
	taskSink
	threads *threadTimes
	rest    []byte // of a record that is not complete yet
}

// BeginTasks implements taskSink.
func (n *namedTasks) BeginTasks() {
	n.rest = n.rest[:0]
	n.taskSink.BeginTasks()
}

// Tasks implements taskSink.
func (n *namedTasks) Tasks(raw []byte) error {
	n.rest = append(n.rest, raw...)
	whole := len(n.rest) / ringdata.TaskSize * ringdata.TaskSize
	n.threads.list(n.rest[:whole])
	n.rest = append(n.rest[:0], n.rest[whole:]...)
	return n.taskSink.Tasks(raw)
}
