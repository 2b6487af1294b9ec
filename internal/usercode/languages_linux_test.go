package usercode

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/internal/probe"
)

// TestValuesOfCPlusPlus: the values are in the source.
func TestValuesOfCPlusPlus(t *testing.T) {
	eachProgram(t, "values.cc", func(s *session) {
		if strings.HasPrefix(s.t.Name(), t.Name()+"/clang") && !s.standalone() {
			s.t.Skip("the compiler leaves out types of the library")
		}
		s.compare(Where{s.function("ns::Thing::method").Address, AtEntry}, []question{
			{"this.base_number", "", "7"}, {"this.base_long", "", "-8"}, {"this.other_number", "", "9"}, {"by", "", "3"},
			{"text", "", `"a reference"`}, {"mode", "", "200"}, {"copy", "", `"copied text that is long enough for the heap"`},
			{"seen", "", `"a view"`}, {"this.name", "", `"the name of the thing"`}, {"this.view", "", `"the name of the thing"`},
			{"this.next.name", "", `"short"`}, {"0.next.view", "", `"short"`}, {"this.a", "", "9"}, {"this.b", "", "2000"},
			{"this.mode", "", "200"}, {"this::cast<Other *>.other_number", "", "9"}, {"this.next::cast<ns::Thing *>.name", "", `"short"`},
		})
		s.compare(Where{s.function("ns::twice<int>").Address, AtEntry}, []question{{"value", "", "21"}, {"out", "(long)$rsi", ""}})
	})
}

func (s *session) standalone() bool {
	_, err := s.f.Resolve(Where{s.function("ns::Thing::method").Address, AtEntry}, argOf(s.t, "text"))
	return err == nil
}

// TestValuesOfGo: at a function's entry, and, of one that is not optimised, at a line.
func TestValuesOfGo(t *testing.T) {
	for _, flags := range [][]string{nil, {"-gcflags=all=-N -l"}, {"-ldflags=-compressdwarf=false"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			s := newSession(t, buildGo(t, "program.go.txt", flags...))
			s.compare(Where{s.function("main.(*thing).grow").Address, AtEntry}, []question{
				{"t.count", "", "5"}, {"t.in.id", "", "-9"}, {"t.in.name", "", `"inner name"`}, {"t.next.count", "", "6"},
				{"t.next.in.name", "", `"next name"`}, {"t.bits[2]", "", "3"}, {"t.ok", "", "1"}, {"by", "", "37"}, {"name", "", `"a name"`},
				{"ok", "", "1"}, {"t.ratio as u64", "", "4609434218613702656"}, {"name.len", "", "6"},
			})
			s.compare(Where{s.function("main.several").Address, AtEntry}, []question{
				{"a", "", "-3"}, {"b", "", "65000"}, {"text", "", `"some text"`}, {"list[1]", "", "2"}, {"list.len", "", "3"}, {"in.id", "", "77"},
				{"in.name", "", `"by value"`}, {"6.count", "", "48"},
			})
			fn := s.function("main.two")
			returns, err := s.f.Returns(&fn)
			if err != nil || len(returns) != 1 {
				t.Fatalf("main.two returns at %#x, %v", returns, err)
			}
			stop, _ := s.f.Address(returns[0])
			s.compareAt(Where{fn.Address, AtReturn}, stop, []question{
				{"ret", "", "-9"}, {"longer", "", `"the rest"`}, {"1", "", `"the rest"`}, {"in.id", "", "9"}, {"in.name", "", `"xthe rest"`},
			})
			s.run()
		})
	}
}

// TestValuesOfRust: the values are in the source.
func TestValuesOfRust(t *testing.T) {
	for _, flags := range [][]string{{"-C", "opt-level=0"}, {"-C", "opt-level=2"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			s := newSession(t, build(t, "rustc", "program.rs", flags...))
			s.compare(Where{s.function("program::inner::Thing::grow").Address, AtEntry}, []question{
				{"self.count", "", "1"}, {"by", "", "41"}, {"name", "", `"rusty name"`},
			})
			s.compare(Where{s.function("program::inner::show").Address, AtEntry}, []question{
				{"text", "", `"an owned text"`}, {"list[1]", "", "2"},
			})
			s.run()
		})
	}
}

// TestGoOfArm64 checks a program for another architecture, which cannot run here: arguments are in the registers that Go's ABI names, and
// returns are where Go's disassembler finds them.
func TestGoOfArm64(t *testing.T) {
	t.Setenv("GOARCH", "arm64")
	t.Setenv("CGO_ENABLED", "0")
	for _, flags := range [][]string{nil, {"-gcflags=all=-N -l"}} {
		program := buildGo(t, "program.go.txt", flags...)
		f := open(t, program)
		list, err := f.Functions("main.(*thing).grow", 1)
		if err != nil {
			t.Fatal(err)
		}
		at := Where{list[0].Address, AtEntry}
		for name, register := range map[string]int{"t": 0, "by": 8, "name": 16, "ok": 32} {
			read, err := f.Resolve(at, argOf(t, name))
			if err != nil || read.From.Kind != probe.FromRegister || read.From.Register != register || len(read.Steps) > 0 {
				t.Errorf("%s: got %+v, %v, want the register at %d", name, read, err, register)
			}
			if name == "name" && (read.Leaf.LengthFrom == nil || read.Leaf.LengthFrom.Register != 24) {
				t.Errorf("%s: got %+v", name, read)
			}
		}
		compareReturnsOfGo(t, f, program, &list[0])
		places, err := f.Line("main.go", 28)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Variables(places[0].Address); err != nil {
			t.Error(err)
		}
	}
}

func compareReturnsOfGo(t *testing.T, f *File, program string, fn *Function) {
	t.Helper()
	got, err := f.Returns(fn)
	if err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for _, line := range lines(run(t, "", needTool(t, "go"), "tool", "objdump", "-s", "^"+regexp.QuoteMeta(fn.Raw)+"$", program)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[3] == "RET" {
			address, err := strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			offset, _ := f.offset(address)
			want = append(want, offset)
		}
	}
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%s returns at %#x, want %#x", fn.Name, got, want)
	}
}

// TestDeclaredType follows a pointer to a structure that is defined in another unit.
func TestDeclaredType(t *testing.T) {
	for _, flags := range [][]string{{"-O0", "-gdwarf-5"}, {"-O1", "-gdwarf-4"}} {
		s := newSession(t, build(t, "gcc", "opaque.c", append(flags, "testdata/opaque_use.c")...))
		s.compare(Where{s.function("use").Address, AtEntry}, []question{
			{"o.number", "", "55"}, {"o.inner.text", "", `"of another unit"`}, {"o::cast<struct opaque *>.number", "", "55"},
			{"o::cast<struct hidden *>", "(long)$rdi", ""},
		})
		s.run()
	}
}
