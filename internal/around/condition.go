package around

import (
	"slices"
	"time"

	"wprof/internal/sources"
)

// What is what a condition is about.
type What uint8

const (
	WhatSpan   What = iota + 1 // spans of user-defined probes and other types
	WhatSource                 // spans of one source: its word is the group or the name of their types
	WhatOffCPU                 // threads that are blocked
	WhatRunq                   // threads that wait for a CPU
	WhatEvent                  // events of a type or kind
	WhatExit                   // processes that a signal ends
)

// Condition is one of the values of --around.
type Condition struct {
	Text  string
	What  What
	Word  string // of a source: the group or name of its types
	Name  string // a glob: of a probe, a type, a value, or a thread
	Limit Limit
}

// Limit is what a duration must exceed. The zero value is none.
type Limit struct {
	Given    bool
	Duration time.Duration
	Quantile Quantile // not 0: that of the condition's own durations, instead of Duration
}

// Quantile is a share in millionths: 990000 is p99.
type Quantile uint32

const (
	whole  Quantile = 1e6
	median          = whole / 2
)

// Rank is the position, from 1, of the quantile among n sorted values: that many of them are not above it.
func (q Quantile) Rank(n uint64) uint64 {
	return max(1, n/uint64(whole)*uint64(q)+(n%uint64(whole)*uint64(q)+uint64(whole)-1)/uint64(whole))
}

// word is a condition's first word.
type word struct {
	text    string
	what    What
	example string // of what may stand in the parentheses
	anyName bool   // the parentheses may be missing
	limit   bool   // it has a duration
}

// words are those of the conditions on no source.
func words() []word {
	return []word{
		{"span", WhatSpan, "span(ID) > 50ms", false, true},
		{"offcpu", WhatOffCPU, "offcpu(nginx*) > 100ms", true, true},
		{"runq", WhatRunq, "runq(nginx*) > 20ms", true, true},
		{"event", WhatEvent, "event(oom_kill)", false, false},
		{"exit", WhatExit, exitSignal, false, false},
	}
}

const exitSignal = "exit(signal)"

// wordNamed returns the first word of a condition.
func wordNamed(text string) (word, bool) {
	all := words()
	if at := slices.IndexFunc(all, func(w word) bool { return w.text == text }); at >= 0 {
		return all[at], true
	}
	if slices.Contains(sources.SpanWords(), text) {
		return word{text, WhatSource, text + " > 10ms", true, true}, true
	}
	return word{}, false
}

// allWords are the valid first words.
func allWords() (all []string) {
	for _, w := range words() {
		all = append(all, w.text)
	}
	return append(all, sources.SpanWords()...)
}

// needsThreads reports whether the condition is on what threads do.
func (c *Condition) needsThreads() bool { return c.What == WhatOffCPU || c.What == WhatRunq }

// isOnType reports whether the condition is on events of types that a capture defines.
func (c *Condition) isOnType() bool {
	_, isKind := kindNamed(c.Name)
	return c.What == WhatSpan || c.What == WhatSource || c.What == WhatEvent && !isKind
}

// NeedsQuantiles reports whether the durations of a condition must be known before its limit is.
func NeedsQuantiles(all []Condition) bool {
	return slices.ContainsFunc(all, func(c Condition) bool { return c.Limit.Quantile != 0 })
}
