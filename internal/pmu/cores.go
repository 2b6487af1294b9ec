package pmu

import (
	"cmp"
	"fmt"
	"slices"
)

// corePMU is the PMU of a kind of CPUs: cpu_core and cpu_atom of a hybrid processor, armv8_cortex_a53 and others of Arm's big.LITTLE.
type corePMU struct {
	name string
	kind uint32
	cpus CPUs
}

// extendedShift is where config of hardware and cache events has the number of their PMU, if there are several kinds of CPUs
// (PERF_PMU_TYPE_SHIFT).
const extendedShift = 32

// cores returns the PMUs of the kinds of CPUs, in the order of their numbers; none if there is only one kind.
func (m *Machine) cores() (all []corePMU, err error) {
	for _, name := range m.names(".") {
		text, err := m.read(name, "cpus")
		if err != nil {
			continue // it is of all CPUs, or of none
		}
		one := corePMU{name: name}
		if one.kind, err = m.kind(name); err != nil {
			return nil, err
		}
		if one.cpus, err = ParseCPUs(text); err != nil {
			return nil, fmt.Errorf("read the CPUs of the PMU %s: %w", name, err)
		}
		all = append(all, one)
	}
	if len(all) < 2 {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b corePMU) int { return cmp.Compare(a.kind, b.kind) })
	return all, nil
}

// needExtension reports whether hardware and cache events must have the number of their PMU: on x86, where they are events of the PMU with the
// number TypeRaw without it. Arm has no PMU of that number; there the kernel finds that of the CPU, and before Linux 6.5 refuses the number.
func needExtension(cores []corePMU) bool {
	return slices.ContainsFunc(cores, func(c corePMU) bool { return c.kind == TypeRaw })
}

// placeGeneric sets the places of an event of the kernel's tables. Raw events are those of the PMU with the number TypeRaw, as with perf.
func (m *Machine) placeGeneric(e *Event) error {
	cores, err := m.cores()
	if err != nil || !needExtension(cores) {
		return err
	}
	for _, core := range cores {
		attr := e.Attr
		switch {
		case attr.Type == TypeRaw && core.kind != TypeRaw:
			continue
		case attr.Type == TypeRaw:
		case attr.Type != TypeHardware && attr.Type != TypeCache || attr.Config>>extendedShift != 0:
			return nil
		default:
			attr.Config |= uint64(core.kind) << extendedShift
		}
		e.Places = append(e.Places, Place{core.cpus, attr})
	}
	return nil
}

// placePMU sets the places of an event of a PMU.
func (m *Machine) placePMU(pmu string, e *Event) error {
	if text, err := m.read(pmu, "cpumask"); err == nil {
		cpus, err := ParseCPUs(text)
		if err != nil {
			return fmt.Errorf("read the CPUs of the PMU %s: %w", pmu, err)
		}
		e.Uncore, e.Places = true, []Place{{cpus, e.Attr}}
		return nil
	}
	cores, err := m.cores()
	if i := slices.IndexFunc(cores, func(c corePMU) bool { return c.name == pmu }); i >= 0 {
		e.Places = []Place{{cores[i].cpus, e.Attr}}
	}
	return err
}
