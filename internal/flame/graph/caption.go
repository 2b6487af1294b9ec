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
	parts := append([]string{WhenOf(p, v)}, HowSampled(p, v)...)
	return TitleOf(p, v.What(p), v), strings.Join(append(parts, WhatElse(p, v)...), CaptionSep)
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
	what := v.mode(p)
	if p.About.Inside != "" {
		what += " inside " + p.About.Inside
	}
	return what
}

func (v *View) mode(p *profile.Profile) string {
	switch v.Mode {
	case Events:
		names := strings.Join(p.About.Events, ", ")
		if p.About.SumOf != "" {
			return "Sum of " + p.About.SumOf + " of " + names
		}
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

// HowSampled returns the parts of a caption about samples: how many there are, which time they do not cover, and how well the
// shares in the picture are known.
func HowSampled(p *profile.Profile, v View) []string {
	if v.Mode != Wall && v.Mode != OnCPU {
		return nil
	}
	q := v.Sampling(p)
	parts := []string{SourcesOf(p) + ", " + cli.Counted(q.Samples, "sample")}
	if q.OnCPU == 0 || len(p.About.Sources) == 0 {
		return parts
	}
	if !p.About.Spread {
		parts = append(parts, "each on-CPU interval by its own samples")
	}
	if share := float64(q.Borrowed) / float64(q.OnCPU); share >= reportedShare {
		parts = append(parts, percent(share)+" of the time on CPU from samples of other threads of the same name")
	}
	if share := float64(q.NotSampled) / float64(q.OnCPU); share >= reportedShare {
		parts = append(parts, percent(share)+" of the time on CPU not sampled")
	}
	if e := q.StandardError(); e >= reportedShare {
		parts = append(parts, fmt.Sprintf("shares of the time on CPU ± %s points (standard error)", trimPoint(strconv.FormatFloat(100*e, 'f', 1, 64))))
	}
	return parts
}

// reportedShare is the share of on-CPU time from which on a caption reports that time or error.
const reportedShare = 0.01

// SourcesOf names the sources of samples.
func SourcesOf(p *profile.Profile) string {
	var sources []string
	for _, s := range p.About.Sources {
		name := s.Name
		if s.Period > 0 {
			name = trimPoint(strconv.FormatFloat(1e9/float64(s.Period), 'f', 1, 64)) + " Hz " + s.Name
		}
		sources = append(sources, name)
	}
	if len(sources) == 0 {
		return "no sampling"
	}
	return strings.Join(sources, ", ")
}

// WhatElse returns the parts of a caption about off-CPU stacks, and about what is missing.
func WhatElse(p *profile.Profile, v View) []string {
	if v.Mode != OnCPU && v.Mode != Events && p.About.OffCPU != "" {
		return append([]string{"off-CPU stacks: " + p.About.OffCPU}, missing(p, v)...)
	}
	return missing(p, v)
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
