package usercode

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
)

const dataSource = `
enum state { IDLE, BUSY = 7 };
int counter = 5;
static volatile unsigned short small_one;
volatile enum state state;
double ratio;
char *text;
long table[4];
_Bool done;
__thread int own;
static volatile int twice;
volatile int *second(void);
int function(void) { static signed char hits; return ++hits + small_one + twice + own + *second(); }
int main(void) { return function(); }
`

const otherDataSource = `
static volatile int twice;
static int counter_of;
volatile int *second(void) { counter_of++; return &twice; }
`

// dataProgram compiles the sources.
func dataProgram(t *testing.T, flags ...string) *File {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.c": dataSource, "b.c": otherDataSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "data")
	args := append([]string{"-O1", "-o", path, filepath.Join(dir, "a.c"), filepath.Join(dir, "b.c")}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Variables are found by name, with their sizes, and shown by their types.
func TestData(t *testing.T) {
	f := dataProgram(t, "-g")
	for name, want := range map[string]struct {
		size                      uint64
		signed, float, bool, isOK bool
		names                     []*format.EnumName
	}{
		"counter": {size: 4, signed: true, isOK: true}, "small_one": {size: 2, isOK: true}, "ratio": {size: 8, float: true, isOK: true},
		"state": {size: 4, isOK: true, names: make([]*format.EnumName, 2)}, "done": {size: 1, bool: true, isOK: true}, "text": {size: 8, isOK: true},
		"table": {size: 32}, "hits.0": {size: 1, signed: true, isOK: true},
	} {
		d, err := f.Datum(name)
		if err != nil && strings.HasPrefix(name, "hits") {
			d, err = f.Datum("hits.1") // the number is the compiler's
		}
		if err != nil || d.Size != want.size {
			t.Errorf("%s: %+v %v", name, d, err)
			continue
		}
		leaf, ok := f.DatumLeaf(d.Address, int(min(d.Size, 8)))
		if ok != want.isOK || ok && (leaf.Signed != want.signed || leaf.Float != want.float || leaf.Bool != want.bool || len(leaf.Names) != len(want.names)) {
			t.Errorf("%s: %t %+v", name, ok, leaf)
		}
	}
	if _, ok := f.DatumLeaf(1, 4); ok {
		t.Error("there is a variable at 1")
	}
	var missing *NotFound
	if _, err := f.Datum("countr"); !errors.As(err, &missing) || len(missing.Near) == 0 || missing.Near[0] != "counter" {
		t.Errorf("countr: %v", err)
	}
	if _, err := f.Datum("own"); !errors.Is(err, errThreadLocal) {
		t.Errorf("own: %v", err)
	}
	if _, err := f.Datum("twice"); err == nil || !strings.Contains(err.Error(), "there are 2 variables") {
		t.Errorf("twice: %v", err)
	}
	if all, err := f.Data("count*"); err != nil || len(all) != 2 || all[0].Name != "counter" || all[1].Name != "counter_of" {
		t.Errorf("%v %v", all, err)
	}
	if _, err := f.Data("nothing*"); !errors.As(err, &missing) {
		t.Errorf("nothing*: %v", err)
	}
}

// Without debugging information the sizes are left.
func TestDataWithoutDWARF(t *testing.T) {
	f := dataProgram(t)
	d, err := f.Datum("counter")
	if err != nil || d.Size != 4 {
		t.Errorf("%+v %v", d, err)
	}
	if _, ok := f.DatumLeaf(d.Address, 4); ok {
		t.Error("the type is known")
	}
}
