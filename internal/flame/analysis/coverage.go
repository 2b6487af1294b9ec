package analysis

import (
	"fmt"
	"io"
	"math"
	"strings"

	"wprof/internal/report"
	"wprof/internal/waits"
)

// covered returns the time at work, of which coverage is the share of the window. It excludes waits for work and time that was not
// recorded: with these, every thread's time adds up to its lifetime.
func covered(r *report.Report) int64 {
	return r.Sum(report.OnCPU).Ns + r.Sum(report.Interrupts).Ns + r.Sum(report.Blocked).Ns + r.Sum(report.Delayed).Ns
}

// coverage returns the time at work as a share of the window: 1 for one thread that is at work all the time.
func coverage(r *report.Report, window int64) float64 { return report.Share(covered(r), window) }

// WriteCoverage writes the coverage and its interpretation.
func WriteCoverage(w io.Writer, r *report.Report) {
	line(w, "coverage", fmt.Sprintf("%.1f%% of the window (100%%: one thread always at work)", 100*coverage(r, r.WindowNs)))
	line(w, "reading", reading(r))
}

// reading interprets the coverage and suggests what to do. Threads that were there for a small part of the window are not idle in the rest.
func reading(r *report.Report) string {
	if lived := min(r.LivedNs, r.WindowNs); lived < r.WindowNs/2 {
		return fmt.Sprintf("short-lived: the threads were there for %s of the window; start the recording with the command, or record for a shorter time; %s",
			report.Exact(lived), readingOf(r, "that time", lived))
	}
	return readingOf(r, "the window", r.WindowNs)
}

// readingOf interprets the coverage of the window, or of the part of it in which there were threads.
func readingOf(r *report.Report, name string, window int64) string {
	work, unknown := covered(r), r.Sum(report.NotRecorded).Ns
	isUnknown := unknown > work && unknown >= r.Sum(report.Idle).Ns
	switch c := coverage(r, window); {
	case c > 1.0005:
		return fmt.Sprintf("several threads: their time on the CPU, blocked and waiting for a CPU adds up to %s times %s, %.0f%% of it "+
			"off the CPU%s%s; look at each by itself", times(c), name, 100*report.Share(work-r.Sum(report.OnCPU).Ns-r.Sum(report.Interrupts).Ns, work), mostReason(r), contention(r, window, false))
	case c >= 0.5:
		return "normal: most of " + name + " is covered" + most(r) + contention(r, window, isMostlyDelay(r))
	case isUnknown && r.LostData:
		return "mostly unknown: events were lost or filtered out; record again with larger rings or fewer filters"
	case isUnknown:
		return "mostly unknown: the capture does not show what these threads did, although no events were lost; they are filtered out, " +
			"or the kernel did not report them"
	}
	return "mostly idle: for over half of " + name + " the threads waited for work; record while there is load, record for longer, or look " +
		"at what should have sent the work"
}

// times formats a multiple with enough digits to differ from 1.
func times(c float64) string {
	if c < 1.95 {
		return fmt.Sprintf("%.*f", max(1, int(math.Ceil(-math.Log10(c-1)))), c)
	}
	return fmt.Sprintf("%.1f", c)
}

// most names what makes up most of the time at work; "" if nothing does.
func most(r *report.Report) string {
	share := func(group string) float64 { return 100 * report.Share(r.Sum(group).Ns, covered(r)) }
	switch {
	case share(report.OnCPU) > 50:
		return fmt.Sprintf(", %.0f%% of it on the CPU", share(report.OnCPU))
	case share(report.Blocked) > 50:
		return fmt.Sprintf(", %.0f%% of it blocked%s", share(report.Blocked), mostReason(r))
	case isMostlyDelay(r):
		return fmt.Sprintf(", %.0f%% of it waiting for a CPU", share(report.Delayed))
	}
	return ""
}

func isMostlyDelay(r *report.Report) bool { return r.Sum(report.Delayed).Ns > covered(r)/2 }

// mostReason names the class of most of the blocked time, if there is one and threads were blocked for most of the time at work.
func mostReason(r *report.Report) string {
	blocked, classes := r.Sum(report.Blocked).Ns, r.ClassesOf(report.Blocked)
	switch {
	case blocked <= covered(r)/2 || classes[0].Ns <= blocked/2:
		return ""
	case len(classes) == 1:
		return " (" + classes[0].Class + ")"
	}
	return " (mostly " + classes[0].Class + ")"
}

// contention names scheduling delay, unless that is named already, and waits for locks, each if it is more than a tenth of the time
// at work. [most] names neither if many threads sleep.
func contention(r *report.Report, window int64, isDelayNamed bool) string {
	work := covered(r)
	var parts []string
	add := func(ns int64, what string) {
		if ns > work/10 && ns > window/100 {
			parts = append(parts, fmt.Sprintf("%.0f%% is %s", 100*report.Share(ns, work), what))
		}
	}
	if !isDelayNamed {
		add(r.Sum(report.Delayed).Ns, "scheduling delay")
	}
	add(r.Sum(waits.Lock.String()).Ns+r.Sum(waits.KernelLock.String()).Ns+r.Sum(waits.GIL.String()).Ns, "waits for locks")
	if len(parts) == 0 {
		return ""
	}
	return "; of the time at work, " + strings.Join(parts, " and ")
}
