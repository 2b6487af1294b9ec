package assemble

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

const sampleText = `
source 1 10000000
spool rings=1 recorder=9 cpus=1
kallsyms 0xffffffff81000000
module x 0x1000 0xffffffffc0000000
task at=1000 tid=10 comm=alpha cpu=0 running=1 since=500
side 1100 map pid=10 from=0x400000 to=0x500000 path=/bin/alpha build=aa
side 1101 map pid=10 from=0x600000 to=0x700000 path=/bin/plain dev=1 ino=7
side 1102 map pid=10 from=0x7ff000 to=0x800000 path=[vdso]
open 2000
0: 2100 stack cpu=0 tid=10 id=1 pid=10 at=0x400456,0x600456
0: 2100 stack cpu=0 tid=10 id=2 at=0xffffffff81000510
0: 2100 sample cpu=0 tid=10 user=1 kernel=2
round 3000
`

func openText(t *testing.T, text string) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spoolFile(t, text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func finaliseWith(t *testing.T, text string, o Options) (string, Summary) {
	t.Helper()
	var stream bytes.Buffer
	summary, err := Finalise(openText(t, text), format.NewWriter(&stream, format.WriterOptions{}), o)
	if err != nil {
		t.Fatal(err)
	}
	return streamText(t, stream.Bytes(), summary.Damage), summary
}

// TestEpochsDefineStacksAgain: ids are a section's, and a stack, its frames and modules stand in each section that
// names it.
func TestEpochsDefineStacksAgain(t *testing.T) {
	var text strings.Builder
	text.WriteString(strings.Replace(sampleText, "task ", "side 900 command pid=10 words=alpha\ntask ", 1))
	const samples = 200
	for i := range samples {
		fmt.Fprintf(&text, "0: %d rename cpu=0 tid=10 comm=name%d old=x\n", 3100+10*i, i)
		fmt.Fprintf(&text, "0: %d sample cpu=0 tid=10 user=1 kernel=2\n", 3105+10*i)
	}
	text.WriteString("round 9000\nend 9100\n")
	var stream bytes.Buffer
	f := newFinaliser(openText(t, text.String()), format.NewWriter(&stream, format.WriterOptions{}), textOptions())
	f.out.full = 2000
	summary, err := f.run()
	if err != nil {
		t.Fatal(err)
	}
	out := streamText(t, stream.Bytes(), nil)
	for _, word := range []string{"  stack 1 ", "  module 1 ", "  frame 1 ", "  cmdline 1 "} {
		if n := strings.Count(out, word); n != summary.Sections || n < 3 {
			t.Errorf("%q is there %d times, in %d sections", word, n, summary.Sections)
		}
	}
	if summary.Samples != samples+1 || strings.Contains(out, "sample 1 stack=0") {
		t.Errorf("%d samples, want %d, all with a stack", summary.Samples, samples+1)
	}
	if got, want := summary.User, (FrameCount{2 * (samples + 1), 2 * (samples + 1)}); got != want {
		t.Errorf("user frames %+v, want %+v", got, want)
	}
}

// countingNamer is the text namer, and notes what it looks up.
type countingNamer struct {
	calls []string
	err   error
}

func (n *countingNamer) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	n.calls = append(n.calls, fmt.Sprintf("%s:%d", m.Path, len(at)))
	if n.err != nil {
		return n.err
	}
	return textNamer{}.Names(m, at, out)
}

// TestNamesAreLookedUpModuleByModule: all frames of a module at once, before anything is written. Frames that appear later,
// because a mapping has changed under a stack, are looked up one by one.
func TestNamesAreLookedUpModuleByModule(t *testing.T) {
	namer := &countingNamer{}
	finaliseWith(t, sampleText+`
0: 3100 stack cpu=0 tid=10 id=3 pid=10 at=0x600111,0x400222,0x600456
0: 3100 sample cpu=0 tid=10 user=3
side 3200 map pid=10 from=0x400000 to=0x500000 path=/bin/later build=bb
0: 3300 sample cpu=0 tid=10 user=3
round 4000
end 4100
`, Options{Names: namer})
	const want = "/bin/alpha:2 /bin/plain:2 [kernel]:1 /bin/later:1"
	if got := strings.Join(namer.calls, " "); got != want {
		t.Errorf("looked up %s, want %s", got, want)
	}
}

// lineFinder knows one line everywhere in /bin/alpha, into which another function is inlined, and one in the kernel.
type lineFinder struct{ function string }

func (l lineFinder) Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line)) {
	switch string(m.Path) {
	case "/bin/alpha":
	case "[kernel]":
		for i := range at {
			visit(i, &symbol.Line{File: "kernel.c", Line: 9})
		}
		return
	default:
		return
	}
	outer := &symbol.Line{Function: "in the source", File: "outer.c", Line: 7}
	for i := range at {
		visit(i, &symbol.Line{Function: l.function, File: "inner.c", Line: 8, Outer: outer})
	}
}

// TestFramesGetLines: the last function keeps the name of its symbol. A chain that could fill a section is left out.
func TestFramesGetLines(t *testing.T) {
	for name, c := range map[string]struct {
		function string
		lined    bool
	}{
		"lines":       {"inlined", true},
		"a huge name": {strings.Repeat("n", maxLineBytes), false},
	} {
		o := textOptions()
		o.Lines = lineFinder{c.function}
		out, _ := finaliseWith(t, sampleText+"round 4000\nend 4100\n", o)
		if has := strings.Contains(out, `file="inner.c" line=8`) && strings.Contains(out, `function="alpha_4" file="outer.c" line=7`); has != c.lined || strings.Contains(out, "in the source") {
			t.Errorf("%s: lines: %v, want %v:\n%s", name, has, c.lined, out)
		}
	}
}

// TestKernelFramesGetLines if the kernel's build-id is known.
func TestKernelFramesGetLines(t *testing.T) {
	for id, want := range map[string]string{"kernelid ab\n": `function="[kernel]_5" file="kernel.c" line=9`, "": `function="[kernel]_5"` + "\n"} {
		o := textOptions()
		o.Lines = lineFinder{"inlined"}
		out, _ := finaliseWith(t, strings.Replace(sampleText, "kallsyms ", id+"kallsyms ", 1)+"round 4000\nend 4100\n", o)
		if !strings.Contains(out, want) {
			t.Errorf("%q: want %s, got\n%s", id, want, out)
		}
	}
}

// TestFullSectionTakesOnlyNames: the last event before an epoch may have many frames.
func TestFullSectionTakesOnlyNames(t *testing.T) {
	f := newFinaliser(openText(t, sampleText+"round 4000\nend 4100\n"), format.NewWriter(io.Discard, format.WriterOptions{}), textOptions())
	c := f.apply.code
	one := &frame{function: "f", line: &symbol.Line{Function: "g", File: "a.c", Line: 1}}
	if got := c.linesOf(one); len(got) != 1 || string(got[0].Function) != "f" || string(got[0].File) != "a.c" || c.bytes != lineCost {
		t.Errorf("got %v, %d bytes", got, c.bytes)
	}
	c.bytes = maxCode + 1
	if got := c.linesOf(one); len(got) != 1 || string(got[0].Function) != "f" || len(got[0].File) > 0 || got[0].Line != 0 {
		t.Errorf("of a full section: %v", got)
	}
}

// startNamer names functions so that threads begin in the first half of a file.
type startNamer struct{}

func (startNamer) Names(_ *format.Module, at []symbol.Address, out []symbol.Name) error {
	for i, a := range at {
		out[i] = symbol.Name{Function: "inner", OK: a.Offset < 0x8000}
		if a.Offset < 0x1000 {
			out[i].Function = "__libc_start_call_main"
		}
	}
	return errors.New("no names from 0x8000 on")
}

// TestSummaryCountsFramesAndStacksThatLookCut, each by the samples that have them.
func TestSummaryCountsFramesAndStacksThatLookCut(t *testing.T) {
	_, summary := finaliseWith(t, sampleText+`
0: 3100 stack cpu=0 tid=10 id=3 pid=10 at=0x402000
0: 3100 sample cpu=0 tid=10 user=3 kernel=2
0: 3101 sample cpu=0 tid=10 user=3
0: 3200 stack cpu=0 tid=10 id=4 pid=10 at=0x609000,0x402000,0x609010
0: 3200 sample cpu=0 tid=10 user=4
0: 3300 stack cpu=0 tid=10 id=5 pid=10 at=0x7ff010
0: 3300 sample cpu=0 tid=10 user=5
0: 3400 stack cpu=0 tid=10 id=6 pid=10 at=0x402000,0x609020
0: 3400 sample cpu=0 tid=10 user=6
0: 3450 stack cpu=0 tid=10 id=7 pid=10 at=0x402000,0x999999
0: 3450 sample cpu=0 tid=10 user=7
0: 3470 stack cpu=0 tid=10 id=8 pid=10 at=0x609030,0x402000,0x999999,0x888888
0: 3470 sample cpu=0 tid=10 user=8
0: 3500 sample cpu=0 tid=10 user=99
round 4000
end 4100
`, Options{Names: startNamer{}})
	if want := uint64(9); summary.Samples != want {
		t.Errorf("%d samples, want %d", summary.Samples, want)
	}
	if want := (StackCount{User: 8, Cut: 5, Lost: 1}); summary.Stacks != want {
		t.Errorf("stacks %+v, want %+v", summary.Stacks, want)
	}
	if want := (FrameCount{16, 9}); summary.User != want {
		t.Errorf("user frames %+v, want %+v", summary.User, want)
	}
	if want := (FrameCount{2, 2}); summary.Kernel != want {
		t.Errorf("kernel frames %+v, want %+v", summary.Kernel, want)
	}
	var got []string
	for _, m := range summary.Modules {
		got = append(got, fmt.Sprintf("%s %d/%d cut %d %v", m.Path, m.Named, m.Seen, m.Cut, m.Err != nil))
	}
	const want = "/bin/plain 1/5 cut 1 true, [unknown] 0/3 cut 0 false, /bin/alpha 7/7 cut 4 true, [kernel] 2/2 cut 0 true, [vdso] 1/1 cut 0 true"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("modules\n%s, want\n%s", text, want)
	}
}

// TestGeneratedCodeIsNamedFromItsFirstMapping, although its map file is found only when the process ends.
func TestGeneratedCodeIsNamedFromItsFirstMapping(t *testing.T) {
	out, _ := finaliseWith(t, sampleText+`
side 3010 map pid=10 from=0x900000 to=0x910000 path=//anon
0: 3100 stack cpu=0 tid=10 id=3 pid=10 at=0x900010
0: 3100 sample cpu=0 tid=10 user=3
round 4000
0: 4100 sample cpu=0 tid=10 user=3
round 5000
side 3010 jit pid=10
round 6000
end 6100
`, textOptions())
	if !strings.Contains(out, `path="/tmp/perf-10.map" generation=3010 kind=jit`) || strings.Contains(out, "//anon") {
		t.Errorf("the samples before the map file was found are not in generated code with names:\n%s", out)
	}
}

// TestAddressOfGeneratedCodeBelongsToTheLatestFunctionThere at the time of each sample, although the dump is read when the process
// ends. An exec ends all of it.
func TestAddressOfGeneratedCodeBelongsToTheLatestFunctionThere(t *testing.T) {
	out, summary := finaliseWith(t, sampleText+`
side 3010 map pid=10 from=0x900000 to=0x910000 path=//anon
0: 3020 stack cpu=0 tid=10 id=3 pid=10 at=0x900010
0: 3030 sample cpu=0 tid=10 user=3
0: 3120 sample cpu=0 tid=10 user=3
0: 3220 sample cpu=0 tid=10 user=3
round 4000
side 3100 code pid=10 from=0x900000 to=0x900020 off=0x1000 path=/tmp/jit-10.dump dev=1 ino=9
side 3200 code pid=10 from=0x900008 to=0x900018 off=0x2000 path=/tmp/jit-10.dump dev=1 ino=9
side 3300 exec pid=10
side 3310 map pid=10 from=0x900000 to=0x910000 path=//anon
0: 3320 sample cpu=0 tid=10 user=3
round 5000
end 5100
`, textOptions())
	var frames []string
	for line := range strings.Lines(out) {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "offset=") && (strings.Contains(word, "0x900010") || strings.Contains(word, "0x1010") || strings.Contains(word, "0x2008")) {
				frames = append(frames, word)
			}
		}
	}
	if got := strings.Join(frames, " "); got != "offset=0x900010 offset=0x1010 offset=0x2008" {
		t.Errorf("frames at %s, want one before the first function, one in each, and the first again after the exec:\n%s", got, out)
	}
	if want := (ModuleFrames{Path: "/tmp/jit-10.dump", Kind: format.ModuleKind_MODULE_FILE, FrameCount: FrameCount{2, 2}}); !slices.Contains(summary.Modules, want) {
		t.Errorf("modules %+v, want %+v", summary.Modules, want)
	}
}

// TestLongSidebandRoundsArriveWhole: a round's records go into several chunks, which cut records.
func TestLongSidebandRoundsArriveWhole(t *testing.T) {
	var text strings.Builder
	text.WriteString("source 1 1\nspool rings=1 recorder=9\ntask at=1000 tid=10 comm=alpha cpu=0\nopen 2000\n")
	const maps = 3000
	for i := range maps {
		fmt.Fprintf(&text, "side %d map pid=10 from=%#x to=%#x path=/%s/%d\n", 2100+i, 0x10000*(i+1), 0x10000*(i+2), strings.Repeat("x", i%200), i)
		fmt.Fprintf(&text, "0: %d stack cpu=0 tid=10 id=%d pid=10 at=%#x\n", 2100+i, i+1, 0x10000*(i+1)+1)
		fmt.Fprintf(&text, "0: %d sample cpu=0 tid=10 user=%d\n", 2100+i, i+1)
	}
	text.WriteString("round 9000\nend 9100\n")
	out, summary := finaliseWith(t, text.String(), Options{})
	if n := strings.Count(out, "offset=0x1\n"); n != maps || summary.Samples != maps {
		t.Errorf("%d frames in a mapping of %d samples, want %d", n, summary.Samples, maps)
	}
}

// TestCodeOutlivesTheFirstThread: a process whose first thread has ended goes on in the others, however long they are idle.
// The end of the last one ends it.
func TestCodeOutlivesTheFirstThread(t *testing.T) {
	out, summary := finaliseWith(t, strings.Replace(sampleText, "side 1100", "task at=1001 tid=12 pid=10 comm=worker\nside 1100", 1)+`
0: 3100 exit cpu=0 tid=10
side 3100 exit pid=10
0: 3200 stack cpu=0 tid=12 id=3 pid=10 at=0x400222
0: 3200 sample cpu=0 tid=12 pid=10 user=3
round 4000
side 20000000000 exec pid=20
0: 30000000000 stack cpu=0 tid=12 id=4 pid=10 at=0x400333
0: 30000000000 sample cpu=0 tid=12 pid=10 user=4
0: 30000000100 exit cpu=0 tid=12
round 30000001000
side 50000000000 exec pid=20
0: 50000000100 stack cpu=0 tid=12 id=5 pid=10 at=0x400555
0: 50000000100 sample cpu=0 tid=12 pid=10 user=5
round 50000001000
end 50000001000
`, textOptions())
	for place, want := range map[string]bool{"alpha_2": true, "alpha_3": true, "alpha_5": false} {
		if strings.Contains(out, place) != want {
			t.Errorf("%s is named: %v, want %v", place, !want, want)
		}
	}
	if summary.Samples != 4 {
		t.Errorf("%d samples, want 4", summary.Samples)
	}
}

// TestProgramsAreNamedAsLongAsTheyAreThere: the functions of BPF programs come and go, and another may come to stand where
// one was.
func TestProgramsAreNamedAsLongAsTheyAreThere(t *testing.T) {
	sample := func(at int, place string) string {
		return fmt.Sprintf("0: %d sample cpu=0 tid=10 kernel=%s\n", at, place)
	}
	out, summary := finaliseWith(t, sampleText+`
0: 3000 stack cpu=0 tid=10 id=3 at=0xffffffffc1000010
0: 3001 stack cpu=0 tid=10 id=4 at=0xffffffffc1000050
side 3100 function from=0xffffffffc1000000 to=0xffffffffc1000040 path=bpf_prog_first
side 3100 function from=0xffffffffc1000040 to=0xffffffffc1000080 path=bpf_prog_second
`+sample(3150, "3")+sample(3151, "4")+`
side 3200 gone from=0xffffffffc1000000 to=0xffffffffc1000040
`+sample(3250, "3")+sample(3251, "4")+`
side 3300 function from=0xffffffffc1000000 to=0xffffffffc1000060 path=bpf_prog_third
`+sample(3350, "3")+sample(3351, "4")+`
round 4000
end 4100
`, textOptions())
	var got []string
	for line := range strings.Lines(out) {
		if i := strings.Index(line, "bpf_prog_"); i >= 0 {
			got = append(got, strings.Trim(line[i:], "\"\n"))
		}
	}
	if text := strings.Join(got, " "); text != "bpf_prog_first bpf_prog_second bpf_prog_third bpf_prog_third" || strings.Count(out, `path="[bpf]" base=`) != 3 {
		t.Errorf("functions of programs: %s\n%s", text, out)
	}
	if want := uint64(7); summary.Samples != want || summary.Stacks.Lost > 0 {
		t.Errorf("%d samples, want %d; stacks %+v", summary.Samples, want, summary.Stacks)
	}
}

// TestModulesLoadedMeanwhileHaveNames, from before their record came on, until they are gone, and others that take their place.
func TestModulesLoadedMeanwhileHaveNames(t *testing.T) {
	sample := func(at int, place string) string {
		return fmt.Sprintf("0: %d sample cpu=0 tid=10 kernel=%s\n", at, place)
	}
	out, _ := finaliseWith(t, sampleText+`
0: 3000 stack cpu=0 tid=10 id=3 at=0xffffffffc1000110
0: 3001 stack cpu=0 tid=10 id=4 at=0xffffffffc1000250
side 3050 exec pid=99
`+sample(3100, "3")+`
side 3040 function from=0xffffffffc1000100 to=0xffffffffc1000200 path=read_it module=disk base=0xffffffffc1000000
side 3040 function from=0xffffffffc1000200 to=0xffffffffc1000300 path=write_it module=disk base=0xffffffffc1000000
`+sample(3150, "3")+sample(3151, "4")+`
round 3200
side 3210 gone from=0xffffffffc1000000 to=0xffffffffc1002000 module=disk base=0xffffffffc1000000
`+sample(3250, "3")+`
side 3300 function from=0xffffffffc1000000 to=0xffffffffc1000400 path=send module=net base=0xffffffffc1000000
`+sample(3350, "3")+sample(3351, "4")+`
round 4000
end 4100
`, textOptions())
	var names []string
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "line function="); ok && (len(names) > 0 || name == `"read_it"`) {
			names = append(names, strings.Trim(name, `"`))
		}
	}
	// Of the kernel's own code is what stands in no module.
	if got, want := strings.Join(names, " "), "read_it write_it [kernel]_400001 send send"; got != want {
		t.Errorf("functions %s, want %s", got, want)
	}
	if n := strings.Count(out, `path="[disk]"`); n != 1 {
		t.Errorf("%d modules are [disk]\n%s", n, out)
	}
}

// TestKernelHasItsBuildID, unless it is not known where it was loaded: then offsets are not those of the build.
func TestKernelHasItsBuildID(t *testing.T) {
	const end = "end 4000\n"
	with := strings.Replace(sampleText, "kallsyms 0xffffffff81000000", "kallsyms 0xffffffff81000000\nkernelid ab", 1)
	for _, c := range []struct{ what, text, want string }{
		{"a build-id", with, `path="[kernel]" build_id=ab base=0xffffffff81000000 kind=kernel`},
		{"none", sampleText, `path="[kernel]" base=0xffffffff81000000 kind=kernel`},
		{"no address", strings.Replace(with, "kallsyms 0xffffffff81000000\n", "", 1), `path="[kernel]" kind=kernel`},
	} {
		if out, _ := finaliseWith(t, c.text+end, textOptions()); !strings.Contains(out, c.want) {
			t.Errorf("%s: want %s, got\n%s", c.what, c.want, out)
		}
	}
}

// TestKernelSymbolsSurviveInTheSpool, also when it is long and was cut off later.
func TestKernelSymbolsSurviveInTheSpool(t *testing.T) {
	path := t.TempDir() + "/x.part"
	w, err := spool.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var symbols strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&symbols, "%016x t symbol_%d\n", 0xffffffff81000000+uint64(i)*7919, i*i)
	}
	modules := strings.Repeat("x 4096 0 - Live 0xffffffffc0000000\n", 4000)
	for _, err := range []error{
		w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1}),
		w.Kallsyms(packed(t, symbols.String())),
		w.Modules([]byte(modules)),
		w.Open(900),
		w.Round(spool.Round{Time: 1000, Producer: []uint64{0}, Drained: []uint64{0}}),
		w.Kallsyms(packed(t, "too late\n")),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := spool.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := s.Kallsyms()
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if got, err := io.ReadAll(text); err != nil || string(got) != symbols.String() {
		t.Errorf("%d bytes of symbols (%v), want %d", len(got), err, symbols.Len())
	}
	list, err := s.Modules()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(list); err != nil || string(got) != modules {
		t.Errorf("%d bytes of modules (%v), want %d", len(got), err, len(modules))
	}
	without := openText(t, "spool rings=1 recorder=9\nopen 1000\nround 2000\n")
	_, err = without.Kallsyms()
	_, err2 := without.Modules()
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err2, os.ErrNotExist) {
		t.Errorf("a spool without symbols has some: %v, %v", err, err2)
	}
}

// TestStackTableIsBounded: beyond the bound the generation before goes, then new stacks are refused.
func TestStackTableIsBounded(t *testing.T) {
	s := newStackTable()
	record := func(id uint64) []byte {
		b := make([]byte, ringdata.StackSize+8*100)
		header(b, 1000, ringdata.KindStack, 0, 0, 1)
		le := binary.LittleEndian
		le.PutUint64(b[ringdata.StackID:], id)
		le.PutUint16(b[ringdata.StackCount:], 100)
		for i := range 100 {
			le.PutUint64(b[ringdata.StackAddrs+8*i:], id<<20|uint64(i)<<50) // far apart: they do not pack well
		}
		return b
	}
	id := uint64(1)
	for ; s.define(record(id), 1000) != nil && id < 1<<20; id++ {
		if id == 1000 {
			s.cut(1000)
		}
	}
	if s.refused != 1 || s.bytes > maxStackDefs+4096 {
		t.Errorf("%d bytes of %d stacks, %d refused; want up to %d, one refused", s.bytes, id, s.refused, maxStackDefs)
	}
	if s.find(5, 1000) != nil {
		t.Error("a stack of the generation before is still there")
	}
	if found := s.find(id-1, 1000); found == nil || len(found.addresses(nil)) != 100 || found.addresses(nil)[3] != (id-1)<<20|3<<50 {
		t.Error("the last stack is not there as it was defined")
	}
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	b, err := spool.PackKallsyms(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
