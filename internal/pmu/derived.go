package pmu

import (
	"fmt"
	"strings"
)

// DerivedPrefix begins a metric that is computed from two events.
const DerivedPrefix = "derived:"

// Derived is one event divided by another: derived:ipc=instructions/cpu-cycles.
type Derived struct {
	Name        string
	Over, Under string // events, or names of some
}

// ParseDerived reads a metric. As events may have slashes too, it is divided at the first slash with an event on both sides.
func ParseDerived(text string) (*Derived, error) {
	rest, ok := strings.CutPrefix(text, DerivedPrefix)
	name, ratio, has := strings.Cut(rest, "=")
	if !ok || !has || name == "" || len(text) > maxText || strings.ContainsAny(name, "/:@,") {
		return nil, fmt.Errorf("metric %q: write it as derived:NAME=EVENT/EVENT, as in derived:ipc=instructions/cpu-cycles", clip(text))
	}
	for i := range len(ratio) {
		if ratio[i] != '/' {
			continue
		}
		d := &Derived{name, ratio[:i], ratio[i+1:]}
		if isComplete(d.Over) && isComplete(d.Under) {
			return d, nil
		}
	}
	return nil, fmt.Errorf("metric %q: %q is not one event divided by another, as in instructions/cpu-cycles", clip(text), clip(ratio))
}

func isComplete(event string) bool {
	_, err := Parse(event)
	return err == nil
}
