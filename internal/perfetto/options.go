package perfetto

import (
	"slices"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// Options select what a trace shows.
type Options struct {
	Sched       bool // scheduling: CPUs, thread states, and the wakeup arrows that Perfetto derives
	Threads     bool // the thread view: what each thread does, as slices on a track of its own
	Runs        bool // in it, each time on a CPU by itself; always with Arrows, Extras and EmbedStacks
	Sleepers    bool // in it, threads that were blocked all the time, each on its own track
	Arrows      bool // arrows of wakeups and preemptions; always drawn without Sched, with which Perfetto derives its own
	Extras      bool // all annotations of the thread view
	TIDPID      bool // thread and process ids in it
	TimerTicks  bool // an instant for each sample
	EmbedStacks bool // sampled stacks as slices

	Preempted  bool   // the stacks of preempted threads
	NUMA       bool   // the NUMA node beside CPUs
	Cores      bool   // the threads on CPUs in the order of nodes and cores
	Containers bool   // CPU use of containers and their processes
	Counters   bool   // rates of what counters counted
	PeerNames  bool   // annotations have the names that the C program wprof gives them, where it has the same
	Marks      *Marks // conditions of which the times are drawn; nil: none
	NoWakings  bool   // of Sched, wakeups are left out

	// BlockedMin is the minimum length of a drawn block; negative: all blocks with a stack are drawn, and those from a
	// millisecond on, except those of idle kernel threads.
	BlockedMin time.Duration

	Python stacks.PythonView
}

// defaultBlockedMin is the minimum length of a drawn block without a stack, unless BlockedMin is set.
const defaultBlockedMin = time.Millisecond

// DefaultOptions returns the options without -e and --blocked-min.
func DefaultOptions() Options {
	return Options{Sched: true, Threads: true, Containers: true, Counters: true, BlockedMin: -1}
}

// feature is a part of the trace with a name.
type feature struct {
	name string
	of   func(*Options) *bool
}

func features() []feature {
	return []feature{
		{"sched", func(o *Options) *bool { return &o.Sched }},
		{"threads", func(o *Options) *bool { return &o.Threads }},
		{"runs", func(o *Options) *bool { return &o.Runs }},
		{"sleepers", func(o *Options) *bool { return &o.Sleepers }},
		{"arrows", func(o *Options) *bool { return &o.Arrows }},
		{"sched-extras", func(o *Options) *bool { return &o.Extras }},
		{"tidpid", func(o *Options) *bool { return &o.TIDPID }},
		{"timer-ticks", func(o *Options) *bool { return &o.TimerTicks }},
		{"preempted", func(o *Options) *bool { return &o.Preempted }},
		{"numa", func(o *Options) *bool { return &o.NUMA }},
		{"cores", func(o *Options) *bool { return &o.Cores }},
		{"containers", func(o *Options) *bool { return &o.Containers }},
		{"counters", func(o *Options) *bool { return &o.Counters }},
		{"wprof-names", func(o *Options) *bool { return &o.PeerNames }},
		{"embed-stacks", func(o *Options) *bool { return &o.EmbedStacks }},
	}
}

// Features are the names that -e takes.
func Features() []string {
	var names []string
	for _, f := range features() {
		names = append(names, f.name)
	}
	return append(names, stacks.PythonWords()...)
}

// Set switches features on, or off with the prefix no-, by comma-separated lists of valid names. The last setting of
// a feature wins.
func (o *Options) Set(lists []string) {
	all := features()
	for _, list := range lists {
		for word := range strings.SplitSeq(list, ",") {
			name, off := strings.CutPrefix(word, "no-")
			if i := slices.IndexFunc(all, func(f feature) bool { return f.name == name }); i >= 0 {
				*all[i].of(o) = !off
			}
		}
	}
}

// drawn returns the options for package tracks.
func (o *Options) drawn() tracks.Options {
	return tracks.Options{Threads: o.drawsThreads(), FewArrows: !o.Arrows && o.Sched, Neighbours: o.Extras, OffCPU: o.drawsOffCPU, JoinRuns: o.joinsRuns(), PreemptedStacks: o.Preempted, Python: o.Python}
}

// joinsRuns reports whether short times on a CPU are joined. Arrows and stacks belong to single ones.
func (o *Options) joinsRuns() bool {
	return !o.Runs && (o.Marks == nil || !o.Marks.needsRuns()) && !o.Arrows && !o.Extras && !o.EmbedStacks && o.Sched
}

// drawsThreads reports whether slices of threads are needed.
func (o *Options) drawsThreads() bool {
	return o.Threads || o.TimerTicks || o.EmbedStacks || o.Marks != nil
}

// view reports whether anything but scheduling is drawn.
func (o *Options) view() bool {
	return o.drawsThreads() || o.occupancy()
}

// occupancy reports whether anything is drawn of the threads on CPUs beside the thread view.
func (o *Options) occupancy() bool { return o.Cores || o.drawsContainers() || o.drawsRates() }

// drawsRates reports whether what counters counted is drawn, if there are any.
func (o *Options) drawsRates() bool { return o.Counters && o.Threads }

// drawsContainers reports whether containers are drawn: with the thread view only, without which a trace is to be small.
func (o *Options) drawsContainers() bool { return o.Containers && o.Threads }

// drawsOffCPU reports whether a time off the CPU is drawn. Perfetto shows runnable threads itself, except for the stacks of preempted
// ones, and that a cgroup's CPU quota is used up. An idle kernel thread waits for nothing.
func (o *Options) drawsOffCPU(s *tracks.Slice) bool {
	if !o.Threads {
		return false
	}
	if s.Kind != timeline.SpanBlocked {
		return s.Kind == timeline.SpanRunnable && (s.Off.Throttled || s.Off.Preempted && s.Stack != nil)
	}
	length := s.To - s.Began()
	if o.BlockedMin < 0 {
		return s.State&format.StateIdle == 0 && (s.Stack != nil || length >= int64(defaultBlockedMin))
	}
	return length >= int64(o.BlockedMin)
}
