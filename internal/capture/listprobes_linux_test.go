package capture

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/bpf"
	"wprof/internal/glob"
	"wprof/internal/probe"
)

// listedProbes lists what a pattern selects, and checks that -U takes it as it is listed.
func listedProbes(t *testing.T, pattern string, command ...string) []probeLine {
	t.Helper()
	read, err := bpf.ReadTypes()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := listProbes(read, pattern, command)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		d, err := probe.Parse(line.Probe)
		if err != nil {
			t.Errorf("%s is listed, and refused: %v", line.Probe, err)
			continue
		}
		word, target, path := d.Legs[0].Probe.Info().Word, d.Legs[0].Target.Text, d.Legs[0].Path.Text
		if word != line.Kind || target != line.Target || path != line.Path {
			t.Errorf("%s means %s:%s in %q, want %s:%s in %q", line.Probe, word, target, path, line.Kind, line.Target, line.Path)
		}
	}
	if !slices.IsSortedFunc(lines, func(a, b probeLine) int { return strings.Compare(a.Target, b.Target) }) {
		t.Errorf("%s: the lines are not sorted", pattern)
	}
	return lines
}

func lineOf(t *testing.T, lines []probeLine, target string) probeLine {
	t.Helper()
	i := slices.IndexFunc(lines, func(l probeLine) bool { return l.Target == target })
	if i < 0 {
		t.Fatalf("%s is not listed", target)
	}
	return lines[i]
}

// compileHere compiles a program.
func compileHere(t *testing.T, compiler, name, text string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Fatalf("%s is not installed: scripts/test installs it", compiler)
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, name), filepath.Join(dir, "a program")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if message, err := exec.Command(compiler, append(flags, "-o", out, source)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", compiler, err, message)
	}
	return out
}

// The functions that are listed are those of the symbol table.
func TestListsFunctionsOfPrograms(t *testing.T) {
	path := compileHere(t, "gcc", "a.c", `
int apple(int a) { return a + 1; }
int apricot(void) { return 2; }
static int chosen(void) { return 3; }
static void *choose(void) { return chosen; }
int apt(void) __attribute__((ifunc("choose")));
int main(void) { return apple(1) + apricot() + apt(); }
`)
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]bool) // and whether it is an IFUNC
	for _, s := range symbols {
		kind := elf.ST_TYPE(s.Info)
		if isFunction := kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC; isFunction && glob.Match("ap*", []byte(s.Name)) {
			want[s.Name] = kind == elf.STT_GNU_IFUNC
		}
	}
	if len(want) != 3 {
		t.Fatalf("the symbol table has %v", want)
	}
	if lines := listedProbes(t, "u:ap*", path, "an argument"); len(lines) != len(want) {
		t.Errorf("%d functions of the command are listed, and the symbol table has %d", len(lines), len(want))
	}
	for _, word := range []string{"u", "uret", "uspan"} {
		lines := listedProbes(t, word+":"+path+":ap*")
		for _, line := range lines {
			if isIndirect, ok := want[line.Target]; !ok || line.Indirect != isIndirect {
				t.Errorf("%s: %s is listed, IFUNC: %v; the symbol table has %v", word, line.Target, line.Indirect, want)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%s: %d functions are listed, and the symbol table has %d", word, len(lines), len(want))
		}
	}
}

func TestListsFunctionsWithAnyName(t *testing.T) {
	path := compileHere(t, "g++", "a.cc", `
struct S { bool operator()(int) const; template <class T> T *of(T, const char *); operator bool() const; };
__attribute__((noinline)) bool S::operator()(int i) const { return i; }
template <class T> __attribute__((noinline)) T *S::of(T, const char *) { return nullptr; }
__attribute__((noinline)) S::operator bool() const { return true; }
__attribute__((noinline)) S operator|(const S &a, const S &) { return a; }
namespace { __attribute__((noinline)) int hidden(S) { return 1; } }
int main() { S s; return s(1) + !s.of(1, "") + bool(s) + bool(s | s) + hidden(s); }
`)
	if lines := listedProbes(t, "u:"+path+":*S*"); len(lines) < 4 {
		t.Errorf("%d functions are listed: %v", len(lines), lines)
	}
}

func TestListsStaticProbes(t *testing.T) {
	path := compileHere(t, "gcc", "a.c", `
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__attribute__((section(".probes"))) unsigned short shop_open_semaphore, shop_sale_semaphore;
int main(int argc, char **argv) {
	long price = argc;
	STAP_PROBE(shop, open);
	STAP_PROBE2(shop, sale, price, argv);
	STAP_PROBE2(shop, sale, price + 1, (short)argc);
	return 0;
}
`)
	lines := listedProbes(t, "usdt:"+path)
	if len(lines) != 2 {
		t.Fatalf("%d probes are listed: %v", len(lines), lines)
	}
	sale := lineOf(t, lines, "shop:sale")
	if len(sale.Fields) != 2 || sale.Places != 2 || !sale.Semaphore {
		t.Fatalf("shop:sale is listed as %+v", sale)
	}
	if price := sale.Fields[0]; price.Type != "s64" || !strings.HasPrefix(price.Where, "-8@") {
		t.Errorf("shop:sale is listed as %+v", sale)
	}
	if lines = listedProbes(t, "usdt:"+path+":shop:op*"); len(lines) != 1 || lines[0].Target != "shop:open" || len(lines[0].Fields) != 0 {
		t.Errorf("shop:op* is listed as %+v", lines)
	}
}

func TestListsTracepointsAndKernelFunctions(t *testing.T) {
	needRoot(t)
	for pattern, of := range map[string]struct {
		target string
		want   fieldLine
	}{
		"tp:sched:sched_*": {"sched:sched_switch", fieldLine{Name: "prev_comm", Type: "str"}},
		"tp:sched":         {"sched:sched_switch", fieldLine{Name: "prev_prio", Type: "s32"}},
		"raw_tp:sched_*":   {"sched_switch", fieldLine{Name: "prev", Type: "struct task_struct *"}},
	} {
		if f := lineOf(t, listedProbes(t, pattern), of.target).Fields; !slices.Contains(f, of.want) {
			t.Errorf("%s: the fields of %s are %v, without %v", pattern, of.target, f, of.want)
		}
	}
	line := lineOf(t, listedProbes(t, "kspan:vfs_re*"), "vfs_read")
	if line.Result != "ssize_t" || !slices.Contains(line.Fields, fieldLine{Name: "count", Type: "size_t"}) {
		t.Errorf("vfs_read is listed as %+v", line)
	}
}

func TestListsBPFPrograms(t *testing.T) {
	needRoot(t)
	tracer, err := bpf.Load(bpf.Options{Rings: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer tracer.Close()
	lines := listedProbes(t, "bpf:*")
	i := slices.IndexFunc(lines, func(l probeLine) bool { return strings.Contains(l.Note, "sched_switch") })
	if i < 0 || len(lines[i].Fields) != 1 || lines[i].Result != "int" {
		t.Errorf("the programs of this process are listed as %+v", lines)
	}
}

func TestListSuggestsNearNames(t *testing.T) {
	read, err := bpf.ReadTypes()
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		"raw_tp:sched_swich":    "did you mean sched_switch",
		"k:vfs_raed":            "did you mean vfs_read",
		"u:":                    "u:FILE:GLOB",
		"usdt:":                 "usdt:FILE:PROVIDER:GLOB",
		"u:/no/such/file:x":     "no such file",
		"watch:libc.so.6:stdou": "did you mean",
	} {
		if _, err := listProbes(read, pattern, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), pattern) {
			t.Errorf("--list %s: %v; want %s", pattern, err, want)
		}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("recording needs root and BTF")
	}
}

func TestListsArgumentsAndLines(t *testing.T) {
	path := compileHere(t, "gcc", "shop.c", `struct item { int price; };
__attribute__((noinline)) long buy(struct item *what, unsigned char count)
{
	long sum = what->price;
	return sum * count;
}
int main(int argc, char **argv) { struct item i = { argc }; return buy(&i, 2); }
`, "-g", "-O0")
	buy := lineOf(t, listedProbes(t, "uspan:"+path+":b*"), "buy")
	if want := []fieldLine{{Name: "what", Type: "struct item *"}, {Name: "count", Type: "unsigned char"}}; !slices.Equal(buy.Fields, want) || buy.Result != "long int" {
		t.Errorf("buy is listed as %+v, want %v", buy, want)
	}
	at := lineOf(t, listedProbes(t, "line:"+path+":shop.c:5"), "shop.c:5")
	if !slices.ContainsFunc(at.Fields, func(f fieldLine) bool { return f.Name == "sum" }) || at.Places != 1 || at.Note != "in buy" {
		t.Errorf("line 5 is listed as %+v", at)
	}
}
