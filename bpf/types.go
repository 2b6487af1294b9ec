//go:build linux

package bpf

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// RecordTypes are the structs of records.h as the programs were compiled with them, by name (rec_switch). It needs no
// privilege.
func RecordTypes() (map[string]*btf.Struct, error) {
	spec, err := loadWprof()
	if err != nil {
		return nil, fmt.Errorf("read the kernel programs: %w", err)
	}
	records := make(map[string]*btf.Struct)
	for t, err := range spec.Types.All() {
		if err != nil {
			return nil, fmt.Errorf("read the types of the kernel programs: %w", err)
		}
		if s, ok := t.(*btf.Struct); ok && strings.HasPrefix(s.Name, "rec_") {
			records[s.Name] = s
		}
	}
	return records, nil
}
