package analysis

import (
	"fmt"
	"math"
	"strings"

	"wprof/internal/flame/profile"
)

// reading interprets the coverage and suggests what to do. Threads that were there for a small part of the window are not idle in the rest.
func (b *breakdown) reading(window int64, a *profile.About) string {
	if lived := b.lived(window); lived < window/2 {
		return fmt.Sprintf("short-lived: the threads were there for %s of the window; start the recording with the command, or record for a shorter time; %s",
			seconds(lived), b.readingOf("that time", lived, a))
	}
	return b.readingOf("the window", window, a)
}

// readingOf interprets the coverage of the window, or of the part of it in which there were threads.
func (b *breakdown) readingOf(name string, window int64, a *profile.About) string {
	switch c := b.coverage(window); {
	case c > 1.0005:
		return fmt.Sprintf("several threads: their time on the CPU, blocked and waiting for a CPU adds up to %s times %s, %.0f%% of it "+
			"off the CPU%s%s; look at each by itself", times(c), name, 100*part(b.covered()-b.onCPU.ns, b.covered()), b.mostReason(), b.contention(window, false))
	case c >= 0.5:
		return "normal: most of " + name + " is covered" + b.most() + b.contention(window, b.isMostlyDelay())
	case b.leftOut > b.covered() && b.leftOut >= b.idle.ns:
		return fmt.Sprintf("mostly left out: off-CPU intervals below %s make up %s; use a lower minimum to see them",
			shortDuration(a.MinBlock), seconds(b.leftOut))
	case b.unknown.ns > b.covered() && b.unknown.ns >= b.idle.ns && a.IsLossy:
		return "mostly unknown: events were lost or filtered out; record again with larger rings or fewer filters"
	case b.unknown.ns > b.covered() && b.unknown.ns >= b.idle.ns:
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
func (b *breakdown) most() string {
	half := b.covered() / 2
	switch {
	case b.onCPU.ns > half:
		return fmt.Sprintf(", %.0f%% of it on the CPU", 100*part(b.onCPU.ns, b.covered()))
	case b.blocked().ns > half:
		return fmt.Sprintf(", %.0f%% of it blocked%s", 100*part(b.blocked().ns, b.covered()), b.mostReason())
	case b.isMostlyDelay():
		return fmt.Sprintf(", %.0f%% of it waiting for a CPU", 100*part(b.delay().ns, b.covered()))
	}
	return ""
}

func (b *breakdown) isMostlyDelay() bool { return b.delay().ns > b.covered()/2 }

// mostReason names the reason for most of the blocked time, if there is one and threads were blocked for most of the time at work.
func (b *breakdown) mostReason() string {
	blocked := b.blocked().ns
	switch {
	case blocked <= b.covered()/2 || b.off[0].ns <= blocked/2:
		return ""
	case len(b.off) == 1:
		return " (" + b.off[0].reason + ")"
	}
	return " (mostly " + b.off[0].reason + ")"
}

// contention names scheduling delay, unless that is named already, and waits for locks, each if it is more than a tenth of the time
// at work. [breakdown.most] names neither if many threads sleep.
func (b *breakdown) contention(window int64, isDelayNamed bool) string {
	isMuch := func(ns int64) bool { return ns > b.covered()/10 && ns > window/100 }
	var parts []string
	if delay := b.delay().ns; isMuch(delay) && !isDelayNamed {
		parts = append(parts, fmt.Sprintf("%.0f%% is scheduling delay", 100*part(delay, b.covered())))
	}
	if isMuch(b.locks) {
		parts = append(parts, fmt.Sprintf("%.0f%% is waits for locks", 100*part(b.locks, b.covered())))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; of the time at work, " + strings.Join(parts, " and ")
}
