package symbol

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

const kallsymsText = `ffffffff81000000 T startup
ffffffff81000000 T _text
ffffffff81000040 T _stext
ffffffff81000040 T do_one
ffffffff81000080 t helper
ffffffff810000c0 W weak_one
ffffffff81000100 T _etext
ffffffff81000200 t init_only
ffffffff82000000 D data
ffffffffc0001000 t ext4_read	[ext4]
ffffffffc0001100 T ext4_write	[ext4]
ffffffffc0009000 d ext4_table	[ext4]
ffffffffc000a000 t bpf_prog_1234_x	[bpf]
`

const modulesText = `ext4 8192 1 - Live 0xffffffffc0001000
jbd2 4096 0 - Live 0xffffffffc0005000 (E)
`

func parseKernel(t *testing.T, kallsyms, modules string) *Kernel {
	t.Helper()
	list, err := ParseModules(strings.NewReader(modules))
	if err != nil {
		t.Fatal(err)
	}
	k, err := parseKallsyms(strings.NewReader(kallsyms), list)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKernelSymbolsEndWhereTheirPartEnds(t *testing.T) {
	k := parseKernel(t, kallsymsText, modulesText)
	for _, c := range []struct {
		module string
		offset uint64
		want   string
	}{
		{"[kernel]", 0, "startup"}, {"[kernel]", 0x3f, "startup"}, {"[kernel]", 0x40, "_stext"}, {"[kernel]", 0x80, "helper"},
		{"[kernel]", 0xff, "weak_one"}, {"[kernel]", 0x100, ""}, {"[kernel]", 0x200, ""}, {"[kernel]", 0x1000000, ""},
		{"[ext4]", 0, "ext4_read"}, {"[ext4]", 0x100, "ext4_write"}, {"[ext4]", 8191, "ext4_write"}, {"[ext4]", 8192, ""},
		{"[bpf]", 0xfff, "bpf_prog_1234_x"}, {"[bpf]", 0x1000, ""}, {"[jbd2]", 0, ""}, {"[none]", 0, ""},
	} {
		s, _ := lookUp(k, c.module, c.offset)
		if s.Name != c.want {
			t.Errorf("%s+%#x: got %q, want %q", c.module, c.offset, s.Name, c.want)
		}
	}
	kernel := k.modules["kernel"]
	if kernel.Base != 0xffffffff81000000 || kernel.End != 0xffffffff81000100 {
		t.Errorf("got the kernel at %#x to %#x", kernel.Base, kernel.End)
	}
	if m := slices.Sorted(maps.Keys(k.modules)); !slices.Equal(m, []string{"bpf", "ext4", "kernel"}) {
		t.Errorf("got modules %q", m)
	}
}

func TestKernelBaseIsStextWithoutText(t *testing.T) {
	k := parseKernel(t, "0000000000001000 T _stext\n0000000000001000 t a\n0000000000002000 T _etext\n", "")
	if m := k.modules["kernel"]; m.Base != 0x1000 || m.End != 0x2000 {
		t.Errorf("got %#x to %#x", m.Base, m.End)
	}
}

func TestHiddenKernelAddressesAreAnError(t *testing.T) {
	_, err := parseKallsyms(strings.NewReader("0000000000000000 T _text\n0000000000000000 t a\n"), nil)
	if !errors.Is(err, errHidden) {
		t.Errorf("got %v", err)
	}
	if _, err := parseKallsyms(strings.NewReader(""), nil); !errors.Is(err, errNoSymbols) {
		t.Errorf("got %v", err)
	}
}

// TestNamesOfThisKernelEqualKallsyms searches the list line by line for 10,000 addresses of each part.
func TestNamesOfThisKernelEqualKallsyms(t *testing.T) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Skipf("no kernel symbols: %v", err)
	}
	modules, _ := os.ReadFile("/proc/modules")
	list, err := ParseModules(strings.NewReader(string(modules)))
	if err != nil {
		t.Fatal(err)
	}
	k, err := parseKallsyms(strings.NewReader(string(text)), list)
	if errors.Is(err, errHidden) && os.Geteuid() != 0 {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	kernel := k.modules["kernel"]
	lines := kallsymsLines(t, string(text))
	random := rand.New(rand.NewPCG(3, 4))
	for range 10000 {
		address := kernel.Base + random.Uint64N(kernel.End-kernel.Base)
		want, at := nearestLine(lines, address)
		got, ok := lookUp(k, "[kernel]", address-kernel.Base)
		if !ok || got.Name != want || got.Start+kernel.Base != at {
			t.Errorf("%#x: got %s at %#x, kallsyms says %s at %#x", address, got.Name, got.Start+kernel.Base, want, at)
		}
	}
	t.Logf("%d functions in %d parts", len(lines), len(k.modules))
}

func lookUp(k *Kernel, module string, offset uint64) (Symbol, bool) {
	table := k.Table(module)
	if table == nil {
		return Symbol{}, false
	}
	return table.Lookup(offset)
}

type kallsymsLine struct {
	address uint64
	name    string
}

func kallsymsLines(t *testing.T, text string) []kallsymsLine {
	t.Helper()
	var list []kallsymsLine
	in := bufio.NewScanner(strings.NewReader(text))
	for in.Scan() {
		var l kallsymsLine
		var kind string
		if _, err := fmt.Sscanf(in.Text(), "%x %s %s", &l.address, &kind, &l.name); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		if strings.Contains("tTwW", kind) && !strings.Contains(in.Text(), "[") {
			list = append(list, l)
		}
	}
	return list
}

// nearestLine returns the first line of the highest address that is not above the given one.
func nearestLine(lines []kallsymsLine, address uint64) (string, uint64) {
	best := kallsymsLine{}
	for _, l := range lines {
		if l.address <= address && l.address > best.address {
			best = l
		}
	}
	return best.name, best.address
}
