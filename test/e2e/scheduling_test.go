//go:build linux

package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"wprof/test/engine"
	"wprof/test/tools"
)

// checkTrace checks a whole trace by the engine and by our own description of the format.
func checkTrace(t *testing.T, trace string) {
	t.Helper()
	engine.CheckStats(t, trace)
}

// number reads a cell of a query's result as an integer.
func number(t *testing.T, row engine.Row, column string) int64 {
	t.Helper()
	switch v := row[column].(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case nil:
		t.Fatalf("%s is NULL in %v", column, row)
	}
	t.Fatalf("%s is %T in %v", column, row[column], row)
	return 0
}

func query(t *testing.T, trace, sql string) []engine.Row {
	t.Helper()
	return engine.Query(t, trace, sql)[0]
}

func one(t *testing.T, trace, sql string) engine.Row {
	t.Helper()
	rows := query(t, trace, sql)
	if len(rows) != 1 {
		t.Fatalf("%d rows instead of one for %s", len(rows), sql)
	}
	return rows[0]
}

func loadsWithoutErrors(t *testing.T, r recording) {
	t.Helper()
	checkTrace(t, r.trace)
	if out := tools.Run(t, "wprof-info", "--check", r.capture); strings.Contains(string(out), "damage") {
		t.Errorf("wprof-info --check found: %s", out)
	}
}

func slicesOfEachCPUCoverTheWindowWithoutOverlap(t *testing.T, r recording) {
	t.Helper()
	rows := query(t, r.trace, `
		with s as (select cpu, ts, min(ts + dur, (select end_ts from trace_bounds)) as stop,
		  iif(dur < 0, (select end_ts from trace_bounds), ts + dur) as finish,
		  lag(iif(dur < 0, (select end_ts from trace_bounds), ts + dur)) over (partition by cpu order by ts) as before
		  from sched where dur != 0) -- those of no length make states, not slices
		select cpu, count(*) as slices, sum(before is not null and ts != before) as broken,
		  min(ts) - (select start_ts from trace_bounds) as begins,
		  (select end_ts from trace_bounds) - max(finish) as ends,
		  sum(finish - ts) as covered, (select end_ts - start_ts from trace_bounds) as whole
		from s group by cpu order by cpu`)
	if len(rows) != r.CPUs {
		t.Errorf("sched has %d CPUs, the machine %d", len(rows), r.CPUs)
	}
	for _, row := range rows {
		if number(t, row, "broken") != 0 || number(t, row, "begins") != 0 || number(t, row, "ends") != 0 || number(t, row, "covered") != number(t, row, "whole") {
			t.Errorf("slices do not tile the window: %v", row)
		}
	}
}

// inInterrupts is what interrupts may take besides of a time, ns: the kernel counts them in ticks, and an emulated CPU takes
// milliseconds for a sample with stacks.
func (r *recording) inInterrupts(ns int64) int64 {
	if r.Emulated {
		return ns / 3
	}
	return 0
}

func timeOnCPUIsWhatSchedstatCounted(t *testing.T, r recording) {
	t.Helper()
	for _, d := range only(r.did, "spun") {
		row := one(t, r.trace, fmt.Sprintf(`select sum(dur) as ns from sched join thread using (utid) where tid = %d`, d.tid))
		got := number(t, row, "ns")
		// The kernel reports the time that schedstat leaves out in ticks of 10 ms, so up to one of them is missing from it.
		// What the hypervisor takes from an idle CPU, the scheduler subtracts from the thread that runs there next, and nothing reports it.
		// The kernels of some virtual machines do not report the switch to a thread that follows one of process 1 (docs/kernels.md).
		hidden := number(t, one(t, r.trace, `select coalesce(sum(dur), 0) as ns from sched join thread using (utid) join process using (upid)
			where pid = 1`), "ns")
		less, more := d.to/100+r.Taken+hidden+10_000_000, d.to/16+r.Taken+10_000_000+r.inInterrupts(d.to)
		if diff := got - d.to; diff < -less || diff > more {
			t.Errorf("thread %d ran %d ns in the trace, schedstat said %d (off by %.2f%%, %d ns were taken)",
				d.tid, got, d.to, 100*float64(diff)/float64(d.to), r.Taken)
		}
	}
}

// inState is how long a thread was in one of some states, and in how many spans.
type inState struct{ ns, spans int64 }

// during looks up the states of threads between two times of CLOCK_MONOTONIC, ns: all in one query, because each goes
// through the states of all threads.
func during(t *testing.T, r recording, states string, spans ...did) []inState {
	t.Helper()
	offset := boottimeOffset(t, r)
	var when []string
	for i, d := range spans {
		when = append(when, fmt.Sprintf("(%d, %d, %d, %d)", i, d.tid, d.from+offset, d.to+offset))
	}
	found := make([]inState, len(spans))
	for _, row := range query(t, r.trace, fmt.Sprintf(`
		with w(i, tid, a, b) as (values %s),
		s as materialized (select tid, ts, dur from thread cross join thread_state using (utid)
		  where tid in (select tid from w) and state in (%s) and dur > 0)
		select i, sum(min(s.ts + s.dur, b) - max(s.ts, a)) as ns, count(*) as spans
		from w join s on s.tid = w.tid and s.ts < b and s.ts + s.dur > a group by i`,
		strings.Join(when, ", "), states)) {
		found[number(t, row, "i")] = inState{number(t, row, "ns"), number(t, row, "spans")}
	}
	return found
}

// boottimeOffset is CLOCK_BOOTTIME less CLOCK_MONOTONIC, ns, as the trace's own snapshot has it.
func boottimeOffset(t *testing.T, r recording) int64 {
	t.Helper()
	row := one(t, r.trace, `
		select (select clock_value from clock_snapshot where clock_name = 'BOOTTIME' limit 1) -
		  (select clock_value from clock_snapshot where clock_name = 'MONOTONIC' limit 1) as ns`)
	return number(t, row, "ns")
}

func statesLastAsLongAsTheWorkloadSays(t *testing.T, r recording) {
	t.Helper()
	for _, c := range []struct {
		what  string
		state string
		least int64 // what the workload requested, ns; the measured span also has the wait for a CPU after it
	}{
		{"sleep", "'S'", 20e6},
		{"blocked", "'D', 'DK'", 40e6},
		{"stopped", "'T'", 60e6},
	} {
		spans := only(r.did, c.what)
		if len(spans) < 5 {
			t.Errorf("%s: the workload printed %d spans only", c.what, len(spans))
		}
		for i, in := range during(t, r, c.state, spans...) {
			d := spans[i]
			whole := d.to - d.from
			least := c.least - c.least/100
			if r.Emulated {
				least = c.least - c.least/4
			}
			if in.ns > whole || in.ns < least {
				t.Errorf("%s: thread %d was in %v for %d of %d ns, want at least %d", c.what, d.tid, c.state, in.ns, whole, least)
			}
		}
	}
}

func twoSpinnersOnOneCPUArePreempted(t *testing.T, r recording) {
	t.Helper()
	pair := only(r.did, "pair")
	if len(pair) != 1 {
		t.Fatalf("the workload printed %d pairs", len(pair))
	}
	d := pair[0]
	preempted, waited := during(t, r, "'R+'", d)[0], during(t, r, "'R'", d)[0].ns
	var ran int64
	for _, c := range only(r.did, "cpu") {
		if c.tid == d.tid {
			ran = c.to
		}
	}
	whole := d.to - d.from
	if rest := whole - ran - preempted.ns - waited; math.Abs(float64(rest)) > 0.1*float64(whole)+float64(r.Taken+r.inInterrupts(whole)) {
		t.Errorf("of %d ns a spinner ran %d by schedstat and was preempted for %d and runnable for %d in the trace: %d are missing", whole, ran, preempted.ns, waited, rest)
	}
	if share := float64(preempted.ns) / float64(whole); share < 0.3 || preempted.spans < 3 {
		t.Errorf("a spinner that shares its CPU with another was preempted for %.0f%% of the time in %d spans, want about half of it in many", 100*share, preempted.spans)
	}
}

func sleeperIsAsleepForTheWholeWindow(t *testing.T, r recording) {
	t.Helper()
	if r.Sleeper == 0 {
		return // only a command is recorded
	}
	rows := query(t, r.trace, fmt.Sprintf(`
		select state, s.ts - (select start_ts from trace_bounds) as begins,
		  (select end_ts from trace_bounds) - iif(s.dur < 0, (select end_ts from trace_bounds), s.ts + s.dur) as ends
		from thread_state s join thread using (utid) where tid = %d and s.dur != 0`, r.Sleeper))
	if len(rows) != 1 || rows[0]["state"] != "S" || number(t, rows[0], "begins") != 0 || number(t, rows[0], "ends") != 0 {
		t.Errorf("thread_state of `sleep 100` is %v, want one row in S from the first to the last nanosecond", rows)
	}
}

func pingPongWakesBothWays(t *testing.T, r recording) {
	t.Helper()
	a, b, loops := only(r.did, "pingpong")[0], only(r.did, "loops")[0].tid, only(r.did, "loops")[0].to
	for _, edge := range []struct{ waker, wakee int }{{a.tid, b}, {b, a.tid}} {
		row := one(t, r.trace, fmt.Sprintf(`
			select count(*) as n from thread_state s join thread wakee using (utid) join thread waker on waker.utid = s.waker_utid
			where wakee.tid = %d and waker.tid = %d`, edge.wakee, edge.waker))
		// Who has not gone to sleep yet when its turn comes is not woken: often, where two CPUs are busy otherwise. The parent also wakes the
		// child that it forks, and the child's end the parent.
		if n := number(t, row, "n"); n < loops/10 || n > loops+1 {
			t.Errorf("%d woke %d %d times, want up to %d", edge.waker, edge.wakee, n, loops+1)
		}
	}
}

func namesFollowTheThread(t *testing.T, r recording) {
	t.Helper()
	child := only(r.did, "child")[0].tid
	// Beside the tests that create 100,000 processes a tid is used twice.
	row := one(t, r.trace, fmt.Sprintf(`select end_ts is not null as ended from thread where tid = %d and name = 'exe'`, child))
	if number(t, row, "ended") != 1 {
		t.Errorf("the child that executed and ended is %v", row)
	}
	text := string(tools.Run(t, "wprof-info", "--dump", r.capture))
	for _, name := range []string{`"first name"`, `"second name"`} {
		if !strings.Contains(text, name) {
			t.Errorf("the dump does not know the name %s", name)
		}
	}
}
