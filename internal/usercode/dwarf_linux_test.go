package usercode

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/internal/probe"
)

// lineOf returns the number of the line of a source that ends with a comment.
func lineOf(t *testing.T, source, comment string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(b), "\n") {
		if strings.HasSuffix(line, "// "+comment) {
			return i + 1
		}
	}
	t.Fatalf("%s has no line %q", source, comment)
	return 0
}

// argOf reads an argument expression as package probe does, for names, indexes, members, elements, casts and containers.
func argOf(t *testing.T, text string) *probe.Arg {
	t.Helper()
	text, as, _ := strings.Cut(text, " as ")
	arg := &probe.Arg{}
	for _, row := range probe.Types() {
		if row.Words[0] == as {
			arg.Type = row.Type
		}
	}
	base := regexp.MustCompile(`^[a-zA-Z0-9_]+`).FindString(text)
	rest := text[len(base):]
	if n, err := strconv.Atoi(base); err == nil {
		arg.Base, arg.Index = probe.BaseIndex, n
	} else if base == "ret" {
		arg.Base = probe.BaseReturn
	} else {
		arg.Base, arg.Name = probe.BaseName, base
	}
	for rest != "" {
		a := probe.Access{At: len(text) - len(rest)}
		part := ""
		switch {
		case strings.HasPrefix(rest, "["):
			part = rest[:strings.IndexByte(rest, ']')+1]
			n, err := strconv.ParseInt(part[1:len(part)-1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			a.Kind, a.Index = probe.Element, n
		case strings.HasPrefix(rest, "::cast<"):
			part = rest[:strings.IndexByte(rest, '>')+1]
			a.Kind, a.Type = probe.Cast, part[len("::cast<"):len(part)-1]
			a.Type, a.IsPtr = strings.CutSuffix(a.Type, "*")
			a.Type = strings.TrimSpace(a.Type)
		case strings.HasPrefix(rest, "::container_of<"):
			part = rest[:strings.IndexByte(rest, '>')+1]
			a.Kind = probe.Container
			a.Type, a.Member, _ = strings.Cut(part[len("::container_of<"):len(part)-1], ", ")
		default:
			part = regexp.MustCompile(`^\.[a-zA-Z0-9_]+`).FindString(rest)
			a.Kind, a.Field = probe.Field, strings.TrimPrefix(part, ".")
		}
		if part == "" {
			t.Fatalf("%q is no expression", text)
		}
		rest = rest[len(part):]
		arg.Access = append(arg.Access, a)
	}
	return arg
}

// question is an argument, and the expression by which the debugger gets the same; "": the value is in the third.
type question struct{ arg, expression, want string }

// planned is what the debugger executes for a plan, and how both answers are made comparable.
func planned(t *testing.T, r *probe.Read) string {
	t.Helper()
	checkPlan(t, elf.EM_X86_64, r)
	value := gdbValue(t, r.From, r.Steps)
	switch l := r.Leaf; l.Kind {
	case probe.LeafString:
		return "(char*)" + value
	case probe.LeafArray:
		return fmt.Sprintf("*(char*)%s@%d", value, l.Size)
	case probe.LeafSlice:
		if l.LengthFrom != nil {
			return fmt.Sprintf("*(char*)%s@(int)%s", value, gdbValue(t, *l.LengthFrom, nil))
		}
		return fmt.Sprintf("*(*(char**)(%s+%d))@(int)*(long*)(%s+%d)", value, l.AddressAt, value, l.LengthAt)
	}
	return gdbFormat(r) + gdbRead(t, r)
}

// session is what a debugger is to compare in one run of a program, as it takes a second to start.
type session struct {
	t       *testing.T
	f       *File
	program string
	queries []gdbQuery
	checks  []func(answers []string)
}

func newSession(t *testing.T, program string) *session {
	return &session{t: t, f: open(t, program), program: program}
}

// compare resolves arguments at a place. The debugger executes the plans there, and its answers are compared with what it says of the
// expressions.
func (s *session) compare(at Where, questions []question) { s.compareAt(at, at.Address, questions) }

// compareAt is compare where the debugger stops at another address: that of a return.
func (s *session) compareAt(at Where, stop uint64, questions []question) {
	s.t.Helper()
	query := gdbQuery{Address: stop}
	var checks []func(answers []string)
	for _, q := range questions {
		r, err := s.f.Resolve(at, argOf(s.t, q.arg))
		if err != nil {
			s.t.Errorf("%s: %v", q.arg, err)
			continue
		}
		expression := q.expression
		if expression == "" {
			expression = "0"
		} else if r.Leaf.Kind == probe.LeafNumber {
			expression = gdbFormat(&r) + expression
		}
		n := len(query.Expressions)
		query.Expressions = append(query.Expressions, planned(s.t, &r), expression)
		checks = append(checks, func(answers []string) { checkAnswer(s.t, &q, &r, answers[n], answers[n+1]) })
	}
	s.queries = append(s.queries, query)
	s.checks = append(s.checks, func(answers []string) {
		for _, check := range checks {
			check(answers)
		}
	})
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func checkAnswer(t *testing.T, q *question, r *probe.Read, got, want string) {
	if q.expression == "" {
		want = q.want
	}
	whole := got
	if r.Leaf.Kind != probe.LeafNumber {
		got, want = quoted.FindString(got), quoted.FindString(want)
	}
	if got != want || got == "" {
		t.Errorf("%s is %q (%q) by the plan %+v, want %q", q.arg, got, whole, *r, want)
	}
}

func (s *session) run() {
	s.t.Helper()
	for i, answers := range gdb(s.t, s.program, s.queries) {
		s.checks[i](answers)
	}
}

// dwarfFlags are compilers and versions of DWARF.
var dwarfFlags = [][]string{
	{"gcc", "-O0", "-gdwarf-5"}, {"gcc", "-O2", "-gdwarf-4"}, {"gcc", "-O1", "-no-pie", "-fno-pie", "-gz"},
	{"gcc", "-O1", "-gdwarf-2", "-gstrict-dwarf"}, {"clang-19", "-O0", "-gdwarf-4"}, {"clang-19", "-O2", "-gdwarf-5"},
}

// eachProgram runs a test on a program as several compilers make it.
func eachProgram(t *testing.T, source string, test func(s *session)) {
	for _, flags := range dwarfFlags {
		if strings.HasSuffix(source, ".cc") && slices.Contains(flags, "-gdwarf-2") {
			continue // it has no namespaces
		}
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			compiler := flags[0]
			if strings.HasSuffix(source, ".cc") {
				compiler = map[string]string{"gcc": "g++", "clang-19": "clang++-19"}[compiler]
			}
			s := newSession(t, build(t, compiler, source, flags[1:]...))
			test(s)
			s.run()
		})
	}
}

func (s *session) function(name string) Function {
	s.t.Helper()
	list, err := s.f.Functions(name, 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return list[0]
}

// TestValues compares plans with a debugger that runs the program.
func TestValues(t *testing.T) {
	eachProgram(t, "values.c", func(s *session) {
		s.arguments()
		s.accessors()
		s.variables()
		s.results()
	})
}

// arguments are read where the function begins, at which the debugger itself does not know most of them: the values are in the source.
func (s *session) arguments() {
	s.compare(Where{s.function("many").Address, AtEntry}, []question{
		{"a", "", "-5"}, {"b", "", "65000"}, {"c", "", "-70000"}, {"3", "", "1099511627776"}, {"e", "", "4000000000"},
		{"f", "", "1"}, {"g", "", "-7"}, {"7", "", "2199023255552"}, {"b as s16", "", "-536"},
	})
	s.compare(Where{s.function("structures").Address, AtEntry}, []question{
		{"s.a", "", "-1"}, {"s.b", "", "-2"}, {"p.first", "", "-77"}, {"p.second", "", `"second"`}, {"big.id", "", "-42"},
		{"big.name", "", `"a name"`}, {"big.next.id", "", "43"}, {"m.n", "", "12"}, {"color", "", "6"}, {"ptr.id", "", "-42"},
		{"ptr.list[3].b", "", "-8"}, {"ptr.embedded.second", "", `"embedded text"`}, {"ptr.embedded.first", "", "99"},
	})
}

// accessors are members, elements, casts and containers.
func (s *session) accessors() {
	d := func(member string) string { return "((struct deep*)$rdi)->" + member }
	s.compare(Where{s.function("locals").Address, AtEntry}, []question{
		{"list", "(long)$rdi", ""}, {"list.id", d("id"), ""}, {"list.number", d("number"), ""}, {"list.bytes", d("bytes"), ""},
		{"list.point.x", d("point.x"), ""}, {"list.point.y", d("point.y"), ""}, {"list.next.next", d("next->next"), ""},
		{"list.flag", d("flag"), ""}, {"list.level", d("level"), ""}, {"list.wide", d("wide"), ""}, {"list.name", d("name"), ""},
		{"list.text", d("text"), ""}, {"list.color", d("color"), ""}, {"list.sign", d("sign"), ""}, {"list.yes", d("yes"), ""},
		{"list.f as u32", "*(unsigned*)&" + d("f"), ""}, {"list.d as u64", "*(unsigned long*)&" + d("d"), ""},
		{"list.grid[2][3]", d("grid[2][3]"), ""}, {"list.list[3].b", d("list[3].b"), ""}, {"list.numbers[4]", d("numbers[4]"), ""},
		{"list.numbers", "(long)" + d("numbers"), ""}, {"list.next.embedded.first", d("next->embedded.first"), ""},
		{"list[0].next[0].id", d("next->id"), ""}, {"list.embedded.second", d("embedded.second"), ""}, {"word", "(char*)$rdx", ""},
		{"list::cast<u64>", "(unsigned long)$rdi", ""}, {"list.number::cast<s32>", "(int)" + d("number"), ""},
		{"list.number::cast<struct deep *>", "(long)" + d("number"), ""}, {"list::cast<struct small *>.a", d("id"), ""},
		{"list.embedded::container_of<struct deep, embedded>.id", d("id"), ""},
		{"list.point::container_of<struct deep, point>.id", d("id"), ""}, {"word as u64", "(unsigned long)$rdx", ""},
		{"list.text[2]", d("text[2]"), ""}, {"n", "(int)$rsi", ""},
	})
}

// variables are locals at lines, by locations, which are lists in optimised programs.
func (s *session) variables() {
	compared := 0
	for _, comment := range []string{"block", "locals", "many", "structures"} {
		places, err := s.f.Line("values.c", lineOf(s.t, "values.c", comment))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, p := range places {
			compared += s.variablesAt(p.Address)
		}
	}
	places, err := s.f.Line("testdata/values.h", lineOf(s.t, "values.h", "inlined"))
	if err != nil {
		s.t.Fatal(err)
	}
	if len(places) < 2 {
		s.t.Errorf("got %+v, want two copies", places)
	}
	for _, p := range places {
		compared += s.variablesAt(p.Address)
	}
	if compared < 10 {
		s.t.Errorf("only %d variables could be compared", compared)
	}
}

// variablesAt compares all variables at an address that can be read.
func (s *session) variablesAt(address uint64) (count int) {
	s.t.Helper()
	list, err := s.f.Variables(address)
	if err != nil {
		s.t.Fatal(err)
	}
	var questions []question
	for _, v := range list {
		if v.Err == nil {
			questions = append(questions, question{v.Name, v.Name, ""})
		} else {
			s.t.Logf("%s %s: %v", v.Type, v.Name, v.Err)
		}
	}
	s.compare(Where{address, AtLine}, questions)
	return len(questions)
}

// results are read where functions return.
func (s *session) results() {
	for name, questions := range map[string][]question{
		"give_pair": {{"ret.first", "", "42"}, {"ret.second", "", `"given"`}},
		"give_deep": {{"ret.id", "", "1234"}, {"ret.name", "", `"a name"`}},
		"give_sign": {{"ret", "", "-1"}},
	} {
		fn := s.function(name)
		returns, err := s.f.Returns(&fn)
		if err != nil {
			s.t.Fatal(err)
		}
		stop, _ := s.f.Address(returns[0])
		s.compareAt(Where{fn.Address, AtReturn}, stop, questions)
	}
}
