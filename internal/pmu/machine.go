package pmu

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Machine has what a machine says of its events.
type Machine struct {
	PMUs        fs.FS       // /sys/bus/event_source/devices
	Tracepoints Tracepoints // nil: their descriptions cannot be read
}

// Tracepoints are the kernel's descriptions of its tracepoints.
type Tracepoints interface {
	Events() ([]string, error)           // GROUP:NAME
	Format(event string) ([]byte, error) // of one GROUP:NAME
}

// maxFile bounds a file of sysfs: a page.
const maxFile = 64 << 10

// read returns the first line of a file of a PMU, without spaces around it.
func (m *Machine) read(pmu string, path ...string) (string, error) {
	name := strings.Join(append([]string{pmu}, path...), "/")
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := m.PMUs.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile))
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line), err
}

// has reports whether there is a PMU of that name.
func (m *Machine) has(pmu string) bool {
	_, err := m.read(pmu, "type")
	return err == nil && !strings.Contains(pmu, "/")
}

// names returns the names in a folder; none if it does not exist.
func (m *Machine) names(folder string) []string {
	if !fs.ValidPath(folder) {
		return nil
	}
	entries, err := fs.ReadDir(m.PMUs, folder)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// kind returns the type of a PMU.
func (m *Machine) kind(pmu string) (uint32, error) {
	text, err := m.read(pmu, "type")
	if err != nil {
		return 0, fmt.Errorf("read the type of the PMU %s: %w", pmu, err)
	}
	kind, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the PMU %s has the type %q, which is no number", pmu, clip(text))
	}
	return uint32(kind), nil
}

// events returns the names of the events that a PMU describes.
func (m *Machine) events(pmu string) []string {
	return slices.DeleteFunc(m.names(pmu+"/events"), func(name string) bool { return strings.Contains(name, ".") })
}

// pmusOf returns the PMUs that describe an event of a name: those of all kinds of CPUs that do, or else one, the CPU's own before others.
func (m *Machine) pmusOf(event string) (all []string, err error) {
	cores, err := m.cores()
	for _, core := range cores {
		if slices.Contains(m.events(core.name), event) {
			all = append(all, core.name)
		}
	}
	if len(all) > 0 || err != nil {
		return all, err
	}
	pmus := m.names(".")
	slices.SortStableFunc(pmus, func(a, b string) int { return coreOrder(a) - coreOrder(b) })
	for _, pmu := range pmus {
		if slices.Contains(m.events(pmu), event) {
			return []string{pmu}, nil
		}
	}
	return nil, nil
}

func coreOrder(pmu string) int {
	switch {
	case pmu == "cpu":
		return 0
	case strings.HasPrefix(pmu, "cpu"):
		return 1
	}
	return 2
}

// allEvents returns the names of events that a plain word can mean.
func (m *Machine) allEvents() []string {
	all := Names()
	for _, pmu := range m.names(".") {
		all = append(all, m.events(pmu)...)
	}
	return all
}

// tracepointID returns the number of a tracepoint.
func (m *Machine) tracepointID(group, name string) (uint64, error) {
	full := group + ":" + name
	switch {
	case strings.ContainsAny(full, "*?"):
		return 0, fmt.Errorf("%s is a pattern, and an event is one tracepoint: -f tp=%s records all of them", full, full)
	case m.Tracepoints == nil:
		return 0, fmt.Errorf("the kernel's descriptions of tracepoints cannot be read")
	}
	events, err := m.Tracepoints.Events()
	if err != nil {
		return 0, fmt.Errorf("list the tracepoints: %w", err)
	}
	if !slices.Contains(events, full) {
		return 0, fmt.Errorf("this kernel has no tracepoint %s; %s", clip(full), suggest(full, events))
	}
	format, err := m.Tracepoints.Format(full)
	if err != nil {
		return 0, fmt.Errorf("read the description of the tracepoint %s: %w", full, err)
	}
	return idIn(format)
}

// idIn returns the number in the description of a tracepoint.
func idIn(format []byte) (uint64, error) {
	lines := bufio.NewScanner(bytes.NewReader(format))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "ID:"); ok {
			return strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		}
	}
	return 0, errors.Join(errors.New("the description of the tracepoint has no ID"), lines.Err())
}
