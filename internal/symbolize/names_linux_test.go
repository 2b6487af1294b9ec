package symbolize

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/cli"
)

const program = "int inner(int i) { return i * 3; }\nint outer(int i) { return inner(i) + 1; }\nint main(int c, char **v) { return outer(c); }\n"

// compiled is a program with a build-id, and the offsets of its functions in the file.
type compiled struct {
	path  string
	build []byte
	at    map[string]uint64
}

func compile(t *testing.T, name, id string) compiled {
	t.Helper()
	c := compiled{path: filepath.Join(t.TempDir(), name), at: map[string]uint64{}}
	cmd := exec.Command("gcc", "-O0", "-x", "c", "-", "-o", c.path, "-Wl,--build-id=0x"+id)
	cmd.Stdin = strings.NewReader(program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.build, _ = hex.DecodeString(id)
	f, err := elf.Open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				c.at[s.Name] = s.Value - p.Vaddr + p.Off
			}
		}
	}
	return c
}

// capture writes a stream with one sample in inner, called from outer, of which outer may have a name already.
func (c compiled) capture(t *testing.T, named string) string {
	t.Helper()
	outer := &format.Frame{Id: 1, Module: 1, Offset: c.at["main"], Caller: true} // after outer's last byte
	if named != "" {
		outer.Lines = []*format.Line{{Function: []byte(named)}}
	}
	return c.captureOf(t, outer, &format.Stack{Id: 1, Frames: []uint32{1, 2}})
}

// captureOf writes a stream with one sample in inner, called from outer.
func (c compiled) captureOf(t *testing.T, outer *format.Frame, stack *format.Stack) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.wprof")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := format.NewWriter(file, format.WriterOptions{})
	e := format.Event{Time: 2000, Kind: format.KindSample, Flags: format.FlagSubject, Task: 1}
	e.Sample().SetStack(1)
	e.Sample().SetSource(1)
	for _, err := range []error{
		w.Begin(&format.Session{Id: 5, BootId: "elsewhere", Open: 1000, Close: 3000, Sources: []*format.Source{{Id: 1, Name: "timer"}}}),
		w.DefineTask(&format.Task{Id: 1, Tid: 7, Pid: 7, Comm: []byte("x")}),
		w.DefineModule(&format.Module{Id: 1, Path: []byte(c.path), BuildId: c.build, Kind: uint32(format.ModuleKind_MODULE_FILE)}),
		w.DefineFrame(outer),
		w.DefineFrame(&format.Frame{Id: 2, Module: 1, Offset: c.at["inner"] + 5}),
		w.DefineStack(stack),
		w.Write(&e),
		w.EndSection(&format.End{Close: 3000, Last: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// frames returns the names of the sample's frames, outermost first.
func frames(t *testing.T, path string) (names string) {
	t.Helper()
	sampled(t, path, func(r *format.Reader, s *format.Stack) {
		var all []string
		for _, id := range s.Frames {
			name := "?"
			if lines := r.Frame(id).Lines; len(lines) > 0 {
				name = string(lines[0].Function)
			}
			all = append(all, name)
		}
		names = strings.Join(all, " ")
	})
	return names
}

// sampled visits the sample's stack.
func sampled(t *testing.T, path string, visit func(*format.Reader, *format.Stack)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := format.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err == io.EOF {
			t.Fatal("the sample is gone")
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != format.KindSample {
			continue
		}
		visit(r, r.Stack(e.Sample().Stack()))
		return
	}
}

// A stack that ended where nothing led on is whole if its outermost function, which has no name before, starts threads.
func TestStackIsWholeOnceItsRootHasAName(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	const (
		root    = uint32(format.StackEnd_STACK_END_ROOT)
		noTable = uint32(format.StackEnd_STACK_END_NO_TABLE)
		noFrame = uint32(format.StackEnd_STACK_END_NO_FRAME)
		noCode  = uint32(format.StackEnd_STACK_END_NO_CODE)
	)
	for _, c := range []struct {
		outermost   string
		ended, want uint32
	}{{"_start", noTable, root}, {"_start", noFrame, root}, {"_start", noCode, noCode}, {"outer", noTable, noTable}, {"outer", noFrame, noFrame}} {
		outermost, ended, want := c.outermost, c.ended, &format.Stack{UserEnd: c.want, Cut: c.want != root}
		in := here.captureOf(t, &format.Frame{Id: 1, Module: 1, Offset: here.at[outermost] + 4, Caller: true},
			&format.Stack{Id: 1, Frames: []uint32{1, 2}, UserEnd: ended, Cut: true})
		out := filepath.Join(t.TempDir(), "out")
		if stderr, status := run(t, "-o", out, in); status != cli.ExitOK {
			t.Fatalf("status %d: %s", status, stderr)
		}
		sampled(t, out, func(_ *format.Reader, got *format.Stack) {
			if got.UserEnd != want.UserEnd || got.Cut != want.Cut {
				t.Errorf("below %s, ended %d: got %v", outermost, ended, got)
			}
		})
	}
}

// With --again, frames that have a name are looked up too.
func TestVerboseCountsFramesLookedUp(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	in := here.capture(t, "mine")
	for flag, want := range map[string]string{"--no-lines": "named 1 of the 1 frames", "--again": "named 2 of the 2 frames"} {
		stderr, status := run(t, "-v", flag, "-o", filepath.Join(t.TempDir(), "out"), in)
		if status != cli.ExitOK || !strings.Contains(stderr, want+" that were looked up for a name; 0 got source lines") {
			t.Errorf("%s: status %d: %s, want %s", flag, status, stderr, want)
		}
	}
}

func TestFramesGetNames(t *testing.T) {
	id, other := strings.Repeat("ab", 20), strings.Repeat("cd", 20)
	here := compile(t, "here", id)
	strange := compile(t, "strange", other)
	strange.build = here.build
	moved := here
	moved.path = "/nonexistent/here"
	for _, c := range []struct {
		what  string
		from  compiled
		named string
		flags []string
		want  string
		// unnamed is the number of frames that the warning about absent files counts.
		unnamed int
	}{
		{"the file at its path", here, "", nil, "outer inner", 0},
		{"a name that is there", here, "mine", nil, "mine inner", 0},
		{"--again", here, "mine", []string{"--again"}, "outer inner", 0},
		{"another file at its path", strange, "", nil, "? ?", 0},
		{"no file", moved, "", nil, "? ?", 2},
		{"no file, and a name that is there", moved, "mine", nil, "mine ?", 1},
		{"no file, and --again", moved, "mine", []string{"--again"}, "mine ?", 1},
		{"a folder that has no such file", moved, "", []string{"--debug-dir", t.TempDir()}, "? ?", 2},
		{"--debug-dir", moved, "", []string{"--debug-dir", filepath.Dir(here.path)}, "outer inner", 0},
	} {
		in, out, warning := c.from.capture(t, c.named), filepath.Join(t.TempDir(), "out"), ""
		if c.unnamed > 0 {
			warning = absentWarning(c.unnamed, c.from.path)
		} else if c.from.path == strange.path {
			warning = replacedWarning(strange.path)
		}
		if stderr, status := run(t, append(c.flags, "-o", out, in)...); status != cli.ExitOK || stderr != warning {
			t.Fatalf("%s: status %d: %s", c.what, status, stderr)
		}
		if got := frames(t, out); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		piped := filepath.Join(t.TempDir(), "piped")
		if stderr, status := runOn(pipe(t, in), append(c.flags, "-o", piped)...); status != cli.ExitOK || stderr != warning {
			t.Fatalf("%s, through a pipe: status %d: %s", c.what, status, stderr)
		}
		if got := frames(t, piped); got != c.want {
			t.Errorf("%s, through a pipe: %s, want %s", c.what, got, c.want)
		}
	}
}

// absentWarning is the message about frames of one file that was not found.
func absentWarning(frames int, path string) string {
	count, what := "1 frame has no name", "it"
	if frames > 1 {
		count, what = fmt.Sprintf("%d frames have no names", frames), "them"
	}
	return fmt.Sprintf("wprof-symbolize: 1 file was not found, so that %s: %q; --debug-dir, --debuginfod or --symbol-archive can provide %s\n", count, path, what)
}

func replacedWarning(path string) string {
	return fmt.Sprintf("wprof-symbolize: not used, because it was replaced after the recording or is of another build: %q\n", path)
}

// A program without symbols is there: nothing can be done about it by its path.
func TestStrippedFileIsNotReportedAsAbsent(t *testing.T) {
	here := compile(t, "here", strings.Repeat("ab", 20))
	if out, err := exec.Command("strip", here.path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out := filepath.Join(t.TempDir(), "out")
	if stderr, status := run(t, "-o", out, here.capture(t, "")); status != cli.ExitOK || stderr != "" {
		t.Errorf("status %d: %s", status, stderr)
	}
	if got := frames(t, out); got != "? ?" {
		t.Errorf("got %s", got)
	}
}

// A debug file lacks the file offsets of code, so that frames have no names without the program.
func TestDebugFileWithoutItsProgramIsReported(t *testing.T) {
	here, folder := compile(t, "here", strings.Repeat("ab", 20)), t.TempDir()
	in := here.capture(t, "")
	splitProgram(t, here, folder)
	if err := os.Rename(filepath.Join(folder, "here.debug"), filepath.Join(folder, "here")); err != nil {
		t.Fatal(err)
	}
	stderr, status := run(t, "--debug-dir", folder, "-o", filepath.Join(t.TempDir(), "out"), in)
	if want := absentWarning(2, here.path); status != cli.ExitOK || stderr != want {
		t.Errorf("status %d: %q, want %q", status, stderr, want)
	}
}

func TestReplacedFileIsReportedOnce(t *testing.T) {
	strange := compile(t, "strange", strings.Repeat("cd", 20))
	strange.build = bytes.Repeat([]byte{0xab}, 20)
	in := strange.capture(t, "")
	for _, how := range []string{"file", "pipe"} {
		out := filepath.Join(t.TempDir(), "out")
		stderr, status := run(t, "-o", out, in)
		if how == "pipe" {
			stderr, status = runOn(pipe(t, in), "-o", out)
		}
		want := replacedWarning(strange.path)
		if status != cli.ExitOK || stderr != want {
			t.Errorf("from a %s: status %d, %q, want %q", how, status, stderr, want)
		}
	}
}

// TestNamesHaveTheWantedForm names a function, and rewrites a name that stands in the stream as in the symbol table.
func TestNamesHaveTheWantedForm(t *testing.T) {
	const mangled = "_ZNSt6vectorIiSaIiEE9push_backERKi"
	here := compile(t, "here", strings.Repeat("ab", 20))
	if out, err := exec.Command("objcopy", "--redefine-sym", "inner="+mangled, here.path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const plain, full = "std::vector<int, std::allocator<int> >::push_back", "std::vector<int, std::allocator<int>>::push_back(int const&)"
	for _, c := range []struct {
		named string
		flags []string
		want  string
	}{
		{"", nil, "outer " + plain},
		{"", []string{"--demangle=full"}, "outer " + full},
		{"", []string{"--demangle=short"}, "outer std::vector::push_back"},
		{"", []string{"--demangle=none"}, "outer " + mangled},
		{mangled, nil, mangled + " " + plain},
		{mangled, []string{"--demangle=full"}, full + " " + full},
		{mangled, []string{"--demangle=none"}, mangled + " " + mangled},
		{plain, []string{"--demangle=short"}, plain + " std::vector::push_back"},
		{plain, []string{"--demangle=short", "--again"}, "outer std::vector::push_back"},
	} {
		in, out := here.capture(t, c.named), filepath.Join(t.TempDir(), "out")
		if stderr, status := run(t, append(c.flags, "-o", out, in)...); status != cli.ExitOK || stderr != "" {
			t.Fatalf("%q: status %d: %s", c.flags, status, stderr)
		}
		if got := frames(t, out); got != c.want {
			t.Errorf("%q of %q: got %s, want %s", c.flags, c.named, got, c.want)
		}
	}
}

// TestFramesGetLines: inner is inlined into outer, and the frame's own function is main's callee.
func TestFramesGetLines(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "lines.c")
	text := "volatile int sink; static inline __attribute__((always_inline)) int inner(int i) { sink = i; return i * 3; }\n" +
		"__attribute__((noinline)) int outer(int i) {\n" +
		"\treturn inner(i) + 1;\n" +
		"}\n" +
		"int main(int c, char **v) { return outer(c); }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		named bool // the frame has the name that its symbol had when it was recorded
		flags []string
		want  string
	}{
		{"no name", false, nil, "inner@lines.c:1 outer@lines.c:3"},
		{"a name", true, nil, "inner@lines.c:1 recorded@lines.c:3"},
		{"--again", true, []string{"--again"}, "inner@lines.c:1 outer@lines.c:3"},
		{"--no-lines", false, []string{"--no-lines"}, "outer@:0"},
		{"--no-lines and a name", true, []string{"--no-lines"}, "recorded@:0"},
	} {
		program := filepath.Join(dir, "lines")
		if out, err := exec.Command("gcc", "-O1", "-g", source, "-o", program, "-Wl,--build-id=0x"+strings.Repeat("ab", 20)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		in, out := captureAt(t, program, "outer", c.named), filepath.Join(t.TempDir(), "out")
		if stderr, status := run(t, append(c.flags, "-o", out, in)...); status != cli.ExitOK || stderr != "" {
			t.Fatalf("%s: status %d: %s", c.what, status, stderr)
		}
		if got := linesOf(t, out); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// captureAt writes a stream with a sample at the beginning of a function.
func captureAt(t *testing.T, program, function string, named bool) string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	frame := &format.Frame{Id: 1, Module: 1}
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == function && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				frame.Offset = s.Value - p.Vaddr + p.Off
			}
		}
	}
	if named {
		frame.Lines = []*format.Line{{Function: []byte("recorded")}}
	}
	path := filepath.Join(t.TempDir(), "in.wprof")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := format.NewWriter(file, format.WriterOptions{})
	e := format.Event{Time: 2000, Kind: format.KindSample, Flags: format.FlagSubject, Task: 1}
	e.Sample().SetStack(1)
	e.Sample().SetSource(1)
	id, _ := hex.DecodeString(strings.Repeat("ab", 20))
	for _, err := range []error{
		w.Begin(&format.Session{Id: 5, BootId: "elsewhere", Open: 1000, Close: 3000, Sources: []*format.Source{{Id: 1, Name: "timer"}}}),
		w.DefineTask(&format.Task{Id: 1, Tid: 7, Pid: 7, Comm: []byte("x")}),
		w.DefineModule(&format.Module{Id: 1, Path: []byte(program), BuildId: id, Kind: uint32(format.ModuleKind_MODULE_FILE)}),
		w.DefineFrame(frame),
		w.DefineStack(&format.Stack{Id: 1, Frames: []uint32{1}}),
		w.Write(&e),
		w.EndSection(&format.End{Close: 3000, Last: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// linesOf returns the lines of the sample's frame, innermost first.
func linesOf(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := format.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != format.KindSample {
			continue
		}
		var all []string
		for _, l := range r.Frame(1).Lines {
			name := ""
			if len(l.File) > 0 {
				name = filepath.Base(string(l.File))
			}
			all = append(all, fmt.Sprintf("%s@%s:%d", l.Function, name, l.Line))
		}
		return strings.Join(all, " ")
	}
}

// A file of which only the path was recorded may be the same one: it is not used, and not reported as another one.
func TestUnidentifiedFileIsNotReported(t *testing.T) {
	p := compile(t, "unidentified", strings.Repeat("ef", 20))
	p.build = nil
	in := p.capture(t, "")
	if stderr, status := run(t, "-o", filepath.Join(t.TempDir(), "out"), in); status != cli.ExitOK || stderr != "" {
		t.Errorf("status %d: %s", status, stderr)
	}
}
