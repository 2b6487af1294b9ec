package usercode

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/internal/probe"
)

// TestReasons checks that what cannot be read has a reason, at the part of the argument that it is about, and names that exist.
func TestReasons(t *testing.T) {
	f := open(t, build(t, "gcc", "values.c", "-O0"))
	entry := func(name string) Where {
		list, err := f.Functions(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		return Where{list[0].Address, AtEntry}
	}
	for _, c := range []struct {
		function, arg, reason string
		at                    int // of a PartError; -1: it is none
		near                  string
	}{
		{"locals", "lst", "the function has no argument lst", -1, "list"},
		{"locals", "3", "the function has 3 arguments", -1, ""},
		{"locals", "list.nam", "struct deep has no member nam", 4, "name"},
		{"locals", "list.next.nam", "struct deep has no member nam", 9, "name"},
		{"locals", "list.id.x", "int has no members", 7, ""},
		{"locals", "n[1]", "int has no elements", 1, ""},
		{"locals", "list.grid[3]", "int[3][4] has 3 elements", 9, ""},
		{"locals", "list.grid[1]", "int[4] is an array", 9, ""},
		{"locals", "list.point", "is a structure: name one of its members: x, y", 4, ""},
		{"locals", "list::cast<struct dep *>.id", "there is no type struct dep", 4, "deep"},
		{"locals", "list::container_of<struct deep, nothing>", "struct deep has no member nothing", 4, ""},
		{"locals", "list::container_of<struct deep, flag>", "flag is a bit-field", 4, ""},
		{"locals", "n::container_of<struct deep, id>", "not in memory", 1, ""},
		{"locals", "ret", "only when the function returns", -1, ""},
		{"structures", "x", "vector register", -1, ""},
		{"structures", "m.d", "vector register", 1, ""},
		{"many", "c as str", "not the address of a string", -1, ""},
	} {
		_, err := f.Resolve(entry(c.function), argOf(t, c.arg))
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %v, want %q", c.arg, err, c.reason)
			continue
		}
		var part *PartError
		if at := -1; errors.As(err, &part) {
			if at = part.At; at != c.at {
				t.Errorf("%s: the error is at %d, want %d", c.arg, at, c.at)
			}
		} else if c.at >= 0 {
			t.Errorf("%s: the error is at no part, want %d", c.arg, c.at)
		}
		var missing *NotFound
		if c.near != "" && (!errors.As(err, &missing) || !slices.Contains(missing.Near, c.near)) {
			t.Errorf("%s: got %+v, want %s near", c.arg, missing, c.near)
		}
	}
	if _, err := open(t, build(t, "gcc", "values.c", "-g0")).Resolve(entry("locals"), argOf(t, "n")); !errors.Is(err, ErrNoDWARF) {
		t.Errorf("got %v of a program without DWARF", err)
	}
}

// TestLines compares with where the debugger puts breakpoints, and checks what is said of lines without code.
func TestLines(t *testing.T) {
	program := build(t, "gcc", "values.c", "-O0")
	f := open(t, program)
	for _, comment := range []string{"block", "locals", "many", "structures"} {
		line := lineOf(t, "values.c", comment)
		places, err := f.Line("values.c", line)
		if err != nil || len(places) != 1 || places[0].Line != line || !strings.HasSuffix(places[0].File, "/testdata/values.c") {
			t.Fatalf("got %+v, %v", places, err)
		}
		out := run(t, "", needTool(t, "gdb"), "-nx", "-batch", "-ex", "info line values.c:"+strconv.Itoa(line), program)
		if want := "starts at address 0x" + strconv.FormatUint(places[0].Address, 16); !strings.Contains(out, want) {
			t.Errorf("line %d is at %#x, and by the debugger %s", line, places[0].Address, out)
		}
	}
	places, err := f.Line("testdata/values.h", lineOf(t, "values.h", "inlined"))
	if err != nil || len(places) != 2 || !places[0].Inlined || places[0].Function != "inlined" {
		t.Errorf("got %+v, %v, want two copies", places, err)
	}
	if _, err := f.Line("values.c", 1); err == nil || !strings.Contains(err.Error(), "line 1 has no code; line ") {
		t.Errorf("got %v", err)
	}
	if _, err := f.Line("values.c", 10_000); err == nil || !strings.Contains(err.Error(), "is the last that has") {
		t.Errorf("got %v", err)
	}
	var missing *NotFound
	if _, err := f.Line("value.c", 1); !errors.As(err, &missing) || !slices.Contains(missing.Near, "values.c") {
		t.Errorf("got %v, %+v", err, missing)
	}
	if _, err := f.Line("alues.c", 60); !errors.As(err, &missing) {
		t.Errorf("a part of a name is taken for the whole: %v", err)
	}
}

// TestArgumentsInWords compares with the source.
func TestArgumentsInWords(t *testing.T) {
	f := open(t, build(t, "gcc", "values.c", "-O2"))
	for name, want := range map[string]string{
		"many":       "signed char a, short unsigned int b, int c, long int d, counter_t e, _Bool f, int g, long int h",
		"structures": "struct small s, struct pair p, struct deep big, struct mixed m, enum color color, double x, deep_t * ptr",
		"locals":     "struct deep * list, int n, char * word",
	} {
		list, err := f.Functions(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		args, err := f.Arguments(&list[0])
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for i, a := range args {
			words = append(words, a.Type+" "+a.Name)
			if a.Index != i {
				t.Errorf("%s: got %+v", name, a)
			}
		}
		if got := strings.Join(words, ", "); got != want {
			t.Errorf("%s(%s), want %s", name, got, want)
		}
	}
	list, err := f.Functions("give_sign", 1)
	if err != nil {
		t.Fatal(err)
	}
	result, err := f.Result(&list[0])
	if err != nil || result.Type != "enum sign" || result.Err != nil {
		t.Errorf("got %+v, %v", result, err)
	}
	read, err := f.Resolve(Where{list[0].Address, AtReturn}, &probe.Arg{Base: probe.BaseReturn})
	if err != nil || len(read.Leaf.Names) != 3 || string(read.Leaf.Names[0].Name) != "MINUS" || read.Leaf.Names[0].Number != -1 || !read.Leaf.Signed {
		t.Errorf("got %+v, %v", read, err)
	}
}
