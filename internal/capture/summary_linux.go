package capture

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/cli"
	"wprof/internal/jitdump"
	"wprof/internal/sources"
)

// Outcome is the result of a finished recording.
type Outcome struct {
	Events      uint64
	Threads     int
	Window      time.Duration
	CPU         time.Duration // of the recorder, all stages
	PeakRSS     uint64
	SpoolBytes  int64
	OutputBytes int64
	RingBytes   int  // size of one ring
	ByTables    bool // user stacks were walked by unwind tables
	Losses      []*format.Loss
	Stacks      assemble.StackCount
	Modules     []assemble.ModuleFrames
	Rate        time.Duration // between two samples; 0: none are taken
	PMU         bool          // events of performance counters were sampled
}

// Lost returns how many events are missing.
func (o *Outcome) Lost() uint64 {
	var lost uint64
	for _, loss := range o.Losses {
		if loss.IsFault() {
			lost += loss.Count
		}
	}
	return lost
}

// Lossy reports whether anything is missing that was to be recorded, counted or not.
func (o *Outcome) Lossy() bool { return slices.ContainsFunc(o.Losses, (*format.Loss).IsFault) }

// leftOutText returns how many events limits have left out, by type, with a separator before it; "": none.
func (o *Outcome) leftOutText() string {
	left := map[string]uint64{}
	for _, loss := range o.Losses {
		if !loss.IsFault() {
			left[string(loss.Type)] += loss.Count
		}
	}
	var parts []string
	for _, of := range slices.Sorted(maps.Keys(left)) {
		if of == sources.Probes || of == sources.PythonCall {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s of %s", cli.Counted(left[of], "event"), of))
	}
	text := ""
	if n := left[sources.Probes]; n > 0 {
		text = fmt.Sprintf("; limit: of probes left out %s", cli.Counted(n, "event"))
	}
	if n := left[sources.PythonCall]; n > 0 {
		text += fmt.Sprintf("; min: of %s left out %s", sources.PythonCalls, cli.Counted(n, "call"))
	}
	if len(parts) == 0 {
		return text
	}
	return "; --limit left out " + strings.Join(parts, ", ") + text
}

// Summary returns the last line of a recording: what was recorded, its cost, and the losses with the flag
// that helps.
func (o *Outcome) Summary() string {
	return fmt.Sprintf("recorded %s of %s in %s; cost %s of CPU, %s of spool, %s of output; %s",
		cli.Counted(o.Events, "event"), cli.Counted(uint64(o.Threads), "thread"), seconds(o.Window),
		seconds(o.CPU), bytesText(o.SpoolBytes), bytesText(o.OutputBytes), o.lossText()+o.leftOutText())
}

func (o *Outcome) lossText() string {
	lost := o.Lost()
	switch {
	case !o.Lossy():
		return "nothing lost"
	case lost == 0:
		return "lost an unknown number of events (" + o.causesText() + ")" + o.helpText()
	}
	return fmt.Sprintf("lost %s (%s: %s)", cli.Counted(lost, "event"), lostShare(lost, o.Events), o.causesText()) + o.helpText()
}

// lostShare returns the share of all events that was lost, with two digits. Less than all is never 100%.
func lostShare(lost, recorded uint64) string {
	share := 100 * float64(lost) / float64(lost+recorded)
	switch {
	case recorded == 0:
		return "100%"
	case share < 0.001:
		return "<0.001%"
	}
	return fmt.Sprintf("%.2g%%", min(share, 99))
}

// helpText names the flags that help against the losses.
func (o *Outcome) helpText() (text string) {
	switch throttled := o.lostTo(format.CauseThrottle); {
	case throttled && o.PMU:
		text += "; a lower rate or longer period of what -S samples helps"
	case throttled:
		text += "; a lower rate helps (-Stimer=" + rateText(2*o.Rate) + ")"
	}
	if o.lostTo(format.CauseRing) || o.lostTo(format.CauseTail) || o.lostTo(format.CauseDefinition) {
		text += fmt.Sprintf("; --ringbuf-size %s helps", sizeFlag(o.RingBytes*4))
	}
	return text
}

// A recording reports stacks that look cut if their share is above cutShare, and if it has at least cutFew user stacks: of
// fewer a share means nothing.
const (
	cutShare = 0.2
	cutFew   = 20
)

// CutText reports how many stacks look cut, and in which modules; "" when they are few, or when mappings are lost with a part of the spool:
// then it is not known which code the stacks are in.
func (o *Outcome) CutText() string {
	s := o.Stacks
	if o.lostTo(format.CauseSpool) || s.User < cutFew || float64(s.Cut) <= cutShare*float64(s.User) {
		return ""
	}
	worst := worstCut(o.Modules)
	var parts []string
	files := false // some of them are no generated code
	for _, m := range worst[:min(len(worst), 3)] {
		if share := 100 * float64(m.Cut) / float64(s.Cut); share >= 1 {
			parts = append(parts, fmt.Sprintf("%.0f%% %s", share, m.Path))
			files = files || m.Path != generatedPath
		}
	}
	help := ""
	switch {
	case !files:
	case o.ByTables:
		help = "; it has no call frame information, or its tables were not ready yet"
	case runtime.GOARCH == "amd64":
		help = "; record with --unwind=auto or build it with -fno-omit-frame-pointer"
	default:
		help = "; build it with -fno-omit-frame-pointer"
	}
	return fmt.Sprintf("%.0f%% of %s look cut (%s): code without frame pointers hides its callers%s",
		100*float64(s.Cut)/float64(s.User), cli.Counted(s.User, "user stack"), strings.Join(parts, ", "), help)
}

// generatedPath stands for all modules of generated code.
const generatedPath = "generated code"

// worstCut returns the modules with the most cut stacks first, and generated code as one.
func worstCut(modules []assemble.ModuleFrames) (worst []assemble.ModuleFrames) {
	generated := assemble.ModuleFrames{Path: generatedPath}
	for _, m := range modules {
		if m.Kind == format.ModuleKind_MODULE_JIT || m.Kind == format.ModuleKind_MODULE_ANON || jitdump.IsPath(m.Path) {
			generated.Cut += m.Cut
		} else {
			worst = append(worst, m)
		}
	}
	worst = append(worst, generated)
	slices.SortStableFunc(worst, func(a, b assemble.ModuleFrames) int { return cmp.Compare(b.Cut, a.Cut) })
	return worst
}

func (o *Outcome) lostTo(cause format.Cause) bool {
	return slices.ContainsFunc(o.Losses, func(l *format.Loss) bool { return l.Cause == uint32(cause) })
}

// causesText names each cause once, with the CPUs where it happened.
func (o *Outcome) causesText() string {
	var parts []string
	for _, of := range format.Causes() {
		cause := of.Cause
		if !cause.IsFault() {
			continue
		}
		cpus := map[string]map[uint32]bool{}
		for _, loss := range o.Losses {
			if loss.Cause != uint32(cause) {
				continue
			}
			text := causeText(cause, format.Kind(loss.Kind))
			if cpus[text] == nil {
				cpus[text] = map[uint32]bool{}
			}
			cpus[text][loss.Cpu] = true
		}
		for _, text := range slices.Sorted(maps.Keys(cpus)) {
			parts = append(parts, text+cpusText(cpus[text]))
		}
	}
	return strings.Join(parts, ", ")
}

func causeText(cause format.Cause, what format.Kind) string {
	switch cause {
	case format.CauseRing:
		return "ring full"
	case format.CauseRecursion:
		return "a program interrupted itself"
	case format.CauseNesting:
		return "programs nested too deep"
	case format.CauseTable:
		return "too many spans open at once, too many keys by which events are counted, or calls of Python faster than they are read"
	case format.CauseTail:
		return "ring full at the end"
	case format.CauseSpool:
		return "spool cut off or damaged"
	case format.CauseThrottle:
		return "the kernel throttled sampling"
	case format.CauseDefinition:
		if what == format.KindTyped {
			return "no room for files, names or stacks of -f events"
		}
		return "no room for stacks, command lines or names"
	case format.CauseSideband:
		return "mappings lost"
	}
	return cause.String()
}

func cpusText(cpus map[uint32]bool) string {
	if cpus[format.AllCPUs] {
		return ""
	}
	if len(cpus) > 4 {
		return fmt.Sprintf(" on %d CPUs", len(cpus))
	}
	var ids []int
	for cpu := range cpus {
		ids = append(ids, int(cpu))
	}
	slices.Sort(ids)
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(id)
	}
	return " on CPU " + strings.Join(words, "+")
}

// rateText writes a period as -S takes it.
func rateText(period time.Duration) string { return strconv.Itoa(int(time.Second/period)) + "hz" }

func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	case d < 100*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func bytesText(n int64) string {
	value, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB"} {
		if value < 1000 {
			break
		}
		value, unit = value/1000, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// sizeFlag writes a number of bytes as the flags take it, in the largest binary unit that fits evenly.
func sizeFlag(n int) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "gb"}, {20, "mb"}, {10, "kb"}} {
		if n >= 1<<unit.shift && n&(1<<unit.shift-1) == 0 {
			return strconv.Itoa(n>>unit.shift) + unit.name
		}
	}
	return strconv.Itoa(n) + "b"
}
