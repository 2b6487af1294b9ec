package usercode

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/internal/probe"
)

// gdbName returns the name that gdb has for a register of struct pt_regs.
func gdbName(t testing.TB, offset int) string {
	t.Helper()
	for _, r := range x86().registers {
		if r.Offset == offset && r.Size == 8 {
			return "$" + r.Name
		}
	}
	t.Fatalf("there is no register at %d", offset)
	return ""
}

var gdbTypes = map[int]string{1: "char", 2: "short", 4: "int", 8: "long"}

func gdbType(size int, signed bool) string {
	if signed {
		return "signed " + gdbTypes[size]
	}
	return "unsigned " + gdbTypes[size]
}

// gdbValue writes what a plan does up to its leaf as an expression of gdb's, so that the debugger executes it.
func gdbValue(t testing.TB, from probe.From, steps []probe.Step) string {
	t.Helper()
	value := ""
	switch from.Kind {
	case probe.FromRegister:
		value = fmt.Sprintf("((unsigned long)(%s)%s)", gdbType(from.Size, from.Signed), gdbName(t, from.Register))
	case probe.FromConstant:
		value = fmt.Sprintf("((unsigned long)%dL)", from.Number)
	default:
		t.Fatalf("a plan begins with %v", from.Kind)
	}
	for _, s := range steps {
		switch s.Kind {
		case probe.StepAdd:
			value = fmt.Sprintf("(%s+(%d))", value, s.Number)
		case probe.StepAddRegister:
			value = fmt.Sprintf("(%s+((unsigned long)%s)*%d)", value, gdbName(t, s.Register), s.Scale)
		case probe.StepLoad:
			if !s.User {
				t.Fatal("a plan loads from the kernel's memory")
			}
			value = fmt.Sprintf("((unsigned long)*(%s*)%s)", gdbType(s.Size, s.Signed), value)
		}
	}
	return value
}

// gdbRead writes a whole plan as an expression of gdb's for a value, or as the address of a string.
func gdbRead(t testing.TB, r *probe.Read) string {
	t.Helper()
	value := gdbValue(t, r.From, r.Steps)
	l := r.Leaf
	switch l.Kind {
	case probe.LeafString, probe.LeafArray:
		return "(char*)" + value
	case probe.LeafSlice, probe.LeafBytes:
		t.Fatal("not a number")
	}
	if l.Bits > 0 {
		up := 64 - l.Shift - l.Bits
		value = fmt.Sprintf("((%s)(%s<<%d)>>%d)", gdbType(8, l.Signed), value, up, 64-l.Bits)
	}
	return fmt.Sprintf("(%s)%s", gdbType(l.Size, l.Signed), value)
}

// gdbFormat is how the debugger writes a number.
func gdbFormat(r *probe.Read) string {
	if r.Leaf.Signed {
		return "/d "
	}
	return "/u "
}

// gdbQuery is what a debugger evaluates when a program comes to an address for the first time.
type gdbQuery struct {
	Address     uint64 // in the file
	Expressions []string
}

// gdb runs a program to each address, and returns what the debugger says about each question: "" for none.
func gdb(t testing.TB, program string, queries []gdbQuery) [][]string {
	t.Helper()
	needTool(t, "gdb")
	var script strings.Builder
	script.WriteString("set pagination off\nset confirm off\nset disable-randomization on\nset language c\n" +
		"set print elements 300\nset print repeats 0\nset print null-stop on\nset debuginfod enabled off\nset breakpoint pending on\nstarti\n")
	// The place of a program that is not at a fixed address is where the debugger puts its entry.
	f := open(t, program)
	fmt.Fprintf(&script, "python bias = int([l for l in open('/proc/%%d/maps' %% gdb.selected_inferior().pid) if l.rstrip().endswith(%q)][0].split('-')[0], 16)\n", program)
	low := uint64(0)
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD {
			low = p.Vaddr
			break
		}
	}
	fmt.Fprintf(&script, "python bias -= %d\n", low)
	for _, a := range queries {
		fmt.Fprintf(&script, "python gdb.execute('tbreak *%%d' %% (bias + %d))\n", a.Address)
	}
	script.WriteString(`python
import json
queries = json.load(open('queries.json'))
left = dict()
for i, a in enumerate(queries):
    left.setdefault(bias + a['Address'], []).append(i)
results = [None] * len(queries)
while left:
    gdb.execute('continue', to_string=True)
    try:
        pc = int(gdb.parse_and_eval('(unsigned long)$pc'))
    except gdb.error:
        break
    for i in left.pop(pc, []):
        results[i] = []
        for q in queries[i]['Expressions'] or []:
            try:
                results[i].append(gdb.execute('output ' + q, to_string=True))
            except gdb.error as e:
                results[i].append('error: ' + str(e))
json.dump(results, open('answers.json', 'w'))
end
kill
`)
	dir := t.TempDir()
	writeJSON(t, filepath.Join(dir, "queries.json"), queries)
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := run(t, dir, "gdb", "-nx", "-batch", "-x", filepath.Join(dir, "script"), program)
	var answers [][]string
	readJSON(t, filepath.Join(dir, "answers.json"), &answers)
	for i, a := range answers {
		if a == nil {
			t.Fatalf("the program does not come to %#x: %s", queries[i].Address, out)
		}
	}
	return answers
}
