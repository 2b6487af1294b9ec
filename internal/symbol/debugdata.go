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

// addDebugData adds the symbols of .gnu_debugdata: an ELF file in an xz stream with the functions that are not exported
// (Fedora's MiniDebugInfo).
func (f *File) addDebugData(into *functions, t elf.SectionType) error {
	packed, ok := f.section(".gnu_debugdata", maxDebugDataBytes)
	if !ok {
		return nil
	}
	image, err := inflateXZ(packed, maxMiniDebugBytes)
	if err != nil {
		return fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	inner, err := Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return fmt.Errorf("read .gnu_debugdata: %w", err)
	}
	into.names.memory += int64(len(image))
	return inner.addSymbols(into, t)
}
