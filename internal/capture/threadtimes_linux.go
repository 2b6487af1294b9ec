package capture

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"wprof/internal/ringdata"
)

// threadTimes finds threads that were blocked, or waited for a CPU, for longer than the limits of conditions, as a timeline has these times. Rings are drained one
// after the other, so the records of a thread come out of order within a round. Rounds are not longer than the limits, so that a time which
// is too long began in an earlier round, and ended when the thread came to a CPU first in this one. A round that is longer, because the
// draining thread did not get a CPU, is replayed in order of time as several short ones.
type threadTimes struct {
	// The shortest limits of conditions, ns; 0: there is none.
	offLimit, waitLimit int64

	tids    []uint32 // of entries; 0: it is free
	entries []threadEntry
	round   uint32
	touched []uint32   // indices of entries with records in this round
	named   []renaming // in this round

	began   bool  // this round has records
	last    int64 // time of the round before, CLOCK_MONOTONIC ns
	isLong  bool  // this round is longer than a limit: its records are held, to be replayed in order
	held    []heldRecord
	dropped bool // held had no room for some

	mu    sync.Mutex
	quiet []quietThread // found since the last round
}

// threadEntry has the last times of a thread.
type threadEntry struct {
	tid         uint32
	round       uint32 // of the times in now
	left, woken int64  // when it left its CPU, and was woken, before this round; left 0: it is on one, or not known
	came        int64  // to a CPU last, before this round
	runnable    bool   // it left its CPU without waiting for anything, or had none yet

	now roundTimes

	quietOff, quietWait int64 // until then the thread's name is known to match no condition
	names               identity
	isNamed             bool // in this round
}

// heldRecord is an unpacked switch, or a waking, which is shorter.
type heldRecord [ringdata.SwitchSize]byte

// roundTimes are the first and last times of a round; 0: there was none.
type roundTimes struct {
	firstCame, lastCame, lastLeft int64
	firstWoken, lastWoken         int64
	runnable, ended               bool // of lastLeft
}

// identity has the names of a thread from records of a fork, exec or rename; pid 0: there was none.
type identity struct {
	at              int64 // time of that record
	pid             uint32
	thread, process [16]byte
}

// renaming is that a thread gets names, or had them when the round began.
type renaming struct {
	tid   uint32
	names identity
}

// threadCheck is a thread that was blocked, or waited for a CPU, for too long.
type threadCheck struct {
	tid       uint32
	off, wait int64    // ns; 0: not too long
	came      int64    // when it came to a CPU, CLOCK_MONOTONIC ns
	names     identity // it had then
}

// quietThread is a thread whose name matches no condition about times off the CPU, or about waiting. If it has got another name since,
// this no longer holds.
type quietThread struct {
	tid       uint32
	names     identity
	isWaiting bool  // it is about waiting
	until     int64 // when its name is compared again
}

// taskDead is TASK_DEAD in include/linux/sched.h.
const taskDead = 0x80

const (
	// threadEntries is how many threads are followed at most. They are a set-associative cache: the tid selects a set of threadWays entries, in
	// which a new thread replaces that without records for longest.
	threadEntries = 1 << 15
	threadWays    = 8
	threadSets    = threadEntries / threadWays
	// quietFor is how long a thread whose name matches nothing is not looked at again, ns: it may get another name.
	quietFor = 2e9
	// maxQuiet bounds the threads that are found between two rounds.
	maxQuiet = 1024
	// maxNamed bounds the names that are kept of a round.
	maxNamed = 1 << 12
	// maxHeld bounds the held records of a long round.
	maxHeld = 1 << 20
)

func newThreadTimes(all []*Condition) *threadTimes {
	t := &threadTimes{tids: make([]uint32, threadEntries), entries: make([]threadEntry, threadEntries), round: 1}
	for _, c := range all {
		shortest := &t.offLimit
		if c.kind == onRunq {
			shortest = &t.waitLimit
		}
		if *shortest == 0 || c.limit < *shortest {
			*shortest = c.limit
		}
	}
	return t
}

// find returns the index of a thread's entry, or else of the first one of its set.
func (t *threadTimes) find(tid uint32) (index uint32, found bool) {
	first := tid % threadSets * threadWays
	for i, other := range t.tids[first : first+threadWays] {
		if other == tid {
			return first + uint32(i), true
		}
	}
	return first, false
}

// entry returns the entry of a thread, which has records in this round.
func (t *threadTimes) entry(tid uint32) *threadEntry {
	i, found := t.find(tid)
	if !found {
		i = t.replaceable(i)
		t.tids[i] = tid
		t.entries[i] = threadEntry{tid: tid, round: t.entries[i].round}
	}
	e := &t.entries[i]
	if e.round != t.round {
		e.round, e.now = t.round, roundTimes{}
		t.touched = append(t.touched, i)
	}
	return e
}

// replaceable returns a free entry of the set that begins at an index, or else that without records for longest.
func (t *threadTimes) replaceable(first uint32) uint32 {
	oldest := first
	for i := first; i < first+threadWays; i++ {
		if t.tids[i] == 0 {
			return i
		}
		if t.entries[i].round < t.entries[oldest].round {
			oldest = i
		}
	}
	return oldest
}

// begin is called before the records of a round are taken.
func (t *threadTimes) begin(now int64) {
	if !t.began {
		limit := t.shortestLimit() // 0: no condition is about times, and nothing is held
		t.began, t.isLong = true, limit > 0 && t.last != 0 && now-t.last > limit
	}
}

// shortestLimit is the shortest of all conditions, ns.
func (t *threadTimes) shortestLimit() int64 {
	if t.offLimit == 0 || t.waitLimit > 0 && t.waitLimit < t.offLimit {
		return t.waitLimit
	}
	return t.offLimit
}

// take takes an unpacked switch or waking.
func (t *threadTimes) take(b []byte) {
	switch {
	case !t.isLong:
		t.apply(b)
	case len(t.held) < maxHeld:
		var held heldRecord
		copy(held[:], b)
		t.held = append(t.held, held)
	default:
		t.dropped = true
	}
}

// apply takes the sides of a record that the filters select: what else the other threads do is not recorded.
func (t *threadTimes) apply(b []byte) {
	le := binary.LittleEndian
	at := recordTime(b)
	isSubject, isObject := b[ringdata.HdrFlags]&ringdata.FlagSubject != 0, b[ringdata.HdrFlags]&ringdata.FlagObject != 0
	switch b[ringdata.HdrKind] {
	case ringdata.KindWakeupNew, ringdata.KindWaking:
		if isObject {
			t.wake(b, at)
		}
		return
	}
	if len(b) < ringdata.SwitchSize {
		return
	}
	if tid := le.Uint32(b[ringdata.HdrTID:]); tid != 0 && isSubject {
		state := le.Uint32(b[ringdata.SwitchPrevState:])
		t.entry(tid).leave(at, state == 0 || b[ringdata.HdrFlags]&ringdata.FlagPreempted != 0, state&taskDead != 0)
	}
	if tid := le.Uint32(b[ringdata.SwitchNextTID:]); tid != 0 && isObject {
		t.entry(tid).come(at)
	}
}

// wake takes a waking.
func (t *threadTimes) wake(b []byte, at int64) {
	tid := binary.LittleEndian.Uint32(b[ringdata.WakingWakeeTID:])
	switch {
	case b[ringdata.HdrKind] == ringdata.KindWakeupNew:
		t.entry(tid).leave(at, true, false)
	case tid != binary.LittleEndian.Uint32(b[ringdata.HdrTID:]): // a thread that wakes itself was about to sleep, and runs on
		t.entry(tid).wake(at)
	}
}

// A record that was held back in its ring for a round is older than what is known of its thread, and changes nothing: a later one of
// another ring has said where the thread was then.
func (e *threadEntry) leave(at int64, runnable, ended bool) {
	if at > max(e.now.lastLeft, e.left) && at >= e.came {
		e.now.lastLeft, e.now.runnable, e.now.ended = at, runnable, ended
	}
}

func (e *threadEntry) come(at int64) {
	if at <= e.left {
		return
	}
	if e.now.firstCame == 0 || at < e.now.firstCame {
		e.now.firstCame = at
	}
	e.now.lastCame = max(e.now.lastCame, at)
}

func (e *threadEntry) wake(at int64) {
	if e.now.firstWoken == 0 || at < e.now.firstWoken {
		e.now.firstWoken = at
	}
	e.now.lastWoken = max(e.now.lastWoken, at)
}

// list takes the names of threads from rec_tasks. No thread loses its entry to one of the list.
func (t *threadTimes) list(tasks []byte) {
	for ; len(tasks) >= ringdata.TaskSize; tasks = tasks[ringdata.TaskSize:] {
		ident := tasks[ringdata.TaskIdent:]
		tid := binary.LittleEndian.Uint32(ident[ringdata.IdentTID:])
		i, found := t.find(tid)
		if !found {
			i = t.replaceable(i)
		}
		if tid != 0 && (t.tids[i] == 0 || found && t.entries[i].names.at == 0) {
			t.identify(recordTime(tasks), ident)
		}
	}
}

// identify takes the names of a thread from the rec_ident of a record of a time. A record of another ring may be later, and drained before.
func (t *threadTimes) identify(at int64, b []byte) {
	le := binary.LittleEndian
	e := t.entry(le.Uint32(b[ringdata.IdentTID:]))
	names := identity{at: at, pid: le.Uint32(b[ringdata.IdentPID:])}
	copy(names.thread[:], b[ringdata.IdentComm:][:ringdata.IdentCommSize])
	copy(names.process[:], b[ringdata.IdentProcessComm:][:ringdata.IdentProcessCommSize])
	if !e.isNamed && e.names.at != 0 {
		t.note(e, e.names)
	}
	t.note(e, names)
	if at < e.names.at {
		return
	}
	e.names = names
	e.quietOff, e.quietWait = 0, 0
}

// note keeps names until the round ends.
func (t *threadTimes) note(e *threadEntry, names identity) {
	if len(t.named) < maxNamed {
		t.named, e.isNamed = append(t.named, renaming{e.tid, names}), true
	}
}

// namesAt returns the names that a thread had at a time in this round, or those that it is first known under later.
func (t *threadTimes) namesAt(e *threadEntry, at int64) identity {
	if !e.isNamed {
		return e.names
	}
	then := e.names
	for i := range t.named {
		n := &t.named[i]
		switch since := n.names.at; {
		case n.tid != e.tid:
		case since <= at && (since > then.at || then.at > at), since > at && since < then.at:
			then = n.names
		}
	}
	return then
}

// forgetNamed ends the names of a round.
func (t *threadTimes) forgetNamed() {
	for i := range t.named {
		if index, found := t.find(t.named[i].tid); found {
			t.entries[index].isNamed = false
		}
	}
	t.named = t.named[:0]
}

// endRound calls check with the threads that were blocked, or waited for a CPU, for too long. at is the time of the round.
func (t *threadTimes) endRound(at int64, check func(threadCheck)) {
	t.setQuiet()
	if t.isLong {
		t.replay(check)
	}
	t.endStep(check)
	t.forgetNamed()
	t.began, t.isLong, t.last = false, false, at
}

// replay applies the held records in order of time, in steps that are shorter than the limits.
func (t *threadTimes) replay(check func(threadCheck)) {
	slices.SortFunc(t.held, func(a, b heldRecord) int { return cmp.Compare(recordTime(a[:]), recordTime(b[:])) })
	step, since := t.shortestLimit()/2, int64(0)
	for i := range t.held {
		if at := recordTime(t.held[i][:]); at-since > step {
			t.endStep(check)
			since = at
		}
		t.apply(t.held[i][:])
	}
	t.held = nil // long rounds are rare
	if t.dropped {
		t.dropped = false
		for i := range t.entries {
			t.entries[i].left = 0 // the thread may have come back in a record that was dropped
		}
	}
}

// setQuiet applies what [threadTimes.ignore] was called with since the last round.
func (t *threadTimes) setQuiet() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.quiet {
		i, found := t.find(q.tid)
		switch e := &t.entries[i]; {
		case !found || e.names != q.names:
		case q.isWaiting:
			e.quietWait = q.until
		default:
			e.quietOff = q.until
		}
	}
	t.quiet = t.quiet[:0]
}

// endStep compares the times that ended since the last step.
func (t *threadTimes) endStep(check func(threadCheck)) {
	for _, i := range t.touched {
		e := &t.entries[i]
		if off, wait := t.waits(e); off > 0 || wait > 0 {
			check(threadCheck{tid: e.tid, off: off, wait: wait, came: e.now.firstCame, names: t.namesAt(e, e.now.firstCame)})
		}
		if e.carry() {
			t.tids[i] = 0
		}
	}
	t.touched = t.touched[:0]
	t.round++
}

// waits returns how long a thread that was off its CPU when the round began was blocked, and then waited for a CPU; 0: not too long.
func (t *threadTimes) waits(e *threadEntry) (off, wait int64) {
	came := e.now.firstCame
	if e.left == 0 || came == 0 {
		return 0, 0
	}
	ready := e.ready(came)
	if t.offLimit > 0 && ready-e.left > t.offLimit && came > e.quietOff {
		off = ready - e.left
	}
	if t.waitLimit > 0 && came-ready > t.waitLimit && came > e.quietWait {
		wait = came - ready
	}
	return off, wait
}

// ready returns from when on a thread was runnable that came to a CPU then. Without a waking that is not known, and it counts as blocked up to
// there.
func (e *threadEntry) ready(came int64) int64 {
	woken := e.woken
	if first := e.now.firstWoken; woken <= e.left && first != 0 && first <= came {
		woken = first
	}
	switch {
	case e.runnable:
		return e.left
	case woken > e.came: // perhaps on its way to sleep, before it left
		return max(woken, e.left)
	}
	return came
}

// carry keeps what the next round needs, and reports whether the thread has ended.
func (e *threadEntry) carry() (ended bool) {
	n := &e.now
	switch {
	case n.lastLeft > n.lastCame && n.ended:
		return true // another thread may get its tid
	case n.lastLeft > n.lastCame:
		e.left, e.runnable = n.lastLeft, n.runnable
	case n.lastCame > 0:
		e.left = 0
	}
	e.woken, e.came = max(e.woken, n.lastWoken), max(e.came, n.lastCame)
	return false
}

// ignore leaves out a thread for a while.
func (t *threadTimes) ignore(q quietThread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.quiet) < maxQuiet {
		t.quiet = append(t.quiet, q)
	}
}
