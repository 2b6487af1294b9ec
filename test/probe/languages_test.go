//go:build linux

package probe

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"wprof/test/tools"
)

// compile compiles a program of testdata.
func compile(t *testing.T, source string, compiler ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if _, err := exec.LookPath(compiler[0]); err != nil {
		t.Fatalf("%s is not installed: scripts/test installs it", compiler[0])
	}
	if out, err := exec.Command(compiler[0], append(compiler[1:], "-o", program, filepath.Join("testdata", source))...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v: %s", source, err, out)
	}
	return program
}

func TestCPlusPlus(t *testing.T) {
	c := record(t, []string{
		`u:shop::Cart::add(int) (arg:1:s32/name(price)) | id:add |`,
		`u:shop::Cart::add(int, char const*) (arg:1:s32/name(price), arg:2:str/name(name)) | id:named |`,
		`u:"shop::Cart::operator<(shop::Cart const&) const" | id:less |`,
		`uspan:shop::Box<int>::put(int) (arg:1:s32/name(value), arg:ret:s32/name(before)) | id:box |`,
		`u:shop::*::put* | id:boxes, name:"{func}" |`,
		`u:shop::risky(int) (arg:0:s32/name(n)) | id:risky |`,
	}, tools.Path("known-cc"))
	for id, want := range map[string][]string{
		"add":   each(12, func(i int) string { return fmt.Sprintf(`{"price":%d}`, i) }),
		"named": each(6, func(i int) string { return fmt.Sprintf(`{"price":%d,"name":"half"}`, -2*i-1) }),
		"less":  each(4, func(int) string { return `{}` }),
		"box":   each(12, func(i int) string { return fmt.Sprintf(`{"value":%d,"before":%d}`, 10*i, 10*max(0, i-1)) }),
		"risky": each(12, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i) }),
	} {
		t.Run(id, func(t *testing.T) { check(t, c.args(id), want) })
	}
	names := make(map[string]int)
	for _, e := range c.of("boxes") {
		names[e.Name]++
	}
	if len(names) != 2 || len(c.of("boxes")) != 15 {
		t.Errorf("%v, want 12 calls of one function, and 3 of another", names)
	}
}

// Goroutines change threads within the function, and their stacks move.
func TestGo(t *testing.T) {
	c := record(t, []string{
		`uspan:main.work (arg:0:s64/name(id), arg:ret:s64) | id:work |`,
		`uspan:main.fall (arg:0:s64/name(depth), arg:ret:s64) | id:fall |`,
		`uret:main.work (arg:ret:s64) | id:returned |`,
	}, compile(t, "known.go", "go", "build"))
	spans, began := c.of("work"), make(map[int64]int)
	for _, e := range c.entries("work") {
		began[e.number(t, "id")] = e.Task.TID
	}
	if len(spans) != 400 || len(began) != 400 || len(c.of("returned")) != 400 {
		t.Fatalf("%d spans, %d entries and %d returns, want 400", len(spans), len(began), len(c.of("returned")))
	}
	moved, sum := 0, int64(0)
	for _, e := range spans {
		id := e.number(t, "id")
		want := 2 * id
		if id%10 == 0 {
			want = -id
		}
		if began[id] != e.Task.TID {
			moved++
		}
		delete(began, id)
		sum += e.Dur
		if ret := e.number(t, "ret"); ret != want {
			t.Errorf("call %d returned %d, want %d", id, ret, want)
		}
	}
	// Between what the program compares and the probes a goroutine may move once more.
	if said := c.number(t, "moved"); moved < 20 || moved < int(said)-40 || moved > int(said)+40 || len(began) > 0 {
		t.Errorf("%d calls moved, and the program saw %d; %d did not end", moved, said, len(began))
	}
	if inside, outside := c.number(t, "inside"), c.number(t, "outside"); sum < inside || sum > outside {
		t.Errorf("%d ns in all spans; inside the function %d ns, outside %d ns", sum, inside, outside)
	}
	check(t, c.args("fall"), each(300, func(i int) string { return fmt.Sprintf(`{"depth":%d,"ret":%d}`, i+1, i+1) }))
}

func TestRust(t *testing.T) {
	c := record(t, []string{
		`uspan:known::shop::Cart::add (arg:1:s32/name(price), arg:ret:s64) | id:add |`,
		`u:*shop::twice* (arg:0:s64/name(value)) | id:twice |`,
	}, compile(t, "known.rs", "rustc", "-O", "--crate-name=known"))
	total := 0
	check(t, c.args("add"), each(14, func(i int) string {
		total += i - 7
		return fmt.Sprintf(`{"price":%d,"ret":%d}`, i-7, total)
	}))
	check(t, c.args("twice"), each(7, func(i int) string { return fmt.Sprintf(`{"value":%d}`, 2*i) }))
}
