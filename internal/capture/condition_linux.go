package capture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/ringdata"
	"wprof/internal/sources"
	"wprof/internal/tracepoint"
)

// conditionKind is what a condition of --snapshot-on looks at.
type conditionKind int

const (
	onEvent   conditionKind = iota // an event of a probe
	onSlow                         // a span of a probe or a source that is longer than a limit
	onOffCPU                       // a thread that was blocked for longer
	onRunq                         // a thread that waited for a CPU for longer
	onCrash                        // a process that was ended by a signal
	onLoss                         // events that are lost
	onCounter                      // a counter that counts more than a limit
)

// Condition is one of --snapshot-on.
type Condition struct {
	text string
	kind conditionKind
	// The id of a probe (onEvent, onSlow); a source, perhaps with a glob of names of its spans, as in syscall:f* (onSlow); a glob of names of threads
	// and processes (onOffCPU, onRunq); a counter, or the id of a probe that counts (onCounter).
	name    string
	limit   int64 // ns
	counter counterLimit
}

// shortestThreadLimit bounds how often rings are drained for conditions about threads.
const shortestThreadLimit = 10 * time.Millisecond

// ParseCondition reads a value of --snapshot-on.
func ParseCondition(text string) (*Condition, error) {
	c := &Condition{text: text}
	if rest, found := strings.CutPrefix(text, "counter:"); found {
		if err := c.parseCounter(rest); err != nil {
			return nil, err
		}
		return c, nil
	}
	before, limit, limited := strings.Cut(text, ">")
	before, limit = strings.TrimSpace(before), strings.TrimSpace(limit)
	word, name, named := strings.Cut(before, ":")
	switch {
	case text == "crash":
		c.kind = onCrash
		return c, nil
	case text == "loss":
		c.kind = onLoss
		return c, nil
	case !limited && !named && text != "":
		c.kind, c.name = onEvent, text
		return c, nil
	case word == "slow" && named:
		c.kind = onSlow
	case word == "offcpu" && named:
		c.kind = onOffCPU
	case word == "runq" && named:
		c.kind = onRunq
	default:
		return nil, fmt.Errorf("%q is none of ID, slow:ID>TIME, slow:SOURCE>TIME, offcpu:GLOB>TIME, runq:GLOB>TIME, counter:NAME>NUMBER/s, crash and loss%s", text, conditionHint(before, limit))
	}
	c.name = name
	if !limited {
		return nil, fmt.Errorf("%q has no limit: write %s>50ms", text, before)
	}
	d, err := cli.ParseDuration(limit)
	if err != nil {
		return nil, err
	}
	if c.limit = d.Nanoseconds(); c.limit <= 0 {
		return nil, fmt.Errorf("%q: the limit has to be longer than 0", text)
	}
	if c.kind != onSlow && c.limit < shortestThreadLimit.Nanoseconds() {
		return nil, fmt.Errorf("%q: the limit has to be at least %s", text, shortestThreadLimit)
	}
	if c.kind == onSlow && name == "" {
		return nil, fmt.Errorf("%q names no probe or source: write slow:ID>50ms, or slow:%s>50ms", text, sources.Calls)
	}
	if c.name == "" {
		c.name = "*"
	}
	return c, nil
}

// conditionHint is advice on a condition that is written as wprof-filter --around takes it, or without a colon; "": there is none.
func conditionHint(before, limit string) string {
	if limit == "" {
		return ""
	}
	word, rest, _ := strings.Cut(before, "(")
	word, name := strings.TrimSpace(word), strings.TrimSuffix(rest, ")")
	switch {
	case word == "span" && name != "":
		word = "slow"
	case slices.Contains(sources.SpanWords(), word):
		word, name = "slow", strings.TrimSuffix(word+":"+name, ":")
	case word != "offcpu" && word != "runq":
		return ""
	}
	return fmt.Sprintf("; write %s:%s>%s", word, name, limit)
}

// interval is how often records have to be looked at.
func (c *Condition) interval() time.Duration {
	if c.kind == onOffCPU || c.kind == onRunq {
		return min(conditionInterval, time.Duration(c.limit)*3/4) // see threadTimes
	}
	return conditionInterval
}

// CheckCondition validates a value of --snapshot-on before anything happens.
func CheckCondition(text string) error {
	_, err := ParseCondition(text)
	return err
}

// conditions are those of a recording, by what the draining thread compares with.
type conditions struct {
	byType                        map[uint32][]typeCondition // of typed events
	texts                         []typeCondition            // those of byType that compare texts
	aboutThreads, losses, crashes []*Condition
	counters                      []*counterCondition
	counted                       []*format.Counter // all of the recording
	countedTypes                  []countedType
}

// conditions returns what --snapshot-on names; nil: nothing.
func (cfg *Config) conditions() (*conditions, error) {
	if cfg.Flight == nil || len(cfg.Flight.On) == 0 {
		return nil, nil
	}
	c := &conditions{byType: make(map[uint32][]typeCondition)}
	for _, one := range cfg.Flight.On {
		needed := format.Group(0)
		switch one.kind {
		case onOffCPU:
			needed = format.GroupSched
			c.aboutThreads = append(c.aboutThreads, one)
		case onRunq:
			needed = format.GroupSched | format.GroupWakeup
			c.aboutThreads = append(c.aboutThreads, one)
		case onCrash:
			needed = format.GroupTaskLife
			c.crashes = append(c.crashes, one)
		case onLoss:
			c.losses = append(c.losses, one)
		case onCounter:
			if err := c.addCounter(one, cfg.Counters, slices.Concat(cfg.Kernel.Tracepoints, cfg.ProbeTypes)); err != nil {
				return nil, err
			}
			if len(c.counters) > 0 {
				needed = format.GroupSched
			}
		default:
			found, err := c.addProbe(one, slices.Concat(cfg.Kernel.Tracepoints, cfg.ProbeTypes))
			if err == nil && !found {
				err = c.addSource(one, cfg)
			}
			if err != nil {
				return nil, err
			}
		}
		if cfg.groups()&needed != needed {
			return nil, cli.Usagef("--snapshot-on %s: these events are switched off by -f", one.text)
		}
	}
	return c, nil
}

// addProbe finds the event types of the probe that a condition names; found is false if no probe has such an id.
func (c *conditions) addProbe(one *Condition, types []*tracepoint.Tracepoint) (found bool, err error) {
	spans := false
	for i, t := range types {
		if string(t.Def.Probe) == one.name {
			if isCountedType(t) {
				return true, cli.Usagef("--snapshot-on %s: events of this probe are counted in the kernel, where no condition is; counter:%s>1000/s is one on their number", one.text, one.name)
			}
			spans = spans || t.Def.Shape != uint32(format.TypeShape_SHAPE_INSTANT)
			number := ringdata.TypeTracepoint + uint32(i)
			c.byType[number] = append(c.byType[number], typeCondition{Condition: one, of: &recordNames{layout: &t.Layout}})
			found = true
		}
	}
	if found && one.kind == onSlow && !spans {
		return true, cli.Usagef("--snapshot-on %s: the events of this probe are no spans, as those of uspan: and of two probes with ~~ are", one.text)
	}
	return found, nil
}

// isEndedOnPurpose reports whether a process that is ended by a signal hardly ever has an error: Ctrl-C, kill, a terminal or a pipe that is
// closed.
func isEndedOnPurpose(signal uint32) bool {
	switch unix.Signal(signal) {
	case unix.SIGHUP, unix.SIGINT, unix.SIGPIPE, unix.SIGTERM:
		return true
	}
	return false
}

// limitText is a duration in a message.
func limitText(ns int64) string { return time.Duration(ns).Round(time.Microsecond).String() }
