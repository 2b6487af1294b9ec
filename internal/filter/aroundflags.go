package filter

import (
	"fmt"
	"math"
	"strings"
	"time"

	"wprof/internal/around"
	"wprof/internal/cli"
	"wprof/internal/printable"
	"wprof/internal/reread"
)

// defaultAround is what is kept before and after what meets a condition of --around.
const defaultAround = 10 * time.Millisecond

// AroundFlags select what surrounds slow things.
func AroundFlags() cli.Group {
	return cli.Group{Title: "Only what surrounds slow things", Flags: []cli.Flag{
		{Name: "around", Kind: cli.List, Value: "CONDITION", Check: checkCondition, Usage: "Keep what surrounds a span, as in 'span(req) > 50ms' for a user-defined probe, 'syscall(fsync) > 10ms' or 'block > 20ms'; " +
			"a blocked thread, as in 'offcpu(nginx*) > 100ms'; one that waits for a CPU, as in 'runq(nginx*) > 20ms'; an event, as in 'event(oom_kill)'; or 'exit(signal)'. " +
			"Instead of a duration, p99, p99.9 or median is that of the condition's own durations. The input is read twice, with a quantile three times; a pipe is first copied to a temporary file."},
		{Name: "before", Kind: cli.String, Value: "DURATION", Default: "10ms", Check: checkDuration, Usage: "How much to keep before it begins."},
		{Name: "after", Kind: cli.String, Value: "DURATION", Default: "10ms", Check: checkDuration, Usage: "How much to keep after it has ended."},
	}}
}

func checkCondition(text string) error {
	_, err := around.Parse(text)
	return err
}

func checkDuration(text string) error {
	_, err := cli.ParseDuration(text)
	return err
}

// readAround reads the flags of [AroundFlags].
func (o *Options) readAround(inv *cli.Invocation) error {
	for _, text := range inv.Strings("around") {
		c, err := around.Parse(text)
		if err != nil {
			return cli.Usagef("--around: %w", err)
		}
		o.Conditions = append(o.Conditions, c)
	}
	for _, l := range []struct {
		flag string
		to   *time.Duration
	}{{"before", &o.Before}, {"after", &o.After}} {
		if *l.to = defaultAround; !inv.IsSet(l.flag) {
			continue
		}
		if len(o.Conditions) == 0 {
			return cli.Usagef("--%s is for what surrounds the conditions of --around, and there is none", l.flag)
		}
		var err error
		if *l.to, err = cli.ParseDuration(inv.String(l.flag)); err != nil {
			return cli.Usagef("--%s: %w", l.flag, err)
		}
	}
	return nil
}

// findAround finds the stretches that the conditions keep. Afterwards the capture is a file, which the first result removes if it is
// temporary. Damage is reported when the capture is read for the output.
func (o *Options) findAround(inv *cli.Invocation, in *cli.Capture) (*reread.Input, *around.Plan, error) {
	again, err := reread.From(in.In, "wprof-filter", "")
	if err != nil {
		return nil, nil, in.Error(err)
	}
	plan, err := o.find(again)
	if err != nil && !(plan != nil && cli.EndsWell(err)) {
		if plan != nil {
			plan.Close()
		}
		again.Close()
		return nil, nil, in.Error(err)
	}
	in.In, o.Around = again.File(), plan
	if len(plan.Lacking) > 0 {
		defer plan.Close()
		defer again.Close()
		return nil, nil, o.lackingError(in.Name, &plan.Lacking[0])
	}
	for _, i := range plan.Unknown {
		warnUnknown(inv, in.Name, &o.Conditions[i], &plan.Names)
	}
	for i, n := range plan.Found {
		if n.Of > 0 {
			inv.Warnf("%s: the quantile of '%s' is %s: %s of %s durations are longer", in.Name, printable.Text(o.Conditions[i].Text),
				time.Duration(n.Limit), cli.Grouped(n.Count), cli.Grouped(n.Of))
		}
	}
	return again, plan, nil
}

func (o *Options) find(again *reread.Input) (*around.Plan, error) {
	from, to, err := o.bounds(again)
	if err != nil {
		return nil, err
	}
	return around.Find(again.Open, around.Options{Conditions: o.Conditions, Before: int64(o.Before), After: int64(o.After), From: from, To: to})
}

// bounds resolves the time range.
func (o *Options) bounds(again *reread.Input) (from, to int64, err error) {
	from, to = math.MinInt64, math.MaxInt64
	r, err := again.Open()
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	if o.Start.set {
		if from, err = o.Start.resolve(r.FirstOpen(), r.Clocks()); err != nil {
			return 0, 0, err
		}
	}
	if o.End.set {
		if to, err = o.End.resolve(r.FirstOpen(), r.Clocks()); err != nil {
			return 0, 0, err
		}
	}
	if from >= to {
		return 0, 0, errEmptyRange("--start", "--end")
	}
	return from, to, nil
}

const listed = 10 // names in a message

// lackingError is about a condition that nothing in the capture can meet.
func (o *Options) lackingError(input string, l *around.Lacking) error {
	text := fmt.Sprintf("--around '%s': %s has no such events: %s", printable.Text(o.Conditions[l.Condition].Text), input, printable.Text(l.Reason))
	if len(l.Near) > 0 {
		text += "; did you mean " + printable.Text(strings.Join(l.Near, " or ")) + "?"
	}
	return cli.Usagef("%s", text)
}

// warnUnknown reports that a condition is on a span or event that the capture does not have.
func warnUnknown(inv *cli.Invocation, input string, c *around.Condition, has *around.Names) {
	what, names := "span", has.Spans
	if c.What == around.WhatEvent {
		what, names = "event", has.Events
	}
	list := "none"
	if len(names) > 0 {
		list = strings.Join(names[:min(listed, len(names))], ", ")
	}
	if more := len(names) - listed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	inv.Warnf("%s: the capture has no %s for '%s'; of %[2]ss it has %[4]s", input, what, printable.Text(c.Text), printable.Text(list))
}
