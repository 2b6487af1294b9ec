package perfetto

import (
	"slices"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/timeline"
	"wprof/internal/tracks"
)

// Options are what a trace shows.
type Options struct {
	Sched       bool // scheduling: CPUs, thread states, Perfetto's wakeup arrows
	Threads     bool // the thread view: what each thread does, as slices on a track of its own
	Arrows      bool // who wakes and preempts whom; drawn anyway without scheduling, by which Perfetto shows it itself
	Extras      bool // all annotations of the thread view
	TIDPID      bool // thread and process ids in it
	TimerTicks  bool // an instant for each sample
	EmbedStacks bool // sampled stacks as slices

	// BlockedMin is the length from which a time blocked is drawn; negative: those that have a stack are, and those of a
	// millisecond, but none of an idle kernel thread.
	BlockedMin time.Duration
}

// blockedAnyway is how long a block is that is worth a slice although nobody took its stack.
const blockedAnyway = time.Millisecond

// DefaultOptions are the default options.
func DefaultOptions() Options { return Options{Sched: true, Threads: true, BlockedMin: -1} }

// feature is a part of the trace with a name.
type feature struct {
	name string
	of   func(*Options) *bool
}

func features() []feature {
	return []feature{
		{"sched", func(o *Options) *bool { return &o.Sched }},
		{"threads", func(o *Options) *bool { return &o.Threads }},
		{"arrows", func(o *Options) *bool { return &o.Arrows }},
		{"sched-extras", func(o *Options) *bool { return &o.Extras }},
		{"tidpid", func(o *Options) *bool { return &o.TIDPID }},
		{"timer-ticks", func(o *Options) *bool { return &o.TimerTicks }},
		{"embed-stacks", func(o *Options) *bool { return &o.EmbedStacks }},
	}
}

// Features are the names that -e takes.
func Features() []string {
	var names []string
	for _, f := range features() {
		names = append(names, f.name)
	}
	return names
}

// Set switches features on, or off with no- before them, by lists of valid names with commas between. The last word on
// a feature counts.
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

// drawn are the options of what is drawn.
func (o *Options) drawn() tracks.Options {
	return tracks.Options{Threads: o.view(), FewArrows: !o.Arrows && o.Sched, Neighbours: o.Extras, Wants: o.wants}
}

// view reports whether anything is drawn of threads but their states.
func (o *Options) view() bool { return o.Threads || o.TimerTicks || o.EmbedStacks }

// wants reports whether a time off the CPU is drawn. Perfetto shows runnable threads itself. A kernel thread that is idle has
// nothing to wait for.
func (o *Options) wants(s *tracks.Slice) bool {
	if !o.Threads || s.Kind != timeline.SpanBlocked {
		return false
	}
	length := s.To - s.Began()
	if o.BlockedMin < 0 {
		return s.State&format.StateIdle == 0 && (s.Stack != nil || length >= int64(blockedAnyway))
	}
	return length >= int64(o.BlockedMin)
}
