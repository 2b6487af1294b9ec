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

// Caption returns the title of a picture of a view (which time, of which threads, on which host) and its subtitle (when and how
// it was measured, and what is missing). Names in them may be any bytes, as in the capture.
func Caption(p *profile.Profile, v View) (title, subtitle string) {
	parts := []string{WhenOf(p, v)}
	parts = append(parts, howMeasured(p, v)...)
	parts = append(parts, missing(p, v)...)
	return TitleOf(p, v.What(p), v), strings.Join(parts, CaptionSep)
}

// TitleOf returns the title: what is shown, of which threads, on which host.
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

// whose names the only thread or process of a view, or returns the number of processes.
func whose(p *profile.Profile, v View) string {
	var first *profile.Thread
	threads := 0
	names := make(map[string]int64) // of processes, with ns
	processes := make(map[int32]bool)
	for t := range v.Threads(p) {
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
		return fmt.Sprintf("%s-%d/%d", l.Thread(), first.PID, first.TID)
	case len(processes) == 1:
		return fmt.Sprintf("%s-%d", longest(names, p.Labels[first.Label].Process), first.PID)
	}
	return cli.Grouped(uint64(len(processes))) + " processes"
}

// longest returns the name with the most time: the given one unless another has more. A process may have several names: a command
// that wprof-record started is called wprof-record until its exec.
func longest(names map[string]int64, name string) string {
	for other, ns := range names {
		if ns > names[name] || ns == names[name] && ns > 0 && other < name {
			name = other
		}
	}
	return name
}

// WhenOf returns the length of the window and when it opened, in UTC: the capture may be read in another time zone.
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

// howMeasured returns the sources of samples and of off-CPU stacks.
func howMeasured(p *profile.Profile, v View) []string {
	var parts []string
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
		parts = append(parts, strings.Join(sources, ", ")+", "+cli.Counted(a.Samples, "sample"))
		if a.Spread {
			parts = append(parts, "on-CPU time divided among each thread's samples")
		}
		if share := notSampledShare(p, &v); share >= muchNotSampled && len(a.Sources) > 0 {
			part := percent(share) + " of the time on CPU not sampled"
			if !a.Spread {
				part += ": see --spread thread"
			}
			parts = append(parts, part)
		}
	}
	if v.Mode != OnCPU && v.Mode != Events && a.OffCPU != "" {
		parts = append(parts, "off-CPU stacks: "+a.OffCPU)
	}
	return parts
}

// muchNotSampled is the share of on-CPU time without samples from which on a caption reports it.
const muchNotSampled = 0.05

// notSampledShare returns the share of a view's on-CPU time that has no sample.
func notSampledShare(p *profile.Profile, v *View) float64 {
	var all, none int64
	for t := range v.Threads(p) {
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

// missing returns what was lost, cut or left out of the picture.
func missing(p *profile.Profile, v View) []string {
	a := &p.About
	var parts []string
	switch {
	case a.Lost > 0:
		parts = append(parts, cli.Counted(a.Lost, "event")+" lost")
	case a.IsLossy:
		parts = append(parts, "events lost")
	default:
		parts = append(parts, "nothing lost")
	}
	if a.Merged > 0 {
		parts = append(parts, cli.Grouped(uint64(a.Merged))+" ended threads merged by name")
	}
	if a.UserStacks > 0 {
		parts = append(parts, percent(float64(a.CutStacks)/float64(a.UserStacks))+" of user stacks cut")
	}
	if a.ShortBlocks > 0 && v.Mode != OnCPU {
		parts = append(parts, fmt.Sprintf("%s in off-CPU intervals under %s left out", Spell(a.ShortBlocks), Spell(a.MinBlock)))
	}
	if v.NoIdleWaits && v.Mode != OnCPU && v.Mode != Events {
		parts = append(parts, "waits for work left out")
	}
	return parts
}

// Spell formats a time in the largest unit that it reaches, with three digits.
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

// percent formats a share as a percentage, with three digits.
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

// digits formats a number with three digits, or with all before the point.
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
