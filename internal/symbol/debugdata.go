package symbol

import (
	"bytes"
	"debug/elf"
	"fmt"
)

const (
	maxDebugDataBytes = 64 << 20 // compressed
	maxMiniDebugBytes = 96 << 20 // inflated; it stays in memory with the table
)

// addDebugData adds the symbols of .gnu_debugdata.
func (f *File) addDebugData(into *functions, t elf.SectionType) error {
	inner, size, err := f.debugData()
	if inner == nil || err != nil {
		return err
	}
	into.names.memory += size
	return inner.addSymbols(into, t)
}

// debugData inflates .gnu_debugdata: an ELF file in an xz stream with the functions that are not exported (Fedora's MiniDebugInfo).
// It is nil if there is none.
func (f *File) debugData() (inner *File, size int64, err error) {
	packed, ok := f.section(".gnu_debugdata", maxDebugDataBytes)
	if !ok {
		return nil, 0, nil
	}
	image, err := inflateXZ(packed, maxMiniDebugBytes)
	if err != nil {
		return nil, 0, fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	inner, err = Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return nil, 0, fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	return inner, int64(len(image)), nil
}
