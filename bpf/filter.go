//go:build linux

package bpf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"wprof/format"
	"wprof/internal/container"
)

const (
	filterEntries = 64
	globBytes     = 32

	maxPathGlobs = 256 // CGROUP_GLOBS_MAX in cgroupfilter.h
)

// enum children in filter.h.
const (
	childrenNone = iota
	childrenMeetProcess
	childrenMeetName
)

// kernelFilter mirrors struct filter in filter.h.
type kernelFilter struct {
	Any, OnProcess, Idle, Kthread, NoIdle, NoKthread, Children, OnCgroup uint8
	NotPID                                                               int32
	IDCount                                                              [4]uint32
	NameCount                                                            [4]uint32
	GlobsBegin, GlobsEnd                                                 [4]uint32
	IDs                                                                  [4][filterEntries]int32
	Names                                                                [4][filterEntries][globBytes]byte
}

func (o *Options) kernelFilter() (*kernelFilter, error) {
	f := &o.Filter
	k := &kernelFilter{
		Idle: bit(f.Idle), Kthread: bit(f.Kthread), NoIdle: bit(f.NoIdle), NoKthread: bit(f.NoKthread),
		Children: f.children(o.Follow),
	}
	if f.NoSelf {
		k.NotPID = int32(o.SelfPID)
	}
	for i, list := range [4]struct {
		what string
		ids  []int32
	}{{"process ids to keep", f.PIDs}, {"process ids to drop", f.NoPIDs}, {"thread ids to keep", f.TIDs}, {"thread ids to drop", f.NoTIDs}} {
		n, err := fillIDs(&k.IDs[i], list.ids)
		if err != nil {
			return nil, fmt.Errorf("too many %s: %w", list.what, err)
		}
		k.IDCount[i] = n
	}
	for i, list := range [4]struct {
		what  string
		globs []string
	}{{"process names to keep", f.Names}, {"process names to drop", f.NoNames}, {"thread names to keep", f.ThreadNames}, {"thread names to drop", f.NoThreadNames}} {
		n, err := fillGlobs(&k.Names[i], list.globs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list.what, err)
		}
		k.NameCount[i] = n
	}
	n := uint32(0)
	for i, list := range f.globLists() {
		k.GlobsBegin[i] = n
		n += uint32(len(list))
		k.GlobsEnd[i] = n
	}
	if n > maxPathGlobs {
		return nil, fmt.Errorf("too many cgroups and containers: they come to %d patterns, and the kernel programs compare with up to %d; wprof-filter takes more", n, maxPathGlobs)
	}
	k.OnCgroup = bit(n > 0)
	k.OnProcess = bit(len(f.PIDs) > 0 || f.Idle || f.Kthread || k.Children == childrenMeetProcess)
	k.Any = bit(k.OnProcess != 0 || k.OnCgroup != 0 || f.NoIdle || f.NoKthread || k.NotPID != 0 || k.IDCount != [4]uint32{} || k.NameCount != [4]uint32{})
	return k, nil
}

// globLists are the patterns of paths by enum glob_list.
func (f *Filter) globLists() [4][]string {
	return [4][]string{f.Cgroups, f.NoCgroups, f.Containers, f.NoContainers}
}

// onCgroup reports whether there is a condition on cgroups or containers.
func (f *Filter) onCgroup() bool {
	return len(f.Cgroups)+len(f.NoCgroups)+len(f.Containers)+len(f.NoContainers) > 0
}

// Validate refuses lists that are longer than the programs can compare with, and periods that no timer accepts. [Load]
// does so too.
func (o *Options) Validate() error {
	if err := o.Sample.validate(); err != nil {
		return err
	}
	_, err := o.kernelFilter()
	return err
}

func (f *Filter) children(follow bool) uint8 {
	switch {
	case follow, f.Children && (len(f.PIDs) > 0 || len(f.Names) == 0):
		return childrenMeetProcess
	case f.Children:
		return childrenMeetName
	}
	return childrenNone
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// fillIDs sorts, because the program uses binary search.
func fillIDs(to *[filterEntries]int32, ids []int32) (uint32, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) > filterEntries {
		return 0, fmt.Errorf("%d given, the kernel programs compare with up to %d; wprof-filter takes more", len(ids), filterEntries)
	}
	for i := range to {
		to[i] = math.MaxInt32
	}
	copy(to[:], ids)
	return uint32(len(ids)), nil
}

func fillGlobs(to *[filterEntries][globBytes]byte, globs []string) (uint32, error) {
	globs = slices.Compact(slices.Sorted(slices.Values(globs)))
	if len(globs) > filterEntries {
		return 0, fmt.Errorf("%d given, the kernel programs compare with up to %d; wprof-filter takes more", len(globs), filterEntries)
	}
	for i, glob := range globs {
		if len(glob) > globBytes {
			return 0, fmt.Errorf("%q is longer than the %d bytes that the kernel programs compare; thread names have up to 15", glob, globBytes)
		}
		if glob == "" || strings.ContainsRune(glob, 0) {
			return 0, fmt.Errorf("%q can match no name", glob)
		}
		copy(to[i][:], glob)
	}
	return uint32(len(globs)), nil
}

func (o *Options) setFilter(spec *ebpf.CollectionSpec) error {
	filter, err := o.kernelFilter()
	if err != nil {
		return err
	}
	if err := spec.Variables["filter"].Set(filter); err != nil {
		return fmt.Errorf("set the filter: %w", err)
	}
	if err := spec.Variables["life_enabled"].Set(o.Off&format.GroupTaskLife == 0); err != nil {
		return fmt.Errorf("set the filter: %w", err)
	}
	if filter.Children == childrenNone {
		spec.Maps["followed"].MaxEntries = 1
	}
	o.setPathGlobs(spec.Maps["cgroup_globs"])
	return nil
}

// setPathGlobs fills the map of patterns.
func (o *Options) setPathGlobs(m *ebpf.MapSpec) {
	for _, list := range o.Filter.globLists() {
		for _, glob := range list {
			value := make([]byte, container.MaxGlob+1)
			copy(value, glob)
			m.Contents = append(m.Contents, ebpf.MapKV{Key: uint32(len(m.Contents)), Value: value})
		}
	}
	m.MaxEntries = uint32(max(1, len(m.Contents)))
}
