package graph

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wprof/internal/cli"
	"wprof/internal/flame/profile"
)

// CaptionSep stands between the parts of a caption; a picture breaks lines there.
const CaptionSep = " · "

// Caption says what a picture of a view is of: in its title where and whose time, in its subtitle how it was measured and
// what is missing from it. Names in it are as the capture has them: any bytes.
func Caption(p *profile.Profile, v View) (title, subtitle string) {
	told := []string{WhenOf(p, v)}
	told = append(told, howMeasured(p, v)...)
	told = append(told, missing(p, v)...)
	return TitleOf(p, v.What(p), v), strings.Join(told, CaptionSep)
}

// title says of what, whose and where.
func TitleOf(p *profile.Profile, what string, v View) string {
	about := []string{what, whose(p, v)}
	if p.About.Host != "" {
		about = append(about, p.About.Host)
	}
	return strings.Join(about, CaptionSep)
}

// What names what a view shows.
func (v *View) What(p *profile.Profile) string {
	switch v.Mode {
	case Events:
		names := strings.Join(p.About.Events, ", ")
		if p.About.IsCount {
			return "Number of " + names
		}
		return "Time of " + names
	case OnCPU:
		return "On-CPU time"
	case OffCPU:
		return "Off-CPU time"
	case Waker:
		return "Off-CPU time by waker"
	}
	return "Wall-clock time"
}

// whose names the only thread or process of a view, or says how many there are.
func whose(p *profile.Profile, v View) string {
	var first *profile.Thread
	threads := 0
	names := make(map[string]int64) // of processes, with ns
	processes := make(map[int32]bool)
	for _, t := range p.Threads {
		if v.Only != nil && !v.Only(t) {
			continue
		}
		if first == nil {
			first = t
		}
		threads++
		processes[t.PID] = true
		for i := range t.Cells {
			names[p.Labels[t.Cells[i].Label].Process] += v.Weight(&t.Cells[i]).Ns()
		}
	}
	switch {
	case first == nil:
		return "no threads"
	case threads == 1 && first.TID != 0:
		l := p.Labels[first.Label]
		return fmt.Sprintf("%s-%d/%d", l.Comm, first.PID, first.TID)
	case len(processes) == 1:
		return fmt.Sprintf("%s-%d", longest(names, p.Labels[first.Label].Process), first.PID)
	}
	return cli.Grouped(uint64(len(processes))) + " processes"
}

// longest is the name that had the most time; this one unless another had more. A command that wprof-record started was
// wprof-record until it was executed.
func longest(names map[string]int64, name string) string {
	for other, ns := range names {
		if ns > names[name] || ns == names[name] && ns > 0 && other < name {
			name = other
		}
	}
	return name
}

// when says how long the window was and when it opened, in UTC: the capture may be looked at anywhere.
func WhenOf(p *profile.Profile, v View) string {
	text := Spell(p.About.Window)
	if v.To > 0 && p.Slot > 0 {
		from, to := int64(v.From)*p.Slot, min(int64(v.To)*p.Slot, p.About.Span)
		text = fmt.Sprintf("%s to %s of %s", Spell(from), Spell(to), Spell(p.About.Span))
	}
	if !p.About.Start.IsZero() {
		text += " from " + p.About.Start.UTC().Format(time.DateTime) + " UTC"
	}
	return text
}

// howMeasured says what told where in the code the time was spent.
func howMeasured(p *profile.Profile, v View) []string {
	var told []string
	a := &p.About
	if v.Mode == Wall || v.Mode == OnCPU {
		var sources []string
		for _, s := range a.Sources {
			name := s.Name
			if s.Period > 0 {
				name = trimPoint(strconv.FormatFloat(1e9/float64(s.Period), 'f', 1, 64)) + " Hz " + s.Name
			}
			sources = append(sources, name)
		}
		if len(sources) == 0 {
			sources = []string{"no sampling"}
		}
		told = append(told, strings.Join(sources, ", ")+", "+cli.Counted(a.Samples, "sample"))
		if share := notSampledShare(p, &v); share >= muchNotSampled && len(a.Sources) > 0 {
			told = append(told, percent(share)+" of the time on CPU not sampled")
		}
	}
	if v.Mode != OnCPU && v.Mode != Events && a.OffCPU != "" {
		told = append(told, "off-CPU stacks: "+a.OffCPU)
	}
	return told
}

// muchNotSampled is a share of the time on the CPU without samples that is worth a word.
const muchNotSampled = 0.05

// notSampled is the share of a view's time on the CPU that has no sample.
func notSampledShare(p *profile.Profile, v *View) float64 {
	var all, none int64
	for _, t := range p.Threads {
		if v.Only != nil && !v.Only(t) {
			continue
		}
		for i := range t.Cells {
			c := &t.Cells[i]
			on := v.Weight(c).On
			all += on
			if on > 0 && p.IsNotSampled(c.Stack) {
				none += on
			}
		}
	}
	if all == 0 {
		return 0
	}
	return float64(none) / float64(all)
}

// missing says what is not in the picture although it happened, and what looks wrong in it.
func missing(p *profile.Profile, v View) []string {
	a := &p.About
	var told []string
	switch {
	case a.Lost > 0:
		told = append(told, cli.Counted(a.Lost, "event")+" lost")
	case a.IsLossy:
		told = append(told, "events lost")
	default:
		told = append(told, "nothing lost")
	}
	if a.Folded > 0 {
		told = append(told, cli.Grouped(uint64(a.Folded))+" ended threads added up by name")
	}
	if a.UserStacks > 0 {
		told = append(told, percent(float64(a.CutStacks)/float64(a.UserStacks))+" of user stacks cut")
	}
	if a.ShortBlocks > 0 && v.Mode != OnCPU {
		told = append(told, fmt.Sprintf("%s of times off under %s left out", Spell(a.ShortBlocks), Spell(a.MinBlock)))
	}
	if v.NoIdleWaits && v.Mode != OnCPU && v.Mode != Events {
		told = append(told, "waits for work left out")
	}
	return told
}

// Spell is a time in the unit that suits it, in three digits.
func Spell(ns int64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v := float64(ns) / u.ns; v >= 0.9995 {
			return digits(v) + " " + u.name
		}
	}
	return strconv.FormatInt(ns, 10) + " ns"
}

// percent is a share of one in percent, in three digits.
func percent(share float64) string {
	if share > 0 && share < 0.0001 {
		return "<0.01%"
	}
	v := 100 * share
	if v < 10 {
		return trimPoint(strconv.FormatFloat(v, 'f', 2, 64)) + "%"
	}
	return trimPoint(strconv.FormatFloat(v, 'f', 1, 64)) + "%"
}

// digits are the first three of a number, or all before the point.
func digits(v float64) string {
	switch {
	case v >= 999.5:
		return cli.Grouped(uint64(v + 0.5))
	case v >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return trimPoint(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return trimPoint(strconv.FormatFloat(v, 'f', 2, 64))
}

func trimPoint(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
