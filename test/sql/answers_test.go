//go:build linux

package sql

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// shown is how many rows most queries return.
const shown = 20

// answers are the results of the questions, computed without SQL. Rows are in the order of the query.
func answers() []func(*capture) [][]any {
	return []func(*capture) [][]any{
		longestWaits, latency, wakers, inversions, blocking, classes, waiting, processes, utilisation, migrations, switches, programs, functions, calls, faults, throttled, senders, requests, kernelLocks, signals, memory, softirqs, ringRequests, idleStates, sleeps,
	}
}

// thread is a thread under one name.
type thread struct {
	tid  int64
	comm string
}

func threadOf(t *task) thread { return thread{t.TID, t.Comm} }

// process is one under one name.
type process struct {
	pid  int64
	name string
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

func longestWaits(c *capture) [][]any {
	best := make(map[thread]*line)
	for _, l := range c.events["switch"] {
		if l.Next.TID <= 0 || l.OffCPU == nil {
			continue
		}
		if b := best[threadOf(&l.Next)]; b == nil || *l.OffCPU > *b.OffCPU {
			best[threadOf(&l.Next)] = l
		}
	}
	var rows [][]any
	for _, l := range best {
		rows = append(rows, []any{l.Next.TID, l.Next.Comm, l.Next.PComm, l.NextState, ms(*l.OffCPU), float64(l.TS-*l.OffCPU) / 1e9,
			float64(l.TS) / 1e9})
	}
	return first(rows, -5, 1, 2)
}

// couldRun are the switches to threads that are known to have waited for the CPU since some moment of the window.
func couldRun(c *capture) (all []*line) {
	for _, l := range c.events["switch"] {
		if l.Next.TID > 0 && l.WakingTS != nil {
			all = append(all, l)
		}
	}
	return all
}

func latency(c *capture) [][]any {
	waits := make(map[process][]int64)
	for _, l := range couldRun(c) {
		p := process{l.Next.PID, l.Next.PComm}
		waits[p] = append(waits[p], l.TS-*l.WakingTS)
	}
	var rows [][]any
	for p, all := range waits {
		slices.Sort(all)
		rows = append(rows, []any{p.pid, p.name, int64(len(all)), quantile(all, 0.5) / 1e3, quantile(all, 0.95) / 1e3,
			quantile(all, 0.99) / 1e3, float64(all[len(all)-1]) / 1e3})
	}
	return first(rows, -6, 1, 2)
}

// quantile is the value at a place between two of sorted ones.
func quantile(sorted []int64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	low := int(math.Floor(at))
	high := min(low+1, len(sorted)-1)
	return float64(sorted[low]) + (at-float64(low))*float64(sorted[high]-sorted[low])
}

func wakers(c *capture) [][]any {
	counts := make(map[[4]string]int64)
	for _, l := range c.events["waking"] {
		if l.Wakee.TID > 0 {
			counts[[4]string{l.Waker.PComm, l.Waker.Comm, l.Wakee.PComm, l.Wakee.Comm}]++
		}
	}
	var rows [][]any
	for k, n := range counts {
		rows = append(rows, []any{k[0], k[1], k[2], k[3], n})
	}
	return first(rows, -5, 1, 2, 3, 4)
}

func inversions(c *capture) [][]any {
	type pair struct {
		waiter, holder         thread
		waiterPrio, holderPrio int64
	}
	type sum struct{ times, total, longest int64 }
	sums := make(map[pair]*sum)
	since := make(map[int64]int64) // of the last switch of a CPU
	for _, l := range c.events["switch"] {
		held := since[*l.CPU]
		since[*l.CPU] = l.TS
		if l.NextPrio >= l.PrevPrio || l.Next.TID <= 0 || l.Prev.TID <= 0 || l.WakingTS == nil {
			continue
		}
		k := pair{threadOf(&l.Next), threadOf(&l.Prev), l.NextPrio, l.PrevPrio}
		if sums[k] == nil {
			sums[k] = new(sum)
		}
		waited := l.TS - max(*l.WakingTS, held)
		sums[k].times++
		sums[k].total += waited
		sums[k].longest = max(sums[k].longest, waited)
	}
	var rows [][]any
	for k, s := range sums {
		rows = append(rows, []any{k.waiter.tid, k.waiter.comm, k.waiterPrio, k.holder.tid, k.holder.comm, k.holderPrio,
			s.times, ms(s.total), ms(s.longest)})
	}
	return first(rows, -9, 1, 2, 3, 4, 5, 6)
}

func blocking(c *capture) [][]any {
	type place struct{ process, frames string }
	type sum struct{ ns, waits int64 }
	sums := make(map[place]*sum)
	for _, l := range c.events["switch"] {
		if !wasBlocked(l) {
			continue
		}
		frames := []string{"no stack"}
		if s := c.stacks[l.OffCPUStackID]; s != nil {
			frames = s.Frames
		}
		k := place{l.Next.PComm, strings.Join(frames, "\x00")}
		if sums[k] == nil {
			sums[k] = new(sum)
		}
		sums[k].ns += blockedTime(l)
		sums[k].waits++
	}
	var rows [][]any
	for k, s := range sums {
		var frames []any
		for _, f := range strings.Split(k.frames, "\x00") {
			frames = append(frames, f)
		}
		rows = append(rows, []any{k.process, float64(s.ns) / 1e9, s.waits, frames})
	}
	return first(rows, -2, -3, 1, 4)
}

func classes(c *capture) [][]any {
	type part struct{ process, class string }
	type sum struct{ ns, waits, longest int64 }
	sums := make(map[part]*sum)
	for _, l := range c.events["switch"] {
		if !wasBlocked(l) {
			continue
		}
		k := part{l.Next.PComm, cmp.Or(l.WaitClass, "unknown")}
		if sums[k] == nil {
			sums[k] = new(sum)
		}
		sums[k].ns += blockedTime(l)
		sums[k].waits++
		sums[k].longest = max(sums[k].longest, blockedTime(l))
	}
	var rows [][]any
	for k, s := range sums {
		rows = append(rows, []any{k.process, k.class, float64(s.ns) / 1e9, s.waits, ms(s.longest)})
	}
	return first(rows, -3, -4, 1, 2)
}

// blockedTime returns how long the thread that a switch brings back was blocked in the window, without the wait for the CPU.
func blockedTime(l *line) int64 {
	left := l.TS - *l.OffCPU
	switch {
	case l.WakingReason == "":
		return l.TS - left
	case l.WakingTS == nil: // before the window
		return 0
	}
	return max(left, *l.WakingTS) - left
}

func waiting(c *capture) [][]any {
	type sum struct{ waits, total, longest int64 }
	sums := make(map[int64]*sum)
	for _, l := range couldRun(c) {
		second := l.TS / 1e9
		if sums[second] == nil {
			sums[second] = new(sum)
		}
		sums[second].waits++
		sums[second].total += l.TS - *l.WakingTS
		sums[second].longest = max(sums[second].longest, l.TS-*l.WakingTS)
	}
	var rows [][]any
	for second, s := range sums {
		rows = append(rows, []any{second, s.waits, float64(s.total) / 1e9, ms(s.longest)})
	}
	return sorted(rows, 1)
}

// turn is a time that a thread was on a CPU, ns.
type turn struct {
	cpu int64
	who *task
	ran int64
	// known is false where the switch before was to another thread.
	known bool
}

func turns(c *capture) (all []turn) {
	last := make(map[int64]*line)
	for _, l := range c.events["switch"] {
		since, known := c.start, true
		if before := last[*l.CPU]; before != nil {
			since, known = before.TS, before.Next.TID == l.Prev.TID
		}
		all = append(all, turn{*l.CPU, &l.Prev, l.TS - since, known})
		last[*l.CPU] = l
	}
	for cpu, l := range last {
		all = append(all, turn{cpu, &l.Next, c.start + *c.header.Dur - l.TS, true})
	}
	return all
}

func processes(c *capture) [][]any {
	ran := make(map[process]int64)
	threads := make(map[process]map[int64]bool)
	for _, t := range turns(c) {
		if t.who.TID <= 0 || !t.known {
			continue
		}
		p := process{t.who.PID, t.who.PComm}
		ran[p] += t.ran
		if threads[p] == nil {
			threads[p] = make(map[int64]bool)
		}
		threads[p][t.who.TID] = true
	}
	var rows [][]any
	for p, ns := range ran {
		rows = append(rows, []any{p.pid, p.name, int64(len(threads[p])), float64(ns) / 1e9, 100 * float64(ns) / float64(*c.header.Dur)})
	}
	return first(rows, -4, 1, 2)
}

func utilisation(c *capture) [][]any {
	counts, busy := make(map[int64]int64), make(map[int64]int64)
	for _, t := range turns(c) {
		counts[t.cpu]++
		if t.who.TID != 0 {
			busy[t.cpu] += t.ran
		}
	}
	var rows [][]any
	for cpu, n := range counts {
		rows = append(rows, []any{cpu, n, float64(busy[cpu]) / 1e9, 100 * float64(busy[cpu]) / float64(*c.header.Dur)})
	}
	return sorted(rows, 1)
}

func migrations(c *capture) [][]any {
	turns, moves := make(map[thread]int64), make(map[thread]int64)
	at := make(map[int64]int64)
	for _, l := range c.events["switch"] {
		if l.Next.TID <= 0 {
			continue
		}
		k := threadOf(&l.Next)
		turns[k]++
		if before, ran := at[k.tid]; ran && before != *l.CPU {
			moves[k]++
		}
		at[k.tid] = *l.CPU
	}
	var rows [][]any
	for k, n := range turns {
		rows = append(rows, []any{k.tid, k.comm, n, moves[k]})
	}
	return first(rows, -4, 1, 2)
}

// wasRunnable reports whether a thread that left its CPU in this state was preempted or called sched_yield.
// wasBlocked leaves out idle threads, which have no state.
func wasBlocked(l *line) bool {
	return l.OffCPU != nil && l.NextState != "" && !wasRunnable(l.NextState)
}

func wasRunnable(state string) bool {
	return state == "preempted" || state == "runnable" || state == "throttled"
}

func switches(c *capture) [][]any {
	all, taken := make(map[thread]int64), make(map[thread]int64)
	for _, l := range c.events["switch"] {
		if l.Prev.TID <= 0 {
			continue
		}
		all[threadOf(&l.Prev)]++
		if wasRunnable(l.PrevState) {
			taken[threadOf(&l.Prev)]++
		}
	}
	var rows [][]any
	for k, n := range all {
		rows = append(rows, []any{k.tid, k.comm, n, taken[k], n - taken[k]})
	}
	return first(rows, -4, 1, 2)
}

func programs(c *capture) [][]any {
	type sum struct{ n, total, shortest, longest int64 }
	sums := make(map[string]*sum)
	for _, f := range c.events["fork"] {
		if f.Child.TID != f.Child.PID {
			continue
		}
		for _, x := range c.events["task_exit"] {
			if x.Task.TID != f.Child.TID || x.TS <= f.TS {
				continue
			}
			s := sums[x.Task.Comm]
			if s == nil {
				s = &sum{shortest: math.MaxInt64}
				sums[x.Task.Comm] = s
			}
			s.n++
			s.total += x.TS - f.TS
			s.shortest, s.longest = min(s.shortest, x.TS-f.TS), max(s.longest, x.TS-f.TS)
			break
		}
	}
	var rows [][]any
	for name, s := range sums {
		rows = append(rows, []any{name, s.n, float64(s.total) / 1e9, ms(s.shortest), ms(s.longest)})
	}
	return first(rows, -2, 1)
}

func functions(c *capture) [][]any {
	type function struct{ name, module any }
	self, total := make(map[function]int64), make(map[function]int64)
	for _, l := range c.events["timer"] {
		s := c.stacks[l.StackID]
		if s == nil {
			continue
		}
		seen := make(map[function]bool)
		for i, frame := range s.Frames {
			f := function{name: functionOf(frame)}
			if s.Modules[i] != "" {
				f.module = s.Modules[i]
			}
			if !seen[f] {
				seen[f] = true
				total[f]++
			}
			if i == len(s.Frames)-1 {
				self[f]++
			}
		}
	}
	var rows [][]any
	for f, n := range total {
		rows = append(rows, []any{f.name, f.module, self[f], n})
	}
	return first(rows, -3, -4, 1, 2)
}

// first are as many rows as a query returns, in order of columns, which are counted from 1 and negative for descending.
func first(rows [][]any, by ...int) [][]any {
	rows = sorted(rows, by...)
	return rows[:min(shown, len(rows))]
}

func sorted(rows [][]any, by ...int) [][]any {
	slices.SortFunc(rows, func(a, b []any) int {
		for _, column := range by {
			at := max(column, -column) - 1
			if c := compare(a[at], b[at]); c != 0 {
				if column < 0 {
					return -c
				}
				return c
			}
		}
		return 0
	})
	return rows
}

// compare orders as SQL does; what is NULL comes last.
func compare(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(btoi(a == nil), btoi(b == nil))
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case float64:
		return cmp.Compare(a, b.(float64))
	case string:
		return strings.Compare(a, b.(string))
	case []any:
		return slices.CompareFunc(a, b.([]any), compare)
	}
	panic("no value of SQL")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func calls(c *capture) [][]any {
	type key struct {
		process
		call string
	}
	type sum struct{ n, total, longest, failed int64 }
	sums := make(map[key]*sum)
	for _, l := range c.events["typed"] {
		if l.Group != "syscall" {
			continue
		}
		k := key{process{l.Task.PID, l.Task.PComm}, l.Name}
		if sums[k] == nil {
			sums[k] = &sum{}
		}
		s := sums[k]
		s.n++
		s.total += *l.Dur
		s.longest = max(s.longest, *l.Dur)
		if l.Args.Error != "" {
			s.failed++
		}
	}
	var rows [][]any
	for k, s := range sums {
		rows = append(rows, []any{k.pid, k.name, k.call, s.n, ms(s.total), ms(s.longest), s.failed})
	}
	return first(rows, -5, 1, 2, 3)
}

func faults(c *capture) [][]any {
	type key struct {
		process
		file string
	}
	type sum struct{ n, writes int64 }
	sums := make(map[key]*sum)
	for _, l := range c.events["typed"] {
		file, _ := l.Args.File.(string)
		if l.Name != "fault" || file == "" {
			continue
		}
		k := key{process{l.Task.PID, l.Task.PComm}, file}
		if sums[k] == nil {
			sums[k] = &sum{}
		}
		sums[k].n++
		if l.Args.Access == "write" {
			sums[k].writes++
		}
	}
	var rows [][]any
	for k, s := range sums {
		rows = append(rows, []any{k.pid, k.name, k.file, s.n, s.writes})
	}
	return first(rows, -4, 1, 2, 3)
}

func throttled(c *capture) [][]any {
	type sum struct{ times, total, longest int64 }
	sums := make(map[process]*sum)
	for _, l := range c.events["switch"] {
		if l.NextState != "throttled" || l.OffCPU == nil {
			continue
		}
		k := process{l.Next.PID, l.Next.PComm}
		if sums[k] == nil {
			sums[k] = &sum{}
		}
		sums[k].times++
		sums[k].total += *l.OffCPU
		sums[k].longest = max(sums[k].longest, *l.OffCPU)
	}
	var rows [][]any
	for k, s := range sums {
		rows = append(rows, []any{k.pid, k.name, s.times, ms(s.total), ms(s.longest)})
	}
	return first(rows, -4, 1, 2)
}

func senders(c *capture) [][]any {
	type key struct{ source, destination, transport string }
	type sum struct{ packets, bytes, dropped int64 }
	sums := make(map[key]*sum)
	for _, l := range c.events["typed"] {
		if l.Name != "packet_sent" && l.Name != "packet_dropped" || l.Args.Source == "" {
			continue
		}
		k := key{l.Args.Source, l.Args.Destination, l.Args.Transport}
		if sums[k] == nil {
			sums[k] = &sum{}
		}
		if l.Name == "packet_dropped" {
			sums[k].dropped++
			continue
		}
		sums[k].packets++
		sums[k].bytes += l.Args.Bytes
	}
	var rows [][]any
	for k, s := range sums {
		if s.packets > 0 {
			rows = append(rows, []any{k.source, k.destination, k.transport, s.packets, s.bytes, s.dropped})
		}
	}
	return first(rows, -4, 1, 2, 3)
}

// latencies are of events that are counted together.
type latencies struct{ n, total, longest int64 }

func (s *latencies) add(ns int64) {
	s.n++
	s.total += ns
	s.longest = max(s.longest, ns)
}

// sumsOf adds up events of types by what each counts for.
func sumsOf[K comparable, S any](c *capture, name string, key func(*line) K, add func(*S, *line)) map[K]*S {
	sums := make(map[K]*S)
	for _, l := range c.events["typed"] {
		if l.Name != name {
			continue
		}
		k := key(l)
		if sums[k] == nil {
			sums[k] = new(S)
		}
		add(sums[k], l)
	}
	return sums
}

func requests(c *capture) (rows [][]any) {
	type key struct{ device, op string }
	type sum struct {
		latencies
		bytes, queued, deepest int64
	}
	for k, s := range sumsOf(c, "block", func(l *line) key { return key{l.Args.Device, l.Args.Op} }, func(s *sum, l *line) {
		s.add(*l.Dur)
		s.bytes += l.Args.Bytes
		s.queued += l.Args.Queued
		s.deepest = max(s.deepest, l.Args.DepthAtStart)
	}) {
		rows = append(rows, []any{k.device, k.op, s.n, s.bytes, ms(s.queued), ms(s.total), ms(s.longest), s.deepest})
	}
	return first(rows, -6, 1, 2)
}

func kernelLocks(c *capture) (rows [][]any) {
	type key struct {
		process, lock string
		owner         any // a name; nil: not known
	}
	for k, s := range sumsOf(c, "lock", func(l *line) key {
		k := key{process: l.Task.PComm, lock: l.Args.Lock}
		if l.Args.Owner != nil {
			k.owner = l.Args.Owner.PComm
		}
		return k
	}, func(s *latencies, l *line) { s.add(*l.Dur) }) {
		rows = append(rows, []any{k.process, k.lock, k.owner, s.n, ms(s.total), ms(s.longest)})
	}
	return first(rows, -5, 1, 2, -4)
}

func signals(c *capture) (rows [][]any) {
	type key struct {
		process
		target, signal string
	}
	type sum struct{ n, notQueued int64 }
	for k, s := range sumsOf(c, "signal_sent", func(l *line) key {
		return key{process{l.Task.PID, l.Task.PComm}, l.Args.Target.PComm, l.Args.Signal}
	}, func(s *sum, l *line) {
		s.n++
		if l.Args.Result != "queued" {
			s.notQueued++
		}
	}) {
		rows = append(rows, []any{k.pid, k.name, k.target, k.signal, s.n, s.notQueued})
	}
	return first(rows, -5, 1, 2, 3, 4)
}

func softirqs(c *capture) (rows [][]any) {
	type key struct {
		process
		vector string
	}
	for k, s := range sumsOf(c, "softirq", func(l *line) key { return key{process{l.Task.PID, l.Task.PComm}, l.Args.Vector} }, func(s *latencies, l *line) {
		if !l.Args.Own {
			s.add(*l.Dur)
		}
	}) {
		if s.n > 0 && k.pid > 0 {
			rows = append(rows, []any{k.pid, k.name, k.vector, s.n, ms(s.total), ms(s.longest)})
		}
	}
	return first(rows, -5, 1, 2, 3)
}

func ringRequests(c *capture) (rows [][]any) {
	type key struct {
		process
		op string
	}
	type sum struct {
		latencies
		failed int64
	}
	for k, s := range sumsOf(c, "io_uring", func(l *line) key { return key{process{l.Task.PID, l.Task.PComm}, l.Args.Op} }, func(s *sum, l *line) {
		s.add(*l.Dur)
		if result, _ := l.Args.Result.(float64); result < 0 {
			s.failed++
		}
	}) {
		rows = append(rows, []any{k.pid, k.name, k.op, s.n, s.failed, ms(s.total), ms(s.longest)})
	}
	return first(rows, -6, 1, 2, 3)
}

func idleStates(c *capture) (rows [][]any) {
	type key struct{ cpu, state int64 }
	type change struct{ ts, state int64 }
	last, sums := make(map[int64]change), make(map[key]*latencies)
	for _, l := range c.events["typed"] {
		if l.Name != "cpu_idle" {
			continue
		}
		if before, found := last[*l.CPU]; found {
			k := key{*l.CPU, before.state}
			if sums[k] == nil {
				sums[k] = new(latencies)
			}
			sums[k].add(l.TS - before.ts)
		}
		last[*l.CPU] = change{l.TS, l.Args.IdleState}
	}
	for k, s := range sums {
		rows = append(rows, []any{k.cpu, k.state, s.n, ms(s.total)})
	}
	return first(rows, -4, 1, 2)
}

func sleeps(c *capture) (rows [][]any) {
	sums := make(map[process]*latencies)
	for _, l := range c.events["utrace_exit"] {
		if ret, ok := l.Args.Ret.(float64); l.Probe != "sleep" || !ok || ret != 0 {
			continue
		}
		k := process{l.Task.PID, l.Task.PComm}
		if sums[k] == nil {
			sums[k] = new(latencies)
		}
		sums[k].add(*l.Dur)
	}
	for k, s := range sums {
		rows = append(rows, []any{k.pid, k.name, s.n, ms(s.total), ms(s.longest)})
	}
	return first(rows, -4, 1, 2)
}

func memory(c *capture) (rows [][]any) {
	type sum struct{ anon, file, swap, n int64 }
	for k, s := range sumsOf(c, "rss", func(l *line) process { return process{l.Task.PID, l.Task.PComm} }, func(s *sum, l *line) {
		file, _ := l.Args.File.(float64)
		s.n++
		s.anon, s.file, s.swap = max(s.anon, l.Args.Anon), max(s.file, int64(file)), max(s.swap, l.Args.Swap)
	}) {
		rows = append(rows, []any{k.pid, k.name, ms(s.anon), ms(s.file), ms(s.swap), s.n})
	}
	return first(rows, -3, 1, 2)
}
