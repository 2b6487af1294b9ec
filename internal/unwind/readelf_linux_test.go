package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// files that a machine with this project's tools has: hand-written assembly, compiled C and C++, and a linker's stubs.
var files = []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/bin/bash", "/usr/bin/perf",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"}

// readelf prints the rules of each place; the table must have the same ones, or none where they do not fit into a table.
func TestTablesAgreeWithReadelf(t *testing.T) {
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(name); os.IsNotExist(err) && name != files[0] {
				t.Skip("this machine has no such file")
			}
			compareWithReadelf(t, name, tableOf(t, name))
		})
	}
}

func tableOf(t *testing.T, name string) *Table {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	table, err := Build(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

type comparison struct{ rows, unknown, wrong int }

func compareWithReadelf(t *testing.T, name string, table *Table) {
	t.Helper()
	toOffset := offsets(t, name)
	cmd := exec.Command("readelf", "--debug-dump=frames-interp", name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start readelf: %v", err)
	}
	var c comparison
	var columns []string
	signal := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 3 && fields[3] == "CIE":
			columns, signal = nil, strings.Contains(lines.Text(), `S"`)
		case len(fields) > 3 && fields[3] == "FDE":
			columns = nil
		case len(fields) > 1 && fields[0] == "LOC":
			columns = fields
		case len(columns) > 0 && len(fields) == len(columns) && !signal:
			c.row(t, table, toOffset, columns, fields)
		}
	}
	_ = cmd.Wait() // its status is 1 where it misses a separate debug file
	t.Logf("%d rows, %d without a rule (%.2f%%), %d wrong", c.rows, c.unknown, 100*float64(c.unknown)/float64(c.rows), c.wrong)
	if c.rows < 1000 || c.unknown*20 > c.rows {
		t.Errorf("of %d rows %d have no rule", c.rows, c.unknown)
	}
}

// row compares one line of readelf's.
func (c *comparison) row(t *testing.T, table *Table, toOffset func(uint64) uint64, columns, fields []string) {
	address, err := strconv.ParseUint(fields[0], 16, 64)
	if err != nil || address == 0 { // of a CIE
		return
	}
	got := table.Rule(toOffset(address))
	c.rows++
	want, known := expectedRule(columns, fields)
	if got.Base == Unknown {
		if c.unknown++; c.unknown < 10 {
			t.Logf("no rule: %s", strings.Join(fields, " "))
		}
		return
	}
	if !known && (got.Base == AtSP || got.Base == AtFP || got.Base == PLT) || got == want {
		return
	}
	if c.wrong++; c.wrong < 10 {
		t.Errorf("%s: got %+v, want %+v", strings.Join(fields, " "), got, want)
	}
}

// expectedRule is false for the second value if readelf does not say what an expression is.
func expectedRule(columns, fields []string) (r Rule, known bool) {
	cell := map[string]string{}
	for i, name := range columns {
		cell[name] = fields[i]
	}
	if cell["ra"] == "u" {
		return Rule{Base: Root}, true
	}
	if _, err := fmt.Sscanf(cell["rbp"], "c%d", &r.FPOffset); err == nil {
		r.Saved = AtCFA
	}
	if _, err := fmt.Sscanf(cell["CFA"], "rsp+%d", &r.Offset); err == nil {
		r.Base = SP
	} else if _, err := fmt.Sscanf(cell["CFA"], "rbp+%d", &r.Offset); err == nil {
		r.Base = FP
	} else {
		for number, name := range []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"} {
			if _, err := fmt.Sscanf(cell["CFA"], name+"+%d", &r.Offset); err == nil {
				r.Base, r.Add = Register, placeInRegs[number]
			}
		}
	}
	switch bx := cell["rbx"]; {
	case bx == "exp" || strings.HasPrefix(bx, "v") || strings.HasPrefix(bx, "r"):
		r.BX = bxGone
	default:
		_, _ = fmt.Sscanf(bx, "c%d", &r.BX) // else it is still in the register
	}
	return r, r.Base != Unknown && cell["rbp"] != "exp"
}

// offsets leads from addresses to places in the file, as readelf shows segments.
func offsets(t *testing.T, name string) func(uint64) uint64 {
	t.Helper()
	out, err := exec.Command("readelf", "-lW", name).Output()
	if err != nil {
		t.Fatalf("readelf: %v", err)
	}
	var all []segment
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 6 && f[0] == "LOAD" {
			var s segment
			if _, err := fmt.Sscanf(strings.Join(f[1:3], " ")+" "+f[4], "0x%x 0x%x 0x%x", &s.offset, &s.address, &s.size); err == nil {
				all = append(all, s)
			}
		}
	}
	return func(address uint64) uint64 {
		for _, s := range all {
			if address-s.address < s.size {
				return address - s.address + s.offset
			}
		}
		return 1 << 40
	}
}
