package symbol

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
)

// TestDumpThatWasWrittenAnewGivesNoNames for what was in it before.
func TestDumpThatWasWrittenAnewGivesNoNames(t *testing.T) {
	var b bytes.Buffer
	for _, n := range []any{
		uint32(0x4A695444), uint32(1), uint32(40), uint32(0), uint32(0), uint32(7), uint64(1000), uint64(0), // struct jitheader
		uint32(0), uint32(16 + 40 + 2 + 1), uint64(5), uint32(7), uint32(7), uint64(0x1000), uint64(0x1000), uint64(1), uint64(0), uint16('f'), uint8(0xc3), // jr_code_load
	} {
		_ = binary.Write(&b, binary.LittleEndian, n)
	}
	path := filepath.Join(t.TempDir(), "jit-7.dump")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte(path)}
	identify(t, m)
	m.Size, m.Ctime = 0, 0
	for began, want := range map[uint64]string{0: "f", 1000: "f", 999: ""} {
		m.Mtime = began
		r := NewResolver(Options{})
		out := make([]Name, 1)
		if err := r.Names(m, []Address{{Offset: uint64(b.Len()) - 1}}, out); err != nil || out[0].Function != want {
			t.Errorf("the dump of %d is named %q (%v, %s), want %q", began, out[0].Function, err, r.Why(m), want)
		}
		r.Close()
	}
}
