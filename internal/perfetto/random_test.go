package perfetto

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/test/engine"
)

// machineSim is a machine whose threads run, block, wake each other and preempt each other at random.
type machineSim struct {
	t       *testing.T
	random  *rand.Rand
	w       *format.Writer
	at      int64
	running []int // by CPU: a thread, or 0 for idle
	threads []simThread
}

type simThread struct {
	off   bool
	state format.State // with which it left
	woken bool
	left  int64
}

const simThreads, simCPUs = 14, 3

// randomStream is a stream of n steps of such a machine.
func randomStream(t *testing.T, seed uint64, n int) []byte {
	t.Helper()
	var stream bytes.Buffer
	m := &machineSim{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), w: format.NewWriter(&stream, format.WriterOptions{Level: 1}), at: 1e12,
		running: make([]int, simCPUs), threads: make([]simThread, simThreads+1),
	}
	m.begin()
	for range n {
		m.step()
	}
	m.must(m.w.EndSection(&format.End{Close: m.at + 1000, Last: true}))
	return stream.Bytes()
}

func (m *machineSim) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// id is the task of a thread; of 0, that of idle.
func id(thread int) format.TaskID { return format.TaskID(thread + 1) }

func (m *machineSim) begin() {
	m.must(m.w.Begin(&format.Session{
		Id: 1, Host: "test", BootId: "b", KernelRelease: "6.18.0", Open: m.at, Cpus: []*format.Cpu{{Id: 0}, {Id: 1}, {Id: 2}},
		Clocks: []*format.ClockSnapshot{{Monotonic: m.at, Boottime: m.at, Realtime: m.at}},
	}))
	m.w.DefineTask(&format.Task{Id: 1, Comm: []byte("swapper"), Flags: 2})
	m.must(m.w.DefineModule(&format.Module{Id: 1, Path: []byte("[kernel]"), Kind: uint32(format.ModuleKind_MODULE_KERNEL)}))
	for i := uint32(1); i <= 5; i++ {
		m.must(m.w.DefineFrame(&format.Frame{Id: i, Module: 1, Offset: uint64(i) << 8, Lines: []*format.Line{{Function: fmt.Appendf(nil, "wait_%d", i)}}}))
		m.must(m.w.DefineStack(&format.Stack{Id: i, Frames: []uint32{1, i}, KernelFrames: 2}))
	}
	for i := 1; i <= simThreads; i++ {
		m.w.DefineTask(&format.Task{Id: uint32(id(i)), Tid: int32(100 + i), Pid: int32(101 + (i-1)/3*3), Ppid: 1, Comm: fmt.Appendf(nil, "t%d", i), ProcessComm: []byte("p"), Start: int64(i)})
	}
	for cpu := range m.running {
		m.event(format.KindStateCPU, cpu, 0, 120)
	}
	for i := 1; i <= simThreads; i++ {
		m.threads[i] = simThread{off: true, state: format.StateInterruptible, left: m.at}
		m.event(format.KindStateThread, 0, i, uint64(format.StateInterruptible), 120)
	}
}

func (m *machineSim) event(kind format.Kind, cpu, thread int, args ...uint64) {
	e := format.Event{Time: m.at, Kind: kind, Flags: format.FlagsVisible, CPU: uint32(cpu), Task: id(thread)}
	copy(e.Args[:], args)
	if kind == format.KindSwitch && len(args) > 4 {
		e.Flags |= format.SwitchHasSince
		if args[6] != 0 {
			e.Flags |= format.SwitchHasStack
		}
	}
	m.must(m.w.Write(&e))
}

// step makes one event on a CPU.
func (m *machineSim) step() {
	m.at += m.random.Int64N(3000) + 1
	if m.random.IntN(200) == 0 {
		m.at += 5e6
	}
	cpu := m.random.IntN(simCPUs)
	switch m.random.IntN(10) {
	case 0, 1, 2, 3:
		wakee := 1 + m.random.IntN(simThreads)
		m.event(format.KindWaking, cpu, m.running[cpu], uint64(id(wakee)), 120, uint64(cpu))
		if t := &m.threads[wakee]; t.off {
			t.woken = true
		}
	case 4:
		if thread := m.running[cpu]; thread != 0 {
			m.event(format.KindSample, cpu, thread, 1+m.random.Uint64N(5), 0)
		}
	default:
		m.change(cpu)
	}
}

// change switches a CPU to another runnable thread, if there is one, or to idle.
func (m *machineSim) change(cpu int) {
	next := 0
	for _, i := range m.random.Perm(simThreads) {
		if t := m.threads[i+1]; t.off && (t.woken || t.state&format.StatePreempted != 0) {
			next = i + 1
			break
		}
	}
	prev := m.running[cpu]
	if prev == next {
		return
	}
	states := []format.State{format.StateInterruptible, format.StateUninterruptible, format.StateRunnable | format.StatePreempted, format.StateStopped}
	state := states[m.random.IntN(len(states))]
	if prev == 0 {
		state = format.StateRunnable
	} else {
		m.threads[prev] = simThread{off: true, state: state, left: m.at}
	}
	args := []uint64{uint64(id(next)), uint64(state), 120, 120}
	if t := &m.threads[next]; next != 0 {
		stack := uint64(0)
		if t.state&format.StatePreempted == 0 {
			stack = m.random.Uint64N(6)
		}
		args = append(args, uint64(t.left), uint64(t.state), stack)
		*t = simThread{}
	}
	m.event(format.KindSwitch, cpu, prev, args...)
	m.running[cpu] = next
}

// arrow is an arrow that timeline reports.
type arrow struct {
	from, to     int64
	source, dest string
}

// timelineArrows returns the wakeups and preemptions of a stream that timeline reports and whose target thread ran afterwards.
func timelineArrows(t *testing.T, stream []byte) (wakeups, preemptions []arrow) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	name := func(id format.TaskID, cpu uint32) string {
		if d := r.Task(id); d.Tid != 0 {
			return string(d.Comm)
		}
		return fmt.Sprintf("Idle CPU %d", cpu)
	}
	took := map[string]string{} // preemptor, by preempted thread and time
	spans := timeline.NewSpans(r, func(s *timeline.Span) {
		if s.Kind != timeline.SpanRunning {
			return
		}
		to := string(s.Thread.Def.Comm)
		if s.Off.Woken != 0 && s.Off.Waker != 0 {
			wakeups = append(wakeups, arrow{s.Off.Woken, s.From, name(s.Off.Waker, s.Off.WakerCPU), to})
		}
		if s.Off.Preempted {
			preemptions = append(preemptions, arrow{s.Off.Since, s.From, took[fmt.Sprint(to, s.Off.Since)], to})
		}
	})
	spans.NewSection(r.Session())
	spans.Open(r.Session().Open)
	last := int64(0)
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == format.KindSwitch {
			took[fmt.Sprint(name(e.Task, e.CPU), e.Time)] = name(format.TaskID(e.Args[format.SwitchNext]), e.CPU)
		}
		spans.Apply(e)
		last = e.Time
	}
	spans.Close(last + 1000)
	return wakeups, preemptions
}

const randomFlowSQL = `with placed as (select slice.id as id, slice.name as name, ts, coalesce(thread.name, track.name) as place
	from slice join track on track.id = track_id left join thread_track on thread_track.id = track_id left join thread using (utid))
	select a.place as source, a.ts as ts, b.place as dest, b.ts as dest_ts
	from flow join placed a on slice_out = a.id join placed b on slice_in = b.id where a.name glob '%s *' order by a.ts, dest`

// randomStateSQL selects the differences between the slices of threads and the states that the engine derives from scheduling.
const randomStateSQL = `with drawn as (select utid, s.ts as ts, s.dur as dur, s.name as name from slice s join thread_track t on t.id = s.track_id
	where depth = 0 and (s.name glob 'on CPU *' or s.name glob 'blocked*')),
	states as (select utid, ts, iif(dur < 0, (select end_ts from trace_bounds) - ts, dur) as dur, state from thread_state
	where (state = 'Running' or state not in ('R', 'R+')) and utid in (select utid from thread where tid > 100) and dur != 0 and ts < (select end_ts from trace_bounds))
	select 'drawn only' as what, drawn.utid, drawn.ts, drawn.dur, name from drawn left join states using (utid, ts, dur)
	where state is null or (state = 'Running') != (name glob 'on CPU *')
	union all select 'state only', states.utid, states.ts, states.dur, state from states left join drawn using (utid, ts, dur) where name is null`

func arrowRows(rows []engine.Row) (all []arrow) {
	for _, row := range rows {
		all = append(all, arrow{row["ts"].(int64), row["dest_ts"].(int64), row["source"].(string), row["dest"].(string)})
	}
	return all
}

func sortArrows(all []arrow) []arrow {
	slices.SortFunc(all, func(a, b arrow) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.dest, b.dest))
	})
	return all
}

// At random: arrows are those that timeline reports, and the slices of a thread are as long as the states that Perfetto derives from
// the scheduling.
func TestSlicesAndArrowsAgreeWithTimelineAndThreadState(t *testing.T) {
	for seed := range uint64(4) {
		stream := randomStream(t, seed, 4000)
		options := everything()
		options.BlockedMin = 0
		trace, err := convert(t, stream, options)
		if err != nil {
			t.Fatal(err)
		}
		if whole, err := os.ReadFile(trace); err != nil {
			t.Fatal(err)
		} else {
			checkDrawn(t, whole)
		}
		rows := query(t, trace, fmt.Sprintf(randomFlowSQL, "wakes"), fmt.Sprintf(randomFlowSQL, "preempts"), randomStateSQL,
			`select sum(slice.name glob 'on CPU *') as running, sum(slice.name glob 'blocked*') as blocked, max(depth) as depth
				from slice join thread_track t on t.id = track_id`)
		wakeups, preemptions := timelineArrows(t, stream)
		if want, got := sortArrows(wakeups), sortArrows(arrowRows(rows[2])); !slices.Equal(got, want) || len(got) < 300 {
			t.Errorf("seed %d: %d arrows of wakeups, timeline reports %d", seed, len(got), len(want))
		}
		if want, got := sortArrows(preemptions), sortArrows(arrowRows(rows[3])); !slices.Equal(got, want) || len(got) < 100 {
			t.Errorf("seed %d: %d arrows of preemptions, timeline reports %d", seed, len(got), len(want))
		}
		for _, row := range rows[4][:min(len(rows[4]), 5)] {
			t.Errorf("seed %d: %v", seed, row)
		}
		if n := rows[5][0]; n["running"].(int64) < 300 || n["blocked"].(int64) < 300 || n["depth"] != int64(1) {
			t.Errorf("seed %d: drawn are %v", seed, n)
		}
	}
}

// Of joined runs the lengths and the number add up to those of the runs, also where events are lost, late or hidden.
func TestJoinedRunsAddUp(t *testing.T) {
	const sql = `select tid, sum(coalesce(extract_arg(s.arg_set_id, 'debug.runs'), 1)) as runs, sum(coalesce(extract_arg(s.arg_set_id, 'debug.running_ns'), s.dur)) as ns
		from slice s join thread_track t on t.id = s.track_id join thread using (utid) where s.name glob 'on CPU *' group by tid order by tid`
	const slices = `select count(*) as n from slice where name glob 'on CPU *'`
	for seed := range uint64(4) {
		stream := randomStream(t, seed, 4000)
		var found [2][][]engine.Row
		for i := range found {
			options := DefaultOptions()
			options.Runs = i == 1
			trace, err := convert(t, stream, options)
			if err != nil {
				t.Fatal(err)
			}
			found[i] = query(t, trace, sql, slices)
		}
		joined, single := lines(found[0][2], "tid runs ns"), lines(found[1][2], "tid runs ns")
		if joined != single {
			t.Errorf("seed %d (tid runs ns): joined\n%ssingle\n%s", seed, joined, single)
		}
		if few, all := found[0][3][0]["n"].(int64), found[1][3][0]["n"].(int64); few >= all || few == 0 {
			t.Errorf("seed %d: %d slices of joined runs, %d of single ones", seed, few, all)
		}
	}
}

// Slices without arrows, which have a different encoding, have the same lengths.
func TestSlicesWithoutArrowsAgreeWithThreadState(t *testing.T) {
	for seed := range uint64(4) {
		options := DefaultOptions()
		options.BlockedMin, options.Runs = 0, true
		trace, err := convert(t, randomStream(t, seed, 4000), options)
		if err != nil {
			t.Fatal(err)
		}
		if whole, err := os.ReadFile(trace); err != nil {
			t.Fatal(err)
		} else {
			checkDrawn(t, whole)
		}
		rows := query(t, trace, randomStateSQL, `select count(*) as n, max(depth) as depth from slice where name glob 'on CPU *'`)
		for _, row := range rows[2][:min(len(rows[2]), 5)] {
			t.Errorf("seed %d: %v", seed, row)
		}
		if n := rows[3][0]; n["n"].(int64) < 300 || n["depth"] != int64(0) {
			t.Errorf("seed %d: drawn are %v", seed, n)
		}
	}
}
