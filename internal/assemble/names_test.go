package assemble

import (
	"fmt"
	"path"

	"wprof/format"
	"wprof/internal/symbol"
)

// textNamer names what stands below 0x9000 of a file, and the kernel: a function every 256 bytes.
type textNamer struct{}

func (textNamer) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	for i, a := range at {
		offset := a.Offset
		if a.Caller {
			offset--
		}
		if offset >= 0x9000 && m.Kind == uint32(format.ModuleKind_MODULE_FILE) {
			continue
		}
		out[i] = symbol.Name{Function: fmt.Sprintf("%s_%x", path.Base(string(m.Path)), offset>>8), Offset: a.Offset - offset>>8<<8, OK: true}
	}
	return nil
}

// textOptions are those that spools in the text form are finalised with.
func textOptions() Options {
	return Options{Names: textNamer{}}
}
