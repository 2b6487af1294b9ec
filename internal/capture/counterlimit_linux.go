package capture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/tracepoint"
)

// counterLimit is what a condition compares a counter with.
type counterLimit struct {
	names   string // glob of names of threads and processes
	isBelow bool
	value   float64
	per     time.Duration // in which events are counted; 0: not given, as for a metric
}

const (
	shortestPer = 100 * time.Millisecond
	longestPer  = time.Minute
	// metricPer is the time over which metrics are computed.
	metricPer = 100 * time.Millisecond
)

// parseCounter reads what follows counter: in a value of --snapshot-on, NAME@GLOB>NUMBER/TIME.
func (c *Condition) parseCounter(rest string) error {
	at := strings.IndexAny(rest, "<>")
	before := rest
	if at >= 0 {
		before = rest[:at]
	}
	before = strings.TrimSpace(before)
	name, names, _ := strings.Cut(before, "@")
	if name == "" {
		return fmt.Errorf("%q names no counter: write counter:page-faults>1000/s", c.text)
	}
	if names == "" {
		names = "*"
	}
	if at < 0 {
		return fmt.Errorf("%q has no limit: write counter:%s>1000/s", c.text, before)
	}
	c.kind, c.name = onCounter, name
	c.counter = counterLimit{names: names, isBelow: rest[at] == '<'}
	return c.parseLimit(strings.TrimSpace(rest[at+1:]))
}

// parseLimit reads NUMBER or NUMBER/TIME.
func (c *Condition) parseLimit(text string) error {
	number, per, hasTime := strings.Cut(text, "/")
	value, ok := parseCount(number)
	if !ok {
		return fmt.Errorf("%q: %q is no number like 1000, 100k or 0.5", c.text, number)
	}
	c.counter.value = value
	if !hasTime {
		return nil
	}
	if per != "" && !strings.ContainsAny(per[:1], "0123456789.") {
		per = "1" + per
	}
	d, err := cli.ParseDuration(per)
	if err != nil {
		return fmt.Errorf("%q: after / there has to be a time like s or 100ms: %w", c.text, err)
	}
	if d < shortestPer || d > longestPer {
		return fmt.Errorf("%q: events are counted for %s to %s", c.text, limitText(shortestPer.Nanoseconds()), limitText(longestPer.Nanoseconds()))
	}
	c.counter.per = d
	return nil
}

// parseCount reads a number with a suffix k, m or g, which are powers of 1000.
func parseCount(text string) (float64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	scale := 1.0
	if n := len(text); n > 0 {
		if factor, found := map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9}[text[n-1]]; found {
			scale, text = factor, text[:n-1]
		}
	}
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v * scale, err == nil && !math.IsInf(v*scale, 0)
}

// counterCondition is a condition on a counter of the recording.
type counterCondition struct {
	*Condition
	place int           // in the list of counters
	per   time.Duration // over which it is counted or computed
}

// addCounter finds the counter that a condition names.
func (c *conditions) addCounter(one *Condition, counters []*format.Counter, types []*tracepoint.Tracepoint) error {
	place := slices.IndexFunc(counters, func(x *format.Counter) bool { return x.Name == one.name })
	if place < 0 {
		return c.addCountedProbe(one, counters, types)
	}
	found := &counterCondition{one, place, one.counter.per}
	isMetric := counters[place].IsMetric()
	switch limit := &one.counter; {
	case isMetric && limit.per != 0:
		return cli.Usagef("--snapshot-on %s: %s is one event divided by another, and has no rate: leave out what begins with /", one.text, one.name)
	case isMetric:
		found.per = metricPer
	case limit.isBelow:
		return cli.Usagef("--snapshot-on %s: < is for derived metrics, because the count of threads that do not run is 0", one.text)
	case limit.per == 0:
		return cli.Usagef("--snapshot-on %s: %s is a number of events, which needs a time: write %[1]s/s or %[1]s/100ms", one.text, one.name)
	}
	c.counters = append(c.counters, found)
	c.counted = counters
	return nil
}

// addCountedProbe finds the probe that a condition names. Its events are counted in the kernel.
func (c *conditions) addCountedProbe(one *Condition, counters []*format.Counter, types []*tracepoint.Tracepoint) error {
	found := false
	for i, t := range types {
		if string(t.Def.Probe) == one.name && isCountedType(t) {
			c.countedTypes = append(c.countedTypes, countedType{one, uint32(i)})
			found = true
		}
	}
	switch limit := &one.counter; {
	case !found:
		return errNoCounter(one, counters)
	case limit.isBelow || limit.names != "*" || limit.per != countEvery:
		return cli.Usagef("--snapshot-on %s: what a probe counts is read once a second and not by thread: write counter:%s>1000/s", one.text, one.name)
	}
	return nil
}

// isCountedType reports whether events of a type are counted in the kernel.
func isCountedType(t *tracepoint.Tracepoint) bool {
	return slices.ContainsFunc(t.Def.Fields, func(f *format.TypeField) bool { return f.Hint == uint32(format.ValueHint_HINT_EVENTS) })
}

// errNoCounter says which counters a condition could have named.
func errNoCounter(one *Condition, counters []*format.Counter) error {
	var names []string
	for _, x := range counters {
		names = append(names, x.Name)
	}
	hint := "--pmu EVENT counts one, and so does a probe with count (-U)"
	if near := cli.Nearest(one.name, names); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	} else if len(names) > 0 {
		hint = "--pmu counts " + strings.Join(names, ", ")
	}
	return cli.Usagef("--snapshot-on %s: no counter is called %s; %s", one.text, one.name, hint)
}
