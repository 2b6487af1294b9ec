package tracepoint

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wprof/format"
)

// constants are some of the kernel's.
type constants map[string]int64

func (c constants) Enum(name string) []*format.EnumName {
	if name == "hrtimer_restart" {
		return []*format.EnumName{{Number: 0, Name: []byte("NORESTART")}, {Number: 1, Name: []byte("RESTART")}}
	}
	return nil
}

func (c constants) Constant(name string) (int64, bool) {
	n, ok := c[name]
	return n, ok
}

// readFormat parses a file in testdata: GROUP.NAME.
func readFormat(t testing.TB, file string, types Types) *Tracepoint {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	group, _, _ := strings.Cut(file, ".")
	of, err := Parse(group, text, types)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

// describe is a tracepoint in a line for each field.
func describe(of *Tracepoint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d: %d to %d, location %d\n", of.FullName(), of.ID, of.From, of.To, of.Location)
	for i, f := range of.Def.Fields {
		p := of.Places[i]
		list, hex, names := "", "", ""
		if f.List {
			list = " list"
		}
		if f.Hint == uint32(format.ValueHint_HINT_HEX) {
			hex = " hex"
		}
		for _, n := range f.Names[:min(3, len(f.Names))] {
			names += fmt.Sprintf(" %d=%s", n.Number, n.Name)
		}
		fmt.Fprintf(&b, "  %s %s%s%s at %d size %d count %d kind %d%s\n", f.Name, strings.ToLower(strings.TrimPrefix(format.ValueType(f.Type).String(), "VALUE_")),
			list, hex, p.Offset, p.Size, p.Count, p.Kind, names)
	}
	return b.String()
}

func TestFormatsAreTyped(t *testing.T) {
	for file, want := range map[string]string{
		"sched.sched_switch": `sched:sched_switch 372: 8 to 64, location 0
  prev_comm string at 0 size 16 count 0 kind 0
  prev_pid int at 16 size 4 count 0 kind 0
  prev_prio int at 20 size 4 count 0 kind 0
  prev_state enum list at 24 size 8 count 0 kind 0 1=S 2=D 4=T
  next_comm string at 32 size 16 count 0 kind 0
  next_pid int at 48 size 4 count 0 kind 0
  next_prio int at 52 size 4 count 0 kind 0
`,
		"timer.hrtimer_start": `timer:hrtimer_start 460: 8 to 45, location 0
  hrtimer uint hex at 0 size 8 count 0 kind 0
  function uint hex at 8 size 8 count 0 kind 0
  expires int at 16 size 8 count 0 kind 0
  softexpires int at 24 size 8 count 0 kind 0
  mode enum at 32 size 4 count 0 kind 0 0=ABS 1=REL
  was_armed bool at 36 size 1 count 0 kind 0
`,
		"sched.sched_process_exec": `sched:sched_process_exec 365: 8 to 20, location 8
  filename string at 0 size 4 count 0 kind 1
  pid int at 4 size 4 count 0 kind 0
  old_pid int at 8 size 4 count 0 kind 0
`,
		"ipi.ipi_send_cpumask": `ipi:ipi_send_cpumask 353: 8 to 32, location 8
  cpumask uint list hex at 0 size 8 count 0 kind 1
  callsite uint hex at 8 size 8 count 0 kind 0
  callback uint hex at 16 size 8 count 0 kind 0
`,
		"syscalls.sys_enter_openat": `syscalls:sys_enter_openat 782: 8 to 48, location 0
  __syscall_nr int at 0 size 4 count 0 kind 0
  dfd int at 8 size 4 count 0 kind 0
  filename uint hex at 16 size 8 count 0 kind 0
  flags int at 24 size 4 count 0 kind 0
  mode uint at 32 size 2 count 0 kind 0
`,
		"raw_syscalls.sys_enter": `raw_syscalls:sys_enter 443: 8 to 64, location 0
  id int at 0 size 8 count 0 kind 0
  args uint list at 8 size 8 count 6 kind 0
`,
	} {
		types := constants{"HRTIMER_MODE_ABS": 0, "HRTIMER_MODE_REL": 1}
		if got := describe(readFormat(t, file, types)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// The syscalls' files of Linux 6.19 name strings that programs do not get.
func TestStringsOfSystemCallsAreLeftOut(t *testing.T) {
	of, err := Parse("syscalls", []byte("name: sys_enter_x\nID: 7\nformat:\n\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"+
		"\tfield:__data_loc char[] __name_val;\toffset:16;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n"), nil)
	if err != nil || len(of.Places) != 1 || of.Location != 0 || of.To != 12 {
		t.Errorf("%v %+v", err, of)
	}
}

func TestValuesAreThoseOfTheRecord(t *testing.T) {
	text := `name: x
ID: 9
format:
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] path;	offset:8;	size:4;	signed:0;
	field:s16 small;	offset:12;	size:2;	signed:1;
	field:bool yes;	offset:14;	size:1;	signed:0;
	field:char comm[4];	offset:16;	size:4;	signed:0;
	field:u32 flags;	offset:20;	size:4;	signed:0;
	field:enum hrtimer_restart again;	offset:24;	size:4;	signed:0;
	field:__rel_loc u16[] list;	offset:28;	size:4;	signed:0;
	field:u8 mac[3];	offset:32;	size:3;	signed:0;
	field:int error;	offset:36;	size:4;	signed:1;

print fmt: "%s %x", __print_flags(REC->flags & 0xff, "|", { (1UL << 0), "A" }, { 0x2 | 4, "B" }), __print_symbolic(REC->error, { -2, "ENOENT" })
`
	of, err := Parse("g", []byte(text), constants{})
	if err != nil {
		t.Fatal(err)
	}
	record := make([]byte, 40)
	le := binary.LittleEndian
	le.PutUint32(record[8:], 40|6<<16)
	le.PutUint16(record[12:], 0xfffe)
	record[14] = 1
	copy(record[16:], "abcd")
	le.PutUint32(record[20:], 0x107)
	le.PutUint32(record[24:], 1)
	le.PutUint32(record[28:], 14|4<<16) // 32+14 = 46
	copy(record[32:], "\x01\x02\x03")
	le.PutUint32(record[36:], 0xfffffffe)
	record = append(record, "/a/bc\x00\x05\x00\x06\x00"...)
	if of.Location != 28 || !of.Relative {
		t.Errorf("the last location is %d", of.Location)
	}
	show := func(record []byte) (all []string) {
		var d Decoder
		values := d.Values(&of.Layout, record)
		encoded, err := of.Def.AppendTyped(nil, values, 0)
		if err != nil {
			t.Fatal(err)
		}
		again, ok := of.Def.AppendValues(nil, &format.Event{Data: encoded})
		if !ok {
			t.Fatal("the values cannot be read back")
		}
		for _, v := range again {
			var elements []string
			for e := range v.Elements(0) {
				switch {
				case e.Field.Is(format.ValueType_VALUE_ENUM):
					elements = append(elements, fmt.Sprintf("%d=%s", e.Int(), e.Field.EnumName(e.Int())))
				case e.Bytes != nil:
					elements = append(elements, fmt.Sprintf("%q", e.Bytes))
				default:
					elements = append(elements, fmt.Sprint(e.Int()))
				}
			}
			all = append(all, strings.Join(elements, ","))
		}
		return all
	}
	want := []string{`"/a/bc"`, "-2", "1", `"abcd"`, "1=A,6=B,256=", "1=RESTART", "5,6", `"\x01\x02\x03"`, "-2=ENOENT"}
	if got := show(record[commonFields:]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for n := range record[commonFields:] {
		show(record[commonFields : commonFields+n]) // a part of it has no values beyond its end
	}
}

func TestExpressions(t *testing.T) {
	types := constants{"FOUR": 4}
	for text, want := range map[string]int64{
		"1": 1, "0x10UL": 16, "010": 8, "( 1 << 3 )": 8, "(( gfp_t)((((1UL)) << (1))))": 2, "-1": -1, "~0": -1, "1 | 2 | FOUR": 7, "(FOUR) - 1": 3,
		"(unsigned int)FOUR << 1": 8, "'R'": 'R', "2 + 3 * 4": 14, "6 & 3 ^ 1": 3, "(u64)(1 << 4)": 16, "1ULL << 63": -1 << 63,
	} {
		if got, ok := evaluate(text, types); !ok || got != want {
			t.Errorf("%s is %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "FIVE", "1 +", "(1", "sizeof(int)", "1 << 64", "1 / 0", "REC->x", strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100)} {
		if got, ok := evaluate(text, types); ok {
			t.Errorf("%s is %d", text, got)
		}
	}
}

func TestLayoutsAreReadBack(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all []*Tracepoint
	for _, file := range files {
		all = append(all, readFormat(t, filepath.Base(file), nil))
	}
	raw, err := Raw(RawGroup, "r", []Argument{{Name: "n", Size: 4, Signed: true}, {Name: "s", Pointer: true, String: true}, {Pointer: true}, {Name: "b", Size: 1, Bool: true}})
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, raw)
	encoded, err := AppendLayouts(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	layouts, err := ParseLayouts(encoded)
	if err != nil || len(layouts) != len(all) {
		t.Fatalf("%d of %d: %v", len(layouts), len(all), err)
	}
	for i, l := range layouts {
		if l.Def.String() != all[i].Def.String() || !reflect.DeepEqual(l.Places, all[i].Places) || l.Base != all[i].Base {
			t.Errorf("got %v, want %v", l, all[i].Layout)
		}
	}
	for n := range encoded {
		_, _ = ParseLayouts(encoded[:n])
	}
	if want := "raw:r 0: 0 to 32, location 0\n  n int at 0 size 4 count 0 kind 0\n  s string at 32 size 128 count 0 kind 0\n" +
		"  arg3 uint hex at 16 size 8 count 0 kind 0\n  b bool at 24 size 1 count 0 kind 0\n"; describe(raw) != want {
		t.Errorf("got\n%s\nwant\n%s", describe(raw), want)
	}
}

// FuzzFormat reads a format file, and decodes a record with it.
func FuzzFormat(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte("12345678123456781234567812345678"))
	}
	f.Fuzz(func(t *testing.T, text, record []byte) {
		of, err := Parse("group", text, nil)
		if err != nil {
			return
		}
		if of.To > MaxFixed || of.Location > MaxFixed || len(of.Places) != len(of.Def.Fields) || of.Def.Problem() != "" {
			t.Fatalf("%+v", of)
		}
		decodes(t, &of.Layout, record)
	})
}

// FuzzLayouts reads the layouts in a spool, and decodes a record with each.
func FuzzLayouts(f *testing.F) {
	encoded, err := AppendLayouts(nil, []*Tracepoint{readFormat(f, "sched.sched_process_exec", nil), readFormat(f, "ipi.ipi_send_cpumask", nil)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded, []byte("12345678123456781234567812345678"))
	f.Fuzz(func(t *testing.T, encoded, record []byte) {
		layouts, err := ParseLayouts(encoded)
		if err != nil {
			return
		}
		for _, l := range layouts {
			decodes(t, l, record)
		}
	})
}

// decodes fails unless the values of a record can be written and read.
func decodes(t *testing.T, l *Layout, record []byte) {
	t.Helper()
	if len(record) > MaxRecord {
		return
	}
	var d Decoder
	values := d.Values(l, record)
	data, err := l.Def.AppendTyped(nil, values, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 64<<10 {
		return
	}
	if _, ok := l.Def.AppendValues(nil, &format.Event{Data: data}); !ok {
		t.Fatalf("the values of %v cannot be read: %x", l.Def, data)
	}
}
