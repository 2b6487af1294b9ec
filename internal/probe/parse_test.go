package probe

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// good are definitions, with the spelling of String where it is another one.
var good = [][2]string{
	{"u:malloc"},
	{"u:malloc ()", "u:malloc"},
	{"  k:do_sys_open*\t", "k:do_sys_open*"},
	{"u:malloc+0x10 (arg:0)"},
	{"u:src/main.c:42 (arg:len, arg:buf:str)"},
	{"u:malloc (arg:0/name(size)/hist, st)", "u:malloc (arg:0/name(size)/hist, stack)"},
	{"u:malloc(unsigned long)", `u:"malloc(unsigned long)"`},
	{"u:malloc (arg:0) | count", "u:malloc (arg:0) | count |"},
	{"u:malloc|count:|", "u:malloc | count |"},
	{"u:malloc |", "u:malloc"},
	{"u:malloc | |", "u:malloc"},
	{"usdt:libc:memory_sbrk_more (arg:*, arg:1:u32/x, pid:12, pid:nvidia-smi, pid:12, comm:ngin*, path:/usr/lib/libc.so.6)",
		"usdt:libc:memory_sbrk_more (arg:1:u32/x, arg:*, pid:12, pid:nv-smi, path:/usr/lib/libc.so.6, comm:ngin*)"},
	{`u:f (path:/opt/my app/x(1)/y, comm:'a, b')`, `u:f (path:"/opt/my app/x(1)/y", comm:"a, b")`},
	{`u:f (comm:':') | id:':'`, `u:f (comm:":") | id:":" |`},
	{`u:f (path:'/a)b | c ~~ d') | count |`, `u:f (path:"/a)b | c ~~ d") | count |`},

	// Names of functions.
	{"u:foo::bar(int, char const*) (arg:0, path:/x)", `u:"foo::bar(int, char const*)" (arg:0, path:/x)`},
	{"u:operator()", `u:"operator()"`},
	{"u:main.(*T).Method (arg:0)", `u:"main.(*T).Method" (arg:0)`},
	{"u:std::vector<int, std::allocator<int> >::push_back(int&&)", `u:"std::vector<int, std::allocator<int> >::push_back(int&&)"`},
	{"u:std::function<void (int)>::operator()(int) const (arg:0)", `u:"std::function<void (int)>::operator()(int) const" (arg:0)`},
	{"u:std::function<void ()>::operator()() const", `u:"std::function<void ()>::operator()() const"`},
	{"u:(anonymous namespace)::f(int) | count", `u:"(anonymous namespace)::f(int)" | count |`},
	{"u:A::operator|(A) | count", `u:"A::operator|(A)" | count |`},
	{"u:A::operator||(A)|count", `u:"A::operator||(A)" | count |`},
	{"u:A::operator|=(A, B) (stack)", `u:"A::operator|=(A, B)" (stack)`},
	{"u:foo::~foo() ~~ u:foo::foo()", `u:"foo::~foo()" ~~ u:"foo::foo()"`},
	{"u:<alloc::vec::Vec<T> as core::iter::Extend<&'a T>>::extend (arg:self)", `u:"<alloc::vec::Vec<T> as core::iter::Extend<&'a T>>::extend" (arg:self)`},
	{"u:core::ops::{{closure}}#1 (arg:0)", `u:"core::ops::{{closure}}#1" (arg:0)`},
	{"u:push(stack<int>) (stack)", `u:"push(stack<int>)" (stack)`},
	{`u:"operator new (x)"(arg:0)`, `u:"operator new (x)" (arg:0)`},
	{`u:'a\'b\\c\d'`, `u:"a'b\\c\\d"`},

	// Breakpoints.
	{"watch:counter", "watch:counter"},
	{"watch:ns::Queue::size+0x8:4:rw (pid:12, arg:value:s32/x, arg:before, arg:rax, stack)", "watch:ns::Queue::size+0x8:4:rw (arg:value:s32/x, arg:before, arg:rax, stack, pid:12)"},
	{"watch:0x7f0010:8 (pid:1) | if:value!=0 |", "watch:0x7f0010:8 (pid:1) | if:arg:value != 0 |"},
	{"watch:kernel:jiffies:w (comm:a) | count, by:stack |", "watch:kernel:jiffies:w (comm:a) | count, by:(stack) |"},
	{"watch:a:x | count, by:rdi |", "watch:a:x | count, by:(arg:rdi) |"},

	// What the thread has, and arguments of the same names.
	{"uret:f | if:comm==x && pid==7 |", `uret:f | if:arg:comm == "x" && arg:pid == 7 |`},
	{"kret:f (arg:cpu) | count, by:(tid, comm)", "kret:f (arg:cpu) | count, by:(arg:tid, comm) |"},
	{"u:f (arg:0/name(comm)) | count, by:comm |", "u:f (arg:0/name(comm)) | count, by:(arg:0/name(comm)) |"},

	// Arguments.
	{"k:tcp_sendmsg (arg:sk.__sk_common.skc_dport, arg:0::cast<struct  tcp_sock *>.mss_cache:u32/name(mss))",
		"k:tcp_sendmsg (arg:sk.__sk_common.skc_dport, arg:0::cast<struct tcp_sock *>.mss_cache:u32/name(mss))"},
	{"k:f (arg:w::container_of<struct a, b.c>.d[0x2][-1]::cast<unsigned long>, arg:p::cast<const char*>:str)",
		"k:f (arg:w::container_of<struct a, b.c>.d[2][-1]::cast<unsigned long>, arg:p::cast<char *>:str)"},
	{"u:f (arg:x::cast<std::map<int, char *>*>.0)", "u:f (arg:x::cast<std::map<int, char *> *>.0)"},
	{"k:f (arg:x::cast<enum  e>/enum)", "k:f (arg:x::cast<enum e>/enum)"},
	{"kret:vfs_read (arg:ret:long/map(-11=EAGAIN, 0='end of file', 0x10=x)/counter(thread))",
		`kret:vfs_read (arg:ret:s64/map(-11=EAGAIN, 0="end of file", 16=x)/counter(thread))`},
	{"bpf:prog:sub (arg:ctx.len, arg:0/hex/counter)", "bpf:prog:sub (arg:ctx.len, arg:0/x/counter)"},
	{"bpfspan:12"},
	{"raw_tp:sched_switch (arg:1.pid)"},
	{"tp:sched:sched_switch (arg:prev_comm)"},

	// Spans.
	{"uspan:f (arg:0, arg:ret) | min:1.5ms, entry:no, hist:dur", "error"},
	{"uspan:f (arg:0, arg:ret) | min:1.5ms, entry:no", "uspan:f (arg:0, arg:ret) | min:1500000ns, entry:no |"},
	{"kspan:f|hist:dur,by:stack,comm", "kspan:f | hist:dur, by:(stack, comm) |"},
	{"u:a (path:/x, pid:3) ~~ uret:b (arg:ret)", "u:a (pid:3, path:/x) ~~ uret:b (arg:ret, pid:3, path:/x)"},
	{"u:a (path:/x) ~~ u:b (path:/y)"},
	{"uret:malloc (arg:ret/name(p)) ~~ u:free (arg:0/name(p)) | key:p", "uret:malloc (arg:ret/name(p)) ~~ u:free (arg:0/name(p)) | key:(arg:ret/name(p), arg:0/name(p)) |"},
	{"uret:malloc ~~ u:free | key:(ret, arg:0)", "uret:malloc ~~ u:free | key:(arg:ret, arg:0) |"},
	{"tp:block:block_rq_issue ~~ tp:block:block_rq_complete | key:sector", "tp:block:block_rq_issue ~~ tp:block:block_rq_complete | key:(arg:sector, arg:sector) |"},

	// Settings.
	{"u:f | id:x, sample:10, limit:10k", "u:f | id:x, sample:10, limit:10000 |"},
	{"u:f | limit:2m, id:'with spaces'", `u:f | id:"with spaces", limit:2000000 |`},
	{`u:f (arg:size, arg:0/name(n)) | name:"{func} {{{n}}} {arg0} {size} in {comm}" |`, `u:f (arg:size, arg:0/name(n)) | name:"{func} {{{n}}} {arg0} {size} in {comm}" |`},
	{"u:f (arg:*) | name:{anything}", `u:f (arg:*) | name:"{anything}" |`},
	{"u:f | if:size>4096&&flags & 0x4 && comm~ngin*,id:a", `u:f | id:a, if:arg:size > 4096 && arg:flags & 4 && arg:comm ~ "ngin*" |`},
	{"u:f | if:arg:0.len != -5 && 1:u64 <= 0xffffffffffffffff", "u:f | if:arg:0.len != -5 && arg:1:u64 <= 18446744073709551615 |"},
	{"u:f (arg:0:u32/name(op)/map(1=read)) | if:op==read", "u:f (arg:0:u32/name(op)/map(1=read)) | if:arg:0:u32/name(op)/map(1=read) == 1 |"},
	{"u:f (arg:0:str) | if:arg0 == 12 && arg0 != 'a b'", `u:f (arg:0:str) | if:arg:0:str == "12" && arg:0:str != "a b" |`},
	{"k:f | if:state == TCP_LISTEN && p != NULL && b == true", `k:f | if:arg:state == "TCP_LISTEN" && arg:p != 0 && arg:b == 1 |`},
	{"k:f (arg:0::cast<struct sock *>/name(sk)) | sum:sk.len", "k:f (arg:0::cast<struct sock *>/name(sk)) | sum:arg:0::cast<struct sock *>.len |"},
	{"k:f | count, sum:a, hist:b:u32, by:c, arg:comm, d:u8, comm, id:x", "k:f | id:x, count, sum:arg:a, hist:arg:b:u32, by:(arg:c, arg:comm, arg:d:u8, comm) |"},
	{"k:f | by:a, count", "k:f | count, by:(arg:a) |"},
	{"k:f | by:(a, count), count", "k:f | count, by:(arg:a, arg:count) |"},
	{"k:f ~~ kret:g | if:ret<0", "k:f ~~ kret:g | if:arg:ret < 0 |"},
	{"k:f (arg:size) ~~ kret:g (arg:ret) | if:ret<0 && size>1", "k:f (arg:size) ~~ kret:g (arg:ret) | if:arg:ret < 0 && arg:size > 1 |"},
}

func TestGoodDefinitions(t *testing.T) {
	for _, row := range good {
		want := row[1]
		if want == "" {
			want = row[0]
		}
		d, err := Parse(row[0])
		if want == "error" {
			if err == nil {
				t.Errorf("%s: no error", row[0])
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		if got := d.String(); got != want {
			t.Errorf("%s: String is\n%s, not\n%s", row[0], got, want)
		}
		checkRoundTrip(t, d)
	}
}

// checkRoundTrip parses what String writes, and compares all but the text and places in it.
func checkRoundTrip(t *testing.T, d *Definition) {
	t.Helper()
	if len(d.String()) > maxText {
		return // quotes and arguments that are copied make it longer
	}
	again, err := Parse(d.String())
	if err != nil {
		t.Fatalf("%q is %q, which cannot be parsed: %v", d.Text, d.String(), err)
	}
	if a, b := withoutPlaces(d), withoutPlaces(again); !reflect.DeepEqual(a, b) {
		t.Fatalf("%q is %q, which is something else:\n%+v\n%+v", d.Text, d.String(), a, b)
	}
}

// withoutPlaces returns a copy without Text, and with 0 in all fields At.
func withoutPlaces(d *Definition) *Definition {
	c := reflect.ValueOf(d).Elem()
	out := clearPlaces(c).Interface().(Definition)
	out.Text = ""
	return &out
}

func clearPlaces(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name == "At" {
				out.Field(i).SetInt(0)
			} else {
				out.Field(i).Set(clearPlaces(v.Field(i)))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(clearPlaces(v.Index(i)))
		}
	case reflect.Slice:
		out.Set(reflect.Zero(v.Type()))
		for i := range v.Len() {
			out.Set(reflect.Append(out, clearPlaces(v.Index(i))))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(clearPlaces(v.Elem()))
			out.Set(p)
		}
	}
	return out
}

// TestDefinitionAsData compares a definition that has most of the language with the data it means.
func TestDefinitionAsData(t *testing.T) {
	text := `u:f(int) (arg:2.len[3]:u16/name(n)/x, arg:ctx, stack, pid:7, path:"/x y", comm:c*) ~~ uret:g | key:(n, ret), if:n & 0x10 && s~'a*', min:2us, name:"{n}" |`
	want := &Definition{
		Text: text,
		Legs: []Leg{
			{
				Probe: UserEntry, Target: Word{"f(int)", 2}, Stack: true, PIDs: []int{7},
				Path: Word{"/x y", strings.Index(text, "/x y")}, Comm: Word{"c*", strings.Index(text, "c*")},
				Args: []Arg{
					{
						At: 14, Base: BaseIndex, Index: 2, Type: TypeU16, Display: Display{Name: "n", Hex: true},
						Access: []Access{{At: 15, Kind: Field, Field: "len"}, {At: 19, Kind: Element, Index: 3}},
					},
					{At: strings.Index(text, "ctx"), Base: BaseContext},
				},
			},
			{
				Probe: UserReturn, Target: Word{"g", strings.Index(text, "g |")}, PIDs: []int{7},
				Path: Word{"/x y", strings.Index(text, "/x y")}, Comm: Word{"c*", strings.Index(text, "c*")},
			},
		},
	}
	copied := func(at int) Arg {
		a := want.Legs[0].Args[0]
		a.At = at
		return a
	}
	first := copied(strings.Index(text, "(n, ret)") + 1)
	second := Arg{At: strings.Index(text, "ret)"), Base: BaseReturn, Leg: 1}
	want.Settings = Settings{
		Name: "{n}", Min: 2000, Key: [2]*Arg{&first, &second},
		If: []Condition{
			{Arg: copied(strings.Index(text, "n & 0x10")), Op: OpMask, Number: 16},
			{Arg: Arg{At: strings.Index(text, "s~"), Base: BaseName, Name: "s"}, Op: OpGlob, Text: "a*", IsText: true},
		},
	}
	got, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestDisplayNames(t *testing.T) {
	for text, want := range map[string]string{
		"3": "arg3", "ret": "ret", "ctx.len": "ctx.len", "size": "size", "a.b[2].c": "a.b.2.c", "0[-1]": "arg0.-1",
		"p::cast<struct x *>.y": "p.y", "größe": "gr__e", "_": "arg5", "x/name(a-b)": "a-b",
		strings.Repeat("x", 70): strings.Repeat("x", 64),
	} {
		d, err := Parse("uspan:f (arg:" + text + ")")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := d.Legs[0].Args[0].DisplayName(5); got != want {
			t.Errorf("%s has the name %q, not %q", text, got, want)
		}
	}
}

// TestErrors compares the errors about the definitions in testdata/bad.txt with testdata/errors.txt.
func TestErrors(t *testing.T) {
	bad, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(bad)) {
		text := strings.TrimSuffix(line, "\n")
		if text == "" || text[0] == '#' {
			continue
		}
		_, err := Parse(text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: no error", text)
			continue
		}
		got.WriteString(e.Error() + "\n\n")
	}
	if *update {
		if err := os.WriteFile("testdata/errors.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	compareBlocks(t, got.String(), string(want))
}

func compareBlocks(t *testing.T, got, want string) {
	t.Helper()
	a, b := strings.Split(got, "\n\n"), strings.Split(want, "\n\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			t.Fatalf("there are %d errors, not %d", len(a), len(b))
		}
		if a[i] != b[i] {
			t.Errorf("got\n%s\nwant\n%s", a[i], b[i])
		}
	}
}

func TestErrorsOfLargeDefinitions(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"u:" + strings.Repeat("x", 5000), "the definition has 5002 bytes: 4096 are possible"},
		{"u:f (" + strings.TrimSuffix(strings.Repeat("arg:a/name(x), ", 17), ", ") + ")", "a probe has 16 arguments at most"},
		{"k:f | if:" + strings.TrimSuffix(strings.Repeat("a==1&&", 17), "&&"), "if: has 16 conditions at most"},
		{"k:f | id:" + strings.Repeat("x", 300), "the text has 300 bytes: 256 are possible"},
		{"k:f | if:a~" + strings.Repeat("x", 256), "the text has 256 bytes: 255 are possible"},
		{"k:f (arg:0/name(" + strings.Repeat("x", 65) + "))", "the name has 65 bytes: 64 are possible"},
		{"k:f | count, by:(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)", "by: has 16 arguments at most"},
		{"k:f (arg:0/map(1=" + strings.Repeat("x", 257) + "))", "the name has 257 bytes: 256 are possible"},
		{"", "the definition is empty: write PROBE:TARGET, as in u:malloc (arg:0)"},
		{"u:f\x00", `'\x00' cannot be in a definition`},
		{"u:f\xff", `'\xff' cannot be in a definition`},
		{"u:f\u202e", `'\u202e' cannot be in a definition`},
	} {
		_, err := Parse(row.text)
		if err == nil || !strings.HasPrefix(err.Error(), row.want+"\n") {
			t.Errorf("%.60s: %v, not %s", row.text, err, row.want)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%.60s: the error has %d bytes", row.text, len(err.Error()))
		}
	}
}

// TestCaret puts the caret below characters of several bytes, and in a part of a long definition.
func TestCaret(t *testing.T) {
	for text, want := range map[string]string{
		"u:größe::ü (arg:ä->x)": `'->' is not an accessor: '.' follows pointers too
  u:größe::ü (arg:ä->x)
                   ^~`,
		"u:" + strings.Repeat("a", 70) + " (arg:0/y) | id:" + strings.Repeat("b", 70): `'y' is not a modifier: it is name, x, map, enum, counter or hist
  …` + strings.Repeat("a", 52) + ` (arg:0/y) | id:` + strings.Repeat("b", 53) + `…
  ` + strings.Repeat(" ", 61) + `^`,
		"u:f (arg:0) | sample:0 |": `'0' is not a number from 1 to 2147483647: one of so many events is recorded, as in 100 or 10k
  u:f (arg:0) | sample:0 |
                       ^`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", text, err, want)
		}
	}
}

// TestTablesOfWords requires the parser to know every word that help and completion offer.
func TestTablesOfWords(t *testing.T) {
	forms := map[string]string{
		"id:": "id:a", "name:": "name:a", "sample:": "sample:2", "limit:": "limit:2", "min:": "min:2us", "entry:": "entry:no", "if:": "if:a==1",
		"key:": "key:a", "count": "count", "sum:": "sum:a", "hist:": "hist:a", "by:": "count, by:a",
	}
	for _, row := range SettingWords() {
		if _, err := Parse("u:f ~~ u:g | " + forms[row.Word] + " |"); err != nil {
			t.Errorf("%s: %v", row.Word, err)
		}
	}
	forms = map[string]string{"name": "name(a)", "map": "map(0=a)"}
	for _, row := range ModifierWords() {
		form := forms[row.Word]
		if form == "" {
			form = row.Word
		}
		if d, err := Parse("u:f (arg:0/" + form + ")"); err != nil || d.Legs[0].Args[0].Display.modifiers() == "" {
			t.Errorf("%s: %v", row.Word, err)
		}
	}
	forms = map[string]string{"arg:": "arg:0", "pid:": "pid:1", "path:": "path:a", "comm:": "comm:a", "stack": "stack"}
	for _, row := range ParameterWords() {
		if d, err := Parse("u:f (" + forms[row.Word] + ")"); err != nil || !strings.Contains(d.String(), " (") {
			t.Errorf("%s: %v", row.Word, err)
		}
	}
	for _, row := range Kinds() {
		if d, err := Parse(row.Word + ":a" + map[bool]string{true: ":b"}[strings.Contains(row.Target, ":NAME")]); err != nil || d.Legs[0].Probe != row.Kind {
			t.Errorf("%s: %v", row.Word, err)
		}
	}
}

func TestParseFile(t *testing.T) {
	all, err := ParseFile("f", []byte("# comment\n\nu:a\r\n  # another\n\tk:b | count |"))
	if err != nil || len(all) != 2 || all[0].Text != "u:a" || all[1].Legs[0].Target.Text != "b" {
		t.Errorf("%v %v", all, err)
	}
	if len(all) == 2 {
		if got := all[1].Errorf(2, 1, nil, "there is no b").Error(); !strings.HasPrefix(got, "f:5: there is no b\n") {
			t.Errorf("a later error: %s", got)
		}
	}
	for text, want := range map[string]string{
		"":                                "f has no definitions of probes",
		"# a\n":                           "f has no definitions of probes",
		"u:a\n\nx:b\n":                    "f:3: 'x:' is",
		strings.Repeat("\nu:a", 1025)[1:]: "f:1025: a file can have 1024 definitions of probes",
	} {
		if _, err := ParseFile("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), strings.Replace(want, "'x:' is", "'x' is not a probe", 1)) {
			t.Errorf("%.20q: %v, not %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, row := range good {
		f.Add(row[0])
	}
	bad, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(bad)) {
		f.Add(strings.TrimSuffix(line, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err == nil {
			checkPlaces(t, d)
			checkRoundTrip(t, d)
			return
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%v is no *Error", err)
		}
		if e.At < 0 || e.Length < 0 || e.At+e.Length > len(e.Text) || e.Reason == "" || strings.Count(e.Error(), "\n") != 2 {
			t.Fatalf("wrong error: %#v", e)
		}
	})
}

// checkPlaces requires the places of all words to be in the text.
func checkPlaces(t *testing.T, d *Definition) {
	var check func(reflect.Value)
	check = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; name == "At" && (v.Field(i).Int() < 0 || int(v.Field(i).Int()) > len(d.Text)) {
					t.Fatalf("%q has a word at %d", d.Text, v.Field(i).Int())
				}
				check(v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				check(v.Index(i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				check(v.Elem())
			}
		}
	}
	check(reflect.ValueOf(d))
}
