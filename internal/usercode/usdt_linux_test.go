package usercode

import (
	"debug/elf"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"wprof/internal/probe"
)

// TestStaticProbes compares the static probes of programs with what readelf finds, and lets the debugger execute the plans of their
// arguments, whose values are in the source.
func TestStaticProbes(t *testing.T) {
	needSDT(t)
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-no-pie", "-fno-pie"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			program := build(t, "gcc", "sdt.c", flags...)
			f := open(t, program)
			sites, err := f.USDT("*", "*")
			if err != nil {
				t.Fatal(err)
			}
			checkReadelf(t, f, program, sites)
			checkValues(t, program, sites)
		})
	}
}

func checkReadelf(t *testing.T, f *File, program string, sites []Site) {
	t.Helper()
	var got, want []string
	for _, s := range sites {
		semaphore := uint64(0)
		if s.Semaphore != 0 {
			for _, p := range f.elf.Progs {
				if p.Type == elf.PT_LOAD && s.Semaphore >= p.Off && s.Semaphore < p.Off+p.Filesz && p.Flags&elf.PF_W != 0 {
					semaphore = s.Semaphore - p.Off + p.Vaddr
				}
			}
		}
		address, _ := f.Address(s.Offset)
		got = append(got, fmt.Sprintf("%s:%s %#x %#x %s", s.Provider, s.Name, address, semaphore, s.Spec))
	}
	var one string
	for _, line := range lines(run(t, "", needTool(t, "readelf"), "-n", program)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Provider":
			one = value
		case "Name":
			one += ":" + value
		case "Location":
			var at, base, semaphore uint64
			if _, err := fmt.Sscanf(line, " Location: 0x%x, Base: 0x%x, Semaphore: 0x%x", &at, &base, &semaphore); err != nil {
				t.Fatal(err)
			}
			one += fmt.Sprintf(" %#x %#x", at, semaphore)
		case "Arguments":
			want = append(want, one+" "+value)
		}
	}
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found {
			t.Errorf("got no %q among %q", w, got)
		}
	}
	if len(got) != len(want) || len(want) < 6 {
		t.Errorf("got %d, want %d", len(got), len(want))
	}
}

// checkValues compares with the values in testdata/sdt.c.
func checkValues(t *testing.T, program string, sites []Site) {
	t.Helper()
	want := map[string]string{
		"plain":     "-1 -34359738368 -300 -5 250 18446744073709551615 7 8",
		"counted":   "-7 1099511627776 -3 5 -12345678901",
		"variables": "77 5 any",
		"inlined":   "10",
		"real":      strconv.FormatUint(0x3fd0000000000000, 10), // 0.25
	}
	var queries []gdbQuery
	for _, s := range sites {
		a := gdbQuery{Address: s.address}
		for i, arg := range s.Args {
			if arg.Err != nil {
				t.Errorf("%s argument %d of %q: %v", s.Name, i, s.Spec, arg.Err)
				a.Expressions = append(a.Expressions, "0")
				continue
			}
			a.Expressions = append(a.Expressions, gdbFormat(&arg.Read)+gdbRead(t, &arg.Read))
		}
		queries = append(queries, a)
	}
	inlined := 10
	for i, answers := range gdb(t, program, queries) {
		expect := strings.Fields(want[sites[i].Name])
		if sites[i].Name == "inlined" {
			expect = []string{strconv.Itoa(inlined)}
			inlined += 10
		}
		if len(answers) != len(expect) {
			t.Errorf("%s has %d arguments, want %d", sites[i].Name, len(answers), len(expect))
			continue
		}
		for k, got := range answers {
			if expect[k] != "any" && got != expect[k] {
				t.Errorf("argument %d of %s (%s) is %s, want %s", k, sites[i].Name, sites[i].Spec, got, expect[k])
			}
		}
	}
}

// TestUSDTArgs compares plans with the meaning of operands in the manuals of the assemblers.
func TestUSDTArgs(t *testing.T) {
	number := func(size int, signed bool) probe.Leaf {
		return probe.Leaf{Kind: probe.LeafNumber, Size: size, Signed: signed}
	}
	for _, c := range []struct {
		machine elf.Machine
		spec    string
		want    probe.Read
	}{
		{elf.EM_X86_64, "-4@%edi", probe.Read{From: register(112, 4, true), Leaf: number(4, true)}},
		{elf.EM_X86_64, "%rdi", probe.Read{From: register(112, 8, false), Leaf: number(8, false)}},
		{elf.EM_X86_64, "8@%eax", probe.Read{From: register(80, 4, false), Leaf: number(8, false)}},
		{elf.EM_X86_64, "1@%al", probe.Read{From: register(80, 1, false), Leaf: number(1, false)}},
		{elf.EM_X86_64, "-1@%ah", probe.Read{From: register(80, 8, false), Leaf: probe.Leaf{Size: 1, Signed: true, Shift: 8, Bits: 8}}},
		{elf.EM_X86_64, "4@%r8d", probe.Read{From: register(72, 4, false), Leaf: number(4, false)}},
		{elf.EM_X86_64, "2@%r15w", probe.Read{From: register(0, 2, false), Leaf: number(2, false)}},
		{elf.EM_X86_64, "8@-16(%rbp)", probe.Read{From: register(32, 8, false), Steps: []probe.Step{add(-16), load(8, false)}, Leaf: number(8, false)}},
		{elf.EM_X86_64, "8@0x10(%rsp)", probe.Read{From: register(152, 8, false), Steps: []probe.Step{add(16), load(8, false)}, Leaf: number(8, false)}},
		{elf.EM_X86_64, "8@(%rax,%rbx,4)", probe.Read{From: register(80, 8, false), Steps: []probe.Step{index(40, 4), load(8, false)}, Leaf: number(8, false)}},
		{elf.EM_X86_64, "4@16(%rax,%rbx)", probe.Read{From: register(80, 8, false), Steps: []probe.Step{index(40, 1), add(16), load(4, false)}, Leaf: number(4, false)}},
		{elf.EM_X86_64, "-4@8(,%rbx,8)", probe.Read{From: probe.From{Kind: probe.FromConstant, Size: 8, Signed: true}, Steps: []probe.Step{index(40, 8), add(8), load(4, true)}, Leaf: number(4, true)}},
		{elf.EM_X86_64, "8@$5", probe.Read{From: probe.From{Kind: probe.FromConstant, Number: 5, Size: 8}, Leaf: number(8, false)}},
		{elf.EM_X86_64, "-4@$-0x10", probe.Read{From: probe.From{Kind: probe.FromConstant, Number: -16, Size: 4, Signed: true}, Leaf: number(4, true)}},
		{elf.EM_X86_64, "8f@-8(%rbp)", probe.Read{From: register(32, 8, false), Steps: []probe.Step{add(-8), load(8, false)}, Leaf: probe.Leaf{Size: 8, Float: true}}},
		{elf.EM_AARCH64, "-4@x0", probe.Read{From: register(0, 4, true), Leaf: number(4, true)}},
		{elf.EM_AARCH64, "4@w1", probe.Read{From: register(8, 4, false), Leaf: number(4, false)}},
		{elf.EM_AARCH64, "8@[sp, 16]", probe.Read{From: register(248, 8, false), Steps: []probe.Step{add(16), load(8, false)}, Leaf: number(8, false)}},
		{elf.EM_AARCH64, "8@[x1]", probe.Read{From: register(8, 8, false), Steps: []probe.Step{load(8, false)}, Leaf: number(8, false)}},
		{elf.EM_AARCH64, "4@[x0, x1]", probe.Read{From: register(0, 8, false), Steps: []probe.Step{index(8, 1), load(4, false)}, Leaf: number(4, false)}},
		{elf.EM_AARCH64, "8@[x0, x1, lsl #3]", probe.Read{From: register(0, 8, false), Steps: []probe.Step{index(8, 8), load(8, false)}, Leaf: number(8, false)}},
		{elf.EM_AARCH64, "-4@-1", probe.Read{From: probe.From{Kind: probe.FromConstant, Number: -1, Size: 4, Signed: true}, Leaf: number(4, true)}},
		{elf.EM_AARCH64, "8@x29", probe.Read{From: register(232, 8, false), Leaf: number(8, false)}},
	} {
		args, err := parseUSDTArgs(scopeWithoutData(c.machine), c.spec)
		if err != nil || len(args) != 1 || args[0].Err != nil {
			t.Errorf("%s: got %+v, %v", c.spec, args, err)
			continue
		}
		if !reflect.DeepEqual(args[0].Read, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.spec, args[0].Read, c.want)
		}
	}
}

// scopeWithoutData is that of a file without variables.
func scopeWithoutData(m elf.Machine) *argScope {
	return &argScope{machine: machineOf(m), data: func(string) (uint64, bool) { return 0, false }}
}

// TestUSDTArgsOutOfReach checks that what probes do not see has a reason, and does not hide other arguments.
func TestUSDTArgsOutOfReach(t *testing.T) {
	for spec, reason := range map[string]string{
		"8f@%xmm0":        "vector register",
		"8@sym(%rip)":     "does not name sym",
		"8@sym+8(%rip)":   "does not name sym",
		"8@8(%rip)":       "not known",
		"8@%fs:-8":        "thread-local",
		"16@(%rax)":       "16 bytes",
		"8@$sym":          "linker",
		"4@(%rax,%ebx,4)": "32 bits",
	} {
		args, err := parseUSDTArgs(scopeWithoutData(elf.EM_X86_64), spec+" -4@%edi")
		if err != nil || len(args) != 2 || args[0].Err == nil || !strings.Contains(args[0].Err.Error(), reason) || args[1].Err != nil {
			t.Errorf("%s: got %+v, %v, want %q", spec, args, err, reason)
		}
	}
	for _, spec := range []string{"8@", "8@%nope", "8@(%rax", "8@(%rax,%rbx,3)", "8@$", "x@%rax", "8@()", "8@(,)", "-4@%eax$"} {
		if args, err := parseUSDTArgs(scopeWithoutData(elf.EM_X86_64), spec); err == nil {
			t.Errorf("%s: got %+v", spec, args)
		}
	}
}

func TestNoStaticProbe(t *testing.T) {
	needSDT(t)
	f := open(t, build(t, "gcc", "sdt.c"))
	_, err := f.USDT("app", "inlind")
	var missing *NotFound
	if !errors.As(err, &missing) || len(missing.Near) == 0 || missing.Near[0] != "app:inlined" {
		t.Errorf("got %v, %+v", err, missing)
	}
}

func FuzzUSDTArgs(f *testing.F) {
	for _, spec := range []string{"-4@%edi 8@-16(%rbp) 8@$5 8@(%rax,%rbx,4)", "8@counter+8(%rip) -1@%ah 8f@%xmm0", "8@[sp, 16] 4@[x0, x1, lsl #3] -4@-1"} {
		f.Add(spec, true)
		f.Add(spec, false)
	}
	f.Fuzz(func(t *testing.T, spec string, isArm bool) {
		m := elf.EM_X86_64
		if isArm {
			m = elf.EM_AARCH64
		}
		scope := &argScope{machine: machineOf(m), data: func(string) (uint64, bool) { return 0x1000, true }}
		args, err := parseUSDTArgs(scope, spec)
		if err != nil {
			return
		}
		for _, a := range args {
			if a.Err == nil {
				checkPlan(t, m, &a.Read)
			}
		}
	})
}
