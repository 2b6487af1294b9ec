package capture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/proc"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/spool"
	"wprof/internal/syscalls"
	"wprof/internal/tracepoint"
)

func TestConditionsAreParsed(t *testing.T) {
	for text, want := range map[string]Condition{
		"crash":              {kind: onCrash},
		"loss":               {kind: onLoss},
		"req":                {kind: onEvent, name: "req"},
		"slow:req>50ms":      {kind: onSlow, name: "req", limit: 50e6},
		"offcpu:nginx*>1.5s": {kind: onOffCPU, name: "nginx*", limit: 15e8},
		"slow:syscall:f*>1s": {kind: onSlow, name: "syscall:f*", limit: 1e9},
		"runq:>20ms":         {kind: onRunq, name: "*", limit: 20e6},
		"runq:a:b>20ms":      {kind: onRunq, name: "a:b", limit: 20e6},
		"slow:req > 50ms":    {kind: onSlow, name: "req", limit: 50e6},

		"counter:page-faults>1000/s":                 {kind: onCounter, name: "page-faults", counter: counterLimit{"*", false, 1000, time.Second}},
		"counter:sched:sched_switch@*x > 1.5k/250ms": {kind: onCounter, name: "sched:sched_switch", counter: counterLimit{"*x", false, 1500, 250 * time.Millisecond}},
		"counter:ipc@nginx*<0.5":                     {kind: onCounter, name: "ipc", counter: counterLimit{"nginx*", true, 0.5, 0}},
	} {
		want.text = text
		if got, err := ParseCondition(text); err != nil || *got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":             "is none of ID",
		"slow:req":     "has no limit: write slow:req>50ms",
		"slow:>5ms":    "names no probe or source: write slow:ID>50ms, or slow:syscall>50ms",
		"slow:req>0":   "has to be longer than 0",
		"slow:req>5":   "has no unit",
		"other:x>5ms":  "is none of ID",
		"crash>5ms":    "is none of ID",
		"offcpu>100ms": "is none of ID, slow:ID>TIME, slow:SOURCE>TIME, offcpu:GLOB>TIME, runq:GLOB>TIME, counter:NAME>NUMBER/s, crash and loss; write offcpu:>100ms",

		"span(req) > 50ms":      "; write slow:req>50ms",
		"syscall(fsync) > 50ms": "; write slow:syscall:fsync>50ms",
		"block > 50ms":          "; write slow:block>50ms",
		"offcpu(nginx*) > 50ms": "; write offcpu:nginx*>50ms",
		"runq:>5ms":             "at least 10ms",

		"counter:":                  "names no counter",
		"counter:@x>1/s":            "names no counter",
		"counter:page-faults":       "has no limit: write counter:page-faults>1000/s",
		"counter:page-faults>many":  `"many" is no number like 1000, 100k or 0.5`,
		"counter:page-faults>-1/s":  `"-1" is no number`,
		"counter:page-faults>1/":    "after / there has to be a time like s or 100ms",
		"counter:page-faults>1/day": "after / there has to be a time like s or 100ms",
		"counter:page-faults>1/1ms": "events are counted for 100ms to 1m0s",
	} {
		if _, err := ParseCondition(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// drained is a switch or a waking in a ring.
type drained struct {
	at   int64
	ring int
	b    []byte
}

func switchRecord(at int64, prev, next, state uint32) []byte {
	b := make([]byte, ringdata.SwitchSize)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.HdrTS:], uint64(at))
	b[ringdata.HdrKind], b[ringdata.HdrFlags] = ringdata.KindSwitch, ringdata.FlagSubject|ringdata.FlagObject
	le.PutUint32(b[ringdata.HdrTID:], prev)
	le.PutUint32(b[ringdata.SwitchNextTID:], next)
	le.PutUint32(b[ringdata.SwitchPrevState:], state)
	return b
}

func wakingRecord(at int64, wakee uint32) []byte {
	b := make([]byte, ringdata.WakingSize)
	le := binary.LittleEndian
	le.PutUint64(b[ringdata.HdrTS:], uint64(at))
	b[ringdata.HdrKind], b[ringdata.HdrFlags] = ringdata.KindWaking, ringdata.FlagSubject|ringdata.FlagObject
	le.PutUint32(b[ringdata.WakingWakeeTID:], wakee)
	return b
}

// Threads move between two CPUs, whose rings are drained one after the other in rounds, some of which are much longer than the limits. What is
// found is every time blocked, or waiting for a CPU, that is longer than the limit, and nothing else.
func TestLongWaitsAreFoundWhicheverRingComesFirst(t *testing.T) {
	const offLimit, waitLimit = int64(120e6), int64(30e6)
	for name, rounds := range map[string][]int64{"short rounds": {25e6}, "a draining thread that is held up": {25e6, 25e6, 700e6, 29e6, 1900e6}} {
		t.Run(name, func(t *testing.T) {
			found := 0
			for seed := range uint64(200) {
				all, want := moves(rand.New(rand.NewPCG(seed, 2)), offLimit, waitLimit)
				got := findWaits(all, rounds, offLimit, waitLimit)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: found %v, want %v", seed, got, want)
				}
				found += len(got)
			}
			if found < 1000 {
				t.Errorf("only %d waits were too long", found)
			}
		})
	}
}

// moves returns what three threads do for three seconds on two CPUs, and which of their waits are longer than limits.
func moves(rng *rand.Rand, offLimit, waitLimit int64) (all []drained, tooLong []string) {
	for tid := uint32(1); tid <= 3; tid++ {
		at := int64(1e9) + rng.Int64N(1e6)
		for at < 4e9 {
			ran := 1e3 + rng.Int64N(5e6)
			left := at + ran
			ring, state := rng.IntN(2), uint32(1)
			blocked, waited := rng.Int64N(10e6), rng.Int64N(5e6)
			switch rng.IntN(10) {
			case 0:
				blocked += offLimit
			case 1:
				waited += waitLimit
			case 2:
				state, blocked, waited = 0, 0, waited+waitLimit
			case 3:
				state, blocked, waited = 0, 0, waited+offLimit
			}
			woken := left + 1 + blocked
			came := woken + waited
			all = append(all, drained{left, ring, switchRecord(left, tid, 0, state)})
			if rng.IntN(4) == 0 { // before it really goes to sleep
				all = append(all, drained{left - 1, ring, wakingRecord(left-1, tid)})
				if waited > waitLimit { // that one is the only one
					woken = 0
				}
			}
			if state != 0 && woken != 0 {
				all = append(all, drained{woken, rng.IntN(2), wakingRecord(woken, tid)})
			} else {
				woken = left
			}
			if came-woken > waitLimit {
				tooLong = append(tooLong, fmt.Sprint("wait ", tid, came-woken))
			}
			if woken-left > offLimit {
				tooLong = append(tooLong, fmt.Sprint("off ", tid, woken-left))
			}
			all = append(all, drained{came, rng.IntN(2), switchRecord(came, 0, tid, 0)})
			at = came
		}
	}
	slices.Sort(tooLong)
	return all, tooLong
}

// findWaits drains records in rounds of these lengths, over and over.
func findWaits(all []drained, rounds []int64, offLimit, waitLimit int64) (found []string) {
	times := newThreadTimes([]*Condition{{kind: onOffCPU, limit: offLimit}, {kind: onRunq, limit: waitLimit}})
	note := func(c threadCheck) {
		if c.off > 0 {
			found = append(found, fmt.Sprint("off ", c.tid, c.off))
		}
		if c.wait > 0 {
			found = append(found, fmt.Sprint("wait ", c.tid, c.wait))
		}
	}
	slices.SortFunc(all, func(a, b drained) int { return cmp.Compare(a.at, b.at) })
	for n, end := 0, int64(1e9); len(all) > 0; n++ {
		end += rounds[n%len(rounds)]
		count, _ := slices.BinarySearchFunc(all, end, func(d drained, at int64) int { return cmp.Compare(d.at, at) })
		round := slices.Clone(all[:count])
		slices.SortStableFunc(round, func(a, b drained) int { return a.ring - b.ring })
		times.begin(end)
		for _, one := range round {
			times.take(one.b)
		}
		times.endRound(end, note)
		all = all[count:]
	}
	slices.Sort(found)
	return found
}

// Of thousands of threads, whose tids have gaps as on a machine that has run for long, all that come back are found.
func TestThreadsOfAnyTidsAreFollowed(t *testing.T) {
	times := newThreadTimes([]*Condition{{kind: onOffCPU, limit: 100e6}})
	rng := rand.New(rand.NewPCG(1, 2))
	tids := make(map[uint32]bool)
	for len(tids) < 4000 {
		tids[1+rng.Uint32N(1<<22)] = true
	}
	found := make(map[uint32]bool)
	at := int64(1e9)
	drain := func(some int, record func(tid uint32) []byte) {
		times.begin(at)
		for tid := range tids {
			if some--; some >= 0 {
				times.take(record(tid))
			}
		}
		times.endRound(at, func(c threadCheck) { found[c.tid] = true })
		at += 50e6
	}
	drain(len(tids), func(tid uint32) []byte { return switchRecord(at, tid, 0, 1) })
	for range 10 { // others come, and end
		drain(500, func(tid uint32) []byte { return switchRecord(at, 1<<22+tid, 0, taskDead) })
	}
	drain(len(tids), func(tid uint32) []byte { return switchRecord(at, 0, tid, 0) })
	if len(found) < len(tids)-4 {
		t.Errorf("%d of %d threads were found", len(found), len(tids))
	}
}

// A ring whose records come a round later than those of another ring neither hides a thread that is blocked, nor makes one that has come back
// look blocked.
func TestThreadsAreFollowedWhenARingIsHeldBack(t *testing.T) {
	const shift = int64(1e9)
	for name, c := range map[string]struct {
		rounds [][][]byte
		want   string
	}{
		"on a CPU before it was blocked": {[][][]byte{
			{switchRecord(shift+20e6, 7, 0, 1)},
			{switchRecord(shift+10e6, 0, 7, 0)},
			{switchRecord(shift+200e6, 0, 7, 0)},
		}, "[180000000]"},
		"blocked before it was on a CPU": {[][][]byte{
			{switchRecord(shift+20e6, 7, 0, 1)},
			{switchRecord(shift+10e6, 0, 7, 0), switchRecord(shift+15e6, 7, 0, 1)},
			{switchRecord(shift+117e6, 0, 7, 0)},
		}, "[]"},
		"blocked before it came back": {[][][]byte{
			{switchRecord(shift+20e6, 0, 7, 0)},
			{switchRecord(shift+10e6, 7, 0, 1)},
			{switchRecord(shift+190e6, 7, 0, 1), switchRecord(shift+195e6, 0, 7, 0)},
		}, "[]"},
	} {
		times := newThreadTimes([]*Condition{{kind: onOffCPU, limit: 100e6}})
		found := []int64{}
		for i, round := range c.rounds {
			for _, record := range round {
				times.take(record)
			}
			times.endRound(shift+int64(i+1)*80e6, func(c threadCheck) { found = append(found, c.off) })
		}
		if got := fmt.Sprint(found); got != c.want {
			t.Errorf("%s: times off the CPU of %s, want %s", name, got, c.want)
		}
	}
}

// Of a thread that the filters leave out only what is next to others is recorded: it may have run in between.
func TestThreadsThatFiltersLeaveOutAreNotFollowed(t *testing.T) {
	times := newThreadTimes([]*Condition{{kind: onOffCPU, limit: 100e6}, {kind: onRunq, limit: 100e6}})
	hide := func(b []byte, flag uint8) []byte {
		b[ringdata.HdrFlags] &^= flag
		return b
	}
	found := []uint32{}
	for i, record := range [][]byte{
		hide(switchRecord(1e9, 7, 8, 1), ringdata.FlagSubject), switchRecord(11e8, 8, 0, 1), hide(wakingRecord(12e8, 7), ringdata.FlagObject),
		hide(switchRecord(14e8, 9, 7, 1), ringdata.FlagObject), hide(switchRecord(16e8, 7, 8, 0), ringdata.FlagSubject),
	} {
		times.take(record)
		times.endRound(1e9+int64(i)*1e8, func(c threadCheck) { found = append(found, c.tid) })
	}
	if got := fmt.Sprint(found); got != "[8]" {
		t.Errorf("threads %s were found, want 8 alone", got)
	}
}

// A thread whose name matches nothing is left out for a while, but not under a name that it gets before that is known.
func TestThreadsAreComparedAgainUnderANewName(t *testing.T) {
	times := newThreadTimes([]*Condition{{kind: onOffCPU, name: "slow", limit: 100e6}})
	at, found := int64(1e9), 0
	sleep := func() (last threadCheck) {
		for range 2 {
			times.take(switchRecord(at, 7, 0, 1))
			times.endRound(at, func(threadCheck) {})
			at += 200e6
			times.take(switchRecord(at, 0, 7, 0))
			times.endRound(at, func(c threadCheck) { last, found = c, found+1 })
		}
		return last
	}
	check := sleep()
	named := make([]byte, ringdata.IdentProcessComm+ringdata.IdentProcessCommSize)
	binary.LittleEndian.PutUint32(named[ringdata.IdentTID:], 7)
	binary.LittleEndian.PutUint32(named[ringdata.IdentPID:], 7)
	copy(named[ringdata.IdentComm:], "slow")
	times.identify(at, named)
	older := slices.Clone(named)
	copy(older[ringdata.IdentComm:], "bash")
	times.identify(at-1, older) // of a ring that is drained later
	if thread, _, _ := times.entry(7).names.strings(); string(thread) != "slow" {
		t.Errorf("the thread is called %s", thread)
	}
	times.ignore(quietThread{tid: 7, names: check.names, until: at + quietFor})
	if sleep(); found != 4 {
		t.Errorf("%d of 4 times off the CPU were found", found)
	}
	times.ignore(quietThread{tid: 7, names: sleep().names, until: at + quietFor})
	if sleep(); found != 6 {
		t.Errorf("%d times off the CPU were found, want 6: then the thread is left out", found)
	}
}

// A thread that has never run was not blocked, and it has the name of its return, although it takes another one before the round ends.
func TestNewThreadsWaitUnderTheirFirstNames(t *testing.T) {
	named := func(name string) []byte {
		b := make([]byte, ringdata.IdentProcessComm+ringdata.IdentProcessCommSize)
		binary.LittleEndian.PutUint32(b[ringdata.IdentTID:], 7)
		binary.LittleEndian.PutUint32(b[ringdata.IdentPID:], 7)
		copy(b[ringdata.IdentComm:], name)
		return b
	}
	began := wakingRecord(1e9+1, 7)
	began[ringdata.HdrKind] = ringdata.KindWakeupNew
	for _, laterFirst := range []bool{false, true} {
		times := newThreadTimes([]*Condition{{kind: onOffCPU, limit: 100e6}, {kind: onRunq, limit: 100e6}})
		var found []string
		note := func(c threadCheck) {
			thread, _, _ := c.names.strings()
			found = append(found, fmt.Sprintf("%s off %d, waiting %d", thread, c.off, c.wait))
		}
		times.take(began)
		if !laterFirst { // else its ring is drained in the next round
			times.identify(1e9, named("parent"))
		}
		times.endRound(1e9+2, note)
		times.identify(12e8, named("second"))
		times.identify(11e8+5, named("first"))
		if laterFirst {
			times.identify(1e9, named("parent"))
		}
		times.take(switchRecord(11e8+4, 0, 7, 0))
		times.endRound(12e8, note)
		if got := fmt.Sprint(found); got != "[parent off 0, waiting 100000003]" {
			t.Errorf("found %s", got)
		}
		if thread, _, _ := times.entry(7).names.strings(); string(thread) != "second" || len(times.named) != 0 {
			t.Errorf("the thread is called %s then, with %d names before", thread, len(times.named))
		}
	}
}

// Threads whose names are to be compared wait where the goroutine that does so is late.
func TestChecksWaitForRoom(t *testing.T) {
	s := newConditionSink(nowhere{}, &conditions{aboutThreads: []*Condition{{kind: onOffCPU, limit: 100e6}}}, 1)
	const threads = 3000
	at := int64(1e9)
	for _, came := range []bool{false, true} {
		for tid := range uint32(threads) {
			b := switchRecord(at, 1+tid, 0, 1)
			if came {
				b = switchRecord(at, 0, 1+tid, 0)
			}
			s.threads.take(b)
		}
		_ = s.Round(spool.Round{Time: at})
		at += 200e6
	}
	found := make(map[uint32]bool)
	for range threads {
		for len(s.checks) > 0 {
			found[(<-s.checks).tid] = true
		}
		_ = s.Round(spool.Round{Time: at})
	}
	if len(found) != threads {
		t.Errorf("%d of %d threads were compared", len(found), threads)
	}
}

func TestLossIsACondition(t *testing.T) {
	le := binary.LittleEndian
	whole := func(kind uint8, size, at int, v uint32) []byte {
		b := make([]byte, ringdata.HeaderBytes+size)
		le.PutUint32(b, uint32(size))
		b[ringdata.HeaderBytes+ringdata.HdrKind] = kind
		le.PutUint32(b[ringdata.HeaderBytes+at:], v)
		return b
	}
	for name, c := range map[string]struct {
		record []byte
		want   int
	}{
		"a full ring":   {whole(ringdata.KindLost, ringdata.LostSize, ringdata.LostCounts, 1), 1},
		"a full table":  {whole(ringdata.KindMissing, ringdata.MissingSize, ringdata.MissingCause, ringdata.MissingCauseTable), 1},
		"a limit":       {whole(ringdata.KindMissing, ringdata.MissingSize, ringdata.MissingCause, ringdata.MissingCauseLimit), 0},
		"another event": {whole(ringdata.KindExit, ringdata.ExitSize, ringdata.ExitCode, 11), 0},
	} {
		s := newConditionSink(nowhere{}, &conditions{losses: []*Condition{{kind: onLoss}}}, 1)
		if err := s.Ring(0, 0, c.record); err != nil || len(s.fired) != c.want {
			t.Errorf("%s: %d reasons, %v, want %d", name, len(s.fired), err, c.want)
		}
	}
}

// TestSpansOfSourcesAreComparedByName has spans whose names are their type's, a number in a table, a text that was defined before, and the number
// of a system call.
func TestSpansOfSourcesAreComparedByName(t *testing.T) {
	le := binary.LittleEndian
	span := func(number uint32, took uint64, words ...uint64) []byte {
		b := make([]byte, ringdata.TypedValues+8*len(words))
		le.PutUint64(b[ringdata.HdrTS:], 1e9+took)
		b[ringdata.HdrKind] = ringdata.KindTyped
		le.PutUint64(b[ringdata.TypedStart:], 1e9)
		le.PutUint32(b[ringdata.TypedType:], number)
		for i, w := range words {
			le.PutUint64(b[ringdata.TypedValues+8*i:], w)
		}
		return b
	}
	open := span(ringdata.TypeWork, 60e6, 7, 0, 0)
	open[ringdata.HdrFlags] = ringdata.FlagOpen
	call := make([]byte, ringdata.SyscallSize)
	copy(call, span(ringdata.TypeSyscall, 60e6))
	le.PutUint16(call[ringdata.SyscallNumber:], uint16(slices.Index(syscalls.Names("x86_64"), "fsync")))
	ours := bytes.Clone(call)
	le.PutUint32(ours[ringdata.HdrTID:], uint32(os.Getpid()))
	all := map[string][]byte{
		"the recorder's own fsync": ours,
		"work a":                   span(ringdata.TypeWork, 60e6, 7, 0, 0), "work b": span(ringdata.TypeWork, 60e6, 8, 0, 0), "short work a": span(ringdata.TypeWork, 40e6, 7, 0, 0),
		"open work a": open, "write": span(ringdata.TypeBlock, 60e6, 1, 0, 0, 0, 0, 0, 0, 0, 0), "read": span(ringdata.TypeBlock, 60e6, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		"cut": span(ringdata.TypeBlock, 60e6), "fsync": call,
	}
	for text, want := range map[string]string{
		"slow:work>50ms": "[work a work b]", "slow:work:*_a>50ms": "[work a]", "slow:work:none>50ms": "[]", "slow:block:write>50ms": "[write]", "slow:block>50ms": "[cut read write]",
		"slow:syscall:fsync>50ms": "[fsync]", "slow:syscall:f*>50ms": "[fsync]", "slow:syscall:read>50ms": "[]",
	} {
		one, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		cfg := &Config{Flight: &Flight{On: []*Condition{one}}}
		cfg.Kernel.Sources, cfg.Kernel.Calls.Machine = sources.All(), "x86_64"
		if cfg.Kernel.Calls.Selection, err = syscalls.Select("x86_64", nil); err != nil {
			t.Fatal(err)
		}
		c, err := cfg.conditions()
		if err != nil {
			t.Fatal(err)
		}
		s := newConditionSink(nowhere{}, c, 1)
		for id, text := range map[uint64]string{7: "function_a", 8: "function_b"} {
			b := make([]byte, ringdata.TextSize)
			b[ringdata.HdrKind] = ringdata.KindText
			le.PutUint64(b[ringdata.TextID:], id)
			copy(b[ringdata.TextText:], text)
			s.record(0, uint32(len(b)), append(make([]byte, ringdata.HeaderBytes), b...))
		}
		var held []string
		for name, b := range all {
			s.record(0, uint32(len(b)), append(make([]byte, ringdata.HeaderBytes), b...))
			for len(s.fired) > 0 {
				<-s.fired
				held = append(held, name)
			}
		}
		slices.Sort(held)
		if got := fmt.Sprint(held); got != want {
			t.Errorf("%s holds for %s, want %s", text, got, want)
		}
	}
}

// nowhere is a sink.
type nowhere struct{}

func (nowhere) Ring(int, uint64, []byte) error { return nil }
func (nowhere) Sideband([]byte) error          { return nil }
func (nowhere) Round(spool.Round) error        { return nil }

// BenchmarkConditions measures what conditions cost a record: switches between two threads, as the programs pack them. For counters that
// includes what another thread does with it.
func BenchmarkConditions(b *testing.B) {
	const records = 1000
	for _, text := range []string{"crash", "runq:>20ms", "counter:faults@a*>1000k/s"} {
		b.Run(text, func(b *testing.B) {
			c, err := ParseCondition(text)
			if err != nil {
				b.Fatal(err)
			}
			cfg := &Config{Flight: &Flight{On: []*Condition{c}}, Stacks: Stacks{Timer: 1}, Counters: testCounters}
			all, err := cfg.conditions()
			if err != nil {
				b.Fatal(err)
			}
			s, watch := newConditionSink(nowhere{}, all, 1), newCounterWatch(all)
			run := packedSwitches(records, c.kind == onCounter)
			for b.Loop() {
				_ = s.Ring(0, 0, run)
				_ = s.Round(spool.Round{Time: proc.Monotonic()})
				if s.counted != nil {
					batch := <-s.counted.ready
					watch.take(batch, func(*counterCondition, string) { b.Error("the condition holds") })
					s.counted.free <- batch
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
		})
	}
}

// packedSwitches are switches between two threads in a ring, 1 us apart, perhaps with two counts.
func packedSwitches(n int, areCounted bool) []byte {
	le := binary.LittleEndian
	first := switchRecord(1e9, 0, 1, 0)
	run := append(le.AppendUint64(nil, uint64(len(first))), first...)
	for i := range uint32(n) {
		packed := make([]byte, ringdata.PackedSwitchSize)
		le.PutUint32(packed[ringdata.PackedSwitchNextTID:], 1+i%2)
		header := ringdata.HeaderPacked | uint32(ringdata.KindSwitch<<ringdata.HeaderKindShift)
		if areCounted {
			packed = append(packed, make([]byte, ringdata.CountsPartSize+16)...)
			packed = le.AppendUint64(packed, ringdata.PartCounts|uint64(ringdata.CountsPartSize+16)/8<<16)
			header |= ringdata.HeaderParts
		}
		run = le.AppendUint32(run, header|uint32(len(packed)))
		run = le.AppendUint32(run, 1e9+1000*i)
		run = append(run, packed...)
	}
	return run
}

// A message says what the event was about that met a condition.
func TestFiringsDescribeTheirRecords(t *testing.T) {
	le := binary.LittleEndian
	field := func(name string, of format.ValueType, hint format.ValueHint) *format.TypeField {
		return &format.TypeField{Name: []byte(name), Type: uint32(of), Hint: uint32(hint)}
	}
	layout := &tracepoint.Layout{
		Def: &format.EventType{Name: []byte("f"), Fields: []*format.TypeField{
			field("size", format.ValueType_VALUE_INT, 0), field("path", format.ValueType_VALUE_STRING, 0), field("by", format.ValueType_VALUE_TASK, 0),
			field("failed", format.ValueType_VALUE_UINT, 0), field("unread", format.ValueType_VALUE_UINT, format.ValueHint_HINT_UNREAD),
		}},
		Places: []tracepoint.Place{
			{Size: 8, Signed: true}, {Offset: 16, Size: 700}, {Offset: 8, Size: 4}, {Offset: 8, Size: 4}, {Offset: 12, Size: 4},
		},
	}
	values := make([]byte, 16+700)
	le.PutUint64(values, ^uint64(4))
	le.PutUint32(values[8:], 12)
	le.PutUint32(values[12:], 1<<3)
	copy(values[16:], "/a\x1b"+strings.Repeat("x", 600))
	span := make([]byte, ringdata.TracepointBytes)
	span[ringdata.HdrKind] = ringdata.KindTyped
	le.PutUint32(span[ringdata.TracepointLength:], uint32(len(values)))
	instant := make([]byte, ringdata.InstantBytes)
	instant[ringdata.HdrKind] = ringdata.KindInstant
	call := make([]byte, ringdata.SyscallSize)
	le.PutUint16(call[ringdata.SyscallNumber:], 74)
	softirq := make([]byte, ringdata.TypedValues+32)
	le.PutUint64(softirq[ringdata.TypedValues:], 3)
	probe := &recordNames{layout: layout}
	want := "[size=-5 path=/a\\x1b" + strings.Repeat("x", maxDescribed-len("size=-5path=/a\x1b")) + "…]"
	for name, c := range map[string]struct {
		of     *recordNames
		record []byte
		want   string
	}{
		"a span":          {probe, append(span, values...), want},
		"an instant":      {probe, append(instant, values...), want},
		"a short record":  {probe, span[:ringdata.InstantBytes], "[]"},
		"a system call":   {namesOfSource(sourceNamed(t, "syscall"), "x86_64"), call, "[fsync]"},
		"a call, cut off": {namesOfSource(sourceNamed(t, "syscall"), "x86_64"), call[:8], "[]"},
		"a softirq":       {namesOfSource(sourceNamed(t, "softirq"), "x86_64"), softirq, "[softirq NET_RX]"},
		"nothing":         {nil, nil, "[]"},
	} {
		if got := fmt.Sprint(c.of.describe(c.record)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// sourceNamed is a type of the table of sources.
func sourceNamed(t *testing.T, name string) *sources.Type {
	t.Helper()
	for _, one := range sources.Table() {
		if string(one.Def.Name) == name {
			return &one
		}
	}
	t.Fatalf("no source is called %s", name)
	return nil
}
