package symbol

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// assembly has functions with and without a type and a size, mapping symbols for code and data, and markers.
const assembly = `	.text
	.globl _start
_start:	nop
	nop
"$x":	nop
"$d.1":	nop
	.type sized, @function
sized:	nop
	nop
	.size sized, .-sized
	nop
	.globl strong
	.weak frail
	.type frail, @function
	.type strong, @function
frail:
strong:	nop
	.size strong, .-strong
	.size frail, .-frail
	.globl end_of_text
end_of_text:
	.data
	.globl variable
variable: .long 1
`

// assemble makes a program from text for one of the machines that the installed assembler supports.
func assemble(t *testing.T, text, bits, emulation string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "a.s")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, needTool(t, "as"), bits, "-o", "a.o", "a.s")
	run(t, dir, needTool(t, "ld"), "-m", emulation, "-o", "a", "a.o")
	return filepath.Join(dir, "a")
}

func TestAssemblyIsNamedByItsLabels(t *testing.T) {
	for bits, emulation := range map[string]string{"--64": "elf_x86_64", "--32": "elf_i386"} {
		program := assemble(t, assembly, bits, emulation)
		for machine, labels := range map[elf.Machine]bool{0: true, elf.EM_AARCH64: false} {
			setMachine(t, program, machine)
			f := openFile(t, program)
			table, err := f.Table()
			if err != nil {
				t.Fatal(err)
			}
			text := f.elf.Section(".text").Addr
			want := map[uint64]string{text - 1: "", text: "_start", text + 1: "_start", text + 4: "sized", text + 5: "sized", text + 6: "",
				text + 7: "strong", text + 8: "", f.elf.Section(".data").Addr: ""}
			want[text+2], want[text+3] = "_start", "_start"
			if labels {
				want[text+2], want[text+3] = "$x", "$d.1"
			}
			checkNames(t, table, want)
		}
	}
}

// setMachine sets the machine in a file's header; 0 changes nothing.
func setMachine(t *testing.T, name string, machine elf.Machine) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if machine != 0 {
		binary.LittleEndian.PutUint16(b[18:], uint16(machine))
	} else if b[elf.EI_CLASS] == byte(elf.ELFCLASS64) {
		binary.LittleEndian.PutUint16(b[18:], uint16(elf.EM_X86_64))
	} else {
		binary.LittleEndian.PutUint16(b[18:], uint16(elf.EM_386))
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}
