package capture

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/tracefs"
	"wprof/internal/tracepoint"
)

const listHint = "wprof-record --list 'GROUP:*' lists them"

// tracepointFinder finds tracepoints by the patterns of -f tp=.
type tracepointFinder struct {
	option string // before a pattern on the command line: "-f tp=" or "--list "
	none   string // what an error reports of a pattern that selects nothing
	read   *bpf.Preloaded
	types  tracepoint.Types
	fs     *tracefs.FS // nil: the kernel's descriptions cannot be read
	noFS   error       // why
	events []string    // GROUP:NAME
	raw    []string    // names; nil: not read yet
}

func newTracepointFinder(read *bpf.Preloaded) (*tracepointFinder, error) {
	f := &tracepointFinder{option: "-f tp=", none: "this kernel has no such tracepoint", read: read}
	var err error
	if f.types, err = read.CTypes(); err != nil {
		return nil, err
	}
	if f.fs, f.noFS = tracefs.Open(); f.noFS == nil {
		if f.events, f.noFS = f.fs.Events(); f.noFS != nil {
			_ = f.fs.Close()
			f.fs = nil
		}
	}
	return f, nil
}

func (f *tracepointFinder) close() {
	if f.fs != nil {
		_ = f.fs.Close()
	}
}

// findTracepoints returns the tracepoints of all patterns.
func findTracepoints(read *bpf.Preloaded, patterns []string) ([]*tracepoint.Tracepoint, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	f, err := newTracepointFinder(read)
	if err != nil {
		return nil, err
	}
	defer f.close()
	var names []string
	for _, pattern := range patterns {
		found, err := f.match(pattern)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > tracepoint.MaxTracepoints {
		return nil, cli.Usagef("-f tp=: these are %d tracepoints; at most %d can be recorded at once", len(names), tracepoint.MaxTracepoints)
	}
	var all []*tracepoint.Tracepoint
	for _, name := range names {
		t, err := f.describe(name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// match returns the names of the tracepoints that a pattern selects. One without a group selects those of any group, and raw ones that have
// no event.
func (f *tracepointFinder) match(pattern string) (names []string, err error) {
	group, name, hasGroup := strings.Cut(pattern, ":")
	if !hasGroup {
		group, name = "*", pattern
	}
	if group == "" || name == "" {
		return nil, cli.Usagef("%s%s: write a tracepoint as GROUP:NAME or NAME; both may have * and ?", f.option, pattern)
	}
	if group != tracepoint.RawGroup {
		for _, event := range f.events {
			g, n, _ := strings.Cut(event, ":")
			if glob.Match(group, []byte(g)) && glob.Match(name, []byte(n)) {
				names = append(names, event)
			}
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	if group == tracepoint.RawGroup || group == "*" || f.fs == nil && !isGlob(name) {
		if err := f.readRaw(); err != nil {
			return nil, err
		}
		for _, n := range f.raw {
			if glob.Match(name, []byte(n)) {
				names = append(names, tracepoint.RawGroup+":"+n)
			}
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	return nil, f.unknown(pattern, group, name, hasGroup)
}

// readRaw reads the names of raw tracepoints.
func (f *tracepointFinder) readRaw() (err error) {
	if f.raw == nil {
		f.raw, err = f.read.RawTracepoints()
	}
	return err
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// unknown returns the error for a pattern that selects nothing.
func (f *tracepointFinder) unknown(pattern, group, name string, hasGroup bool) error {
	if f.fs == nil && hasGroup && group != tracepoint.RawGroup && isGlob(name) {
		return fmt.Errorf("%s%s: the groups of tracepoints are not known, because this process cannot read tracefs (%w): run it as root, or choose raw ones "+
			"by their names, as in '%sraw:%s'", f.option, pattern, f.noFS, f.option, name)
	}
	near := f.near(group, name, hasGroup)
	hint := listHint
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(len(near), 4)], " or ") + "?"
	}
	return cli.Usagef("%s%s: %s; %s", f.option, pattern, f.none, hint)
}

// near returns patterns that were probably intended.
func (f *tracepointFinder) near(group, name string, hasGroup bool) []string {
	var groups, names []string
	for _, event := range f.events {
		g, n, _ := strings.Cut(event, ":")
		groups, names = append(groups, g), append(names, n)
	}
	groups = slices.Compact(groups)
	switch {
	case group == tracepoint.RawGroup || f.fs == nil:
		return each(cli.Nearest(name, f.raw), func(n string) string { return tracepoint.RawGroup + ":" + n })
	case !hasGroup:
		return append(cli.Nearest(name, names), each(cli.Nearest(name, groups), allOf)...)
	case isGlob(group) || slices.Contains(groups, group):
		return cli.Nearest(group+":"+name, f.events)
	case len(f.sameName(name)) > 0:
		return f.sameName(name)
	}
	return each(cli.Nearest(group, groups), allOf)
}

func allOf(group string) string { return group + ":*" }

func each(words []string, change func(string) string) (changed []string) {
	for _, word := range words {
		changed = append(changed, change(word))
	}
	return changed
}

// sameName returns events of a name in other groups.
func (f *tracepointFinder) sameName(name string) (all []string) {
	for _, event := range f.events {
		if strings.HasSuffix(event, ":"+name) {
			all = append(all, event)
		}
	}
	return all
}

// describe describes a tracepoint by its full name.
func (f *tracepointFinder) describe(name string) (*tracepoint.Tracepoint, error) {
	group, bare, _ := strings.Cut(name, ":")
	if group == tracepoint.RawGroup {
		t, err := f.read.RawTracepoint(group, bare)
		if err != nil {
			return nil, fmt.Errorf("describe the tracepoint %s: %w; leave it out", name, err)
		}
		return t, nil
	}
	text, err := f.fs.Format(name)
	if err != nil {
		return nil, err
	}
	t, err := tracepoint.Parse(group, text, f.types)
	if err != nil {
		return nil, fmt.Errorf("describe the tracepoint %s: %w; leave it out", name, err)
	}
	return t, nil
}

// tracepointPatterns returns the patterns in the value of -f tp=.
func tracepointPatterns(value string) ([]string, error) {
	patterns := strings.Split(value, ",")
	if slices.Contains(patterns, "") {
		return nil, errors.New("tp= needs tracepoints, as in tp=sched:sched_migrate_task,tcp:*; " + listHint)
	}
	return patterns, nil
}
