package dwarfline

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// needTool returns the path of a program. It may be missing only outside CI.
func needTool(t testing.TB, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if home, _ := os.UserHomeDir(); err != nil {
		p, err = exec.LookPath(filepath.Join(home, ".cargo/bin", name))
	}
	if err == nil {
		return p
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing", name)
	}
	t.Skipf("%s is missing", name)
	return ""
}

// run runs a tool in a folder.
func run(t testing.TB, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(needTool(t, name), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// openImage opens an ELF file until the test ends.
func openImage(path string) (*Image, func(), error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	e, err := elf.NewFile(file)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	image := &Image{ELF: e, R: file, Size: uint64(info.Size()), Path: path}
	if s := e.Section(".note.gnu.build-id"); s != nil {
		if b, err := s.Data(); err == nil && len(b) > 16 {
			image.BuildID = b[16:]
		}
	}
	return image, func() { file.Close() }, nil
}

func openFile(t testing.TB, path string) *File {
	t.Helper()
	image, done, err := openImage(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(image, Options{Open: openImage})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	t.Cleanup(func() {
		f.Close()
		done()
	})
	return f
}

// addressesOf returns addresses in the functions of a program, sorted; at most count.
func addressesOf(t testing.TB, path string, count int) (all []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	if text == nil {
		t.Fatalf("%s has no code", path)
	}
	random := rand.New(rand.NewPCG(1, 2))
	if text.Size <= uint64(count) {
		for a := range text.Size {
			all = append(all, text.Addr+a)
		}
		return all
	}
	for range count {
		all = append(all, text.Addr+random.Uint64N(text.Size))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chainOf returns the functions at a place, innermost first, each by itself.
func chainOf(line *Line) (chain []Line) {
	for l := line; l != nil; l = l.Outer {
		chain = append(chain, Line{Function: l.Function, File: l.File, Line: l.Line})
	}
	return chain
}

// find returns the chains of addresses.
func (f *File) find(t testing.TB, addresses []uint64) [][]Line {
	t.Helper()
	chains := make([][]Line, len(addresses))
	if err := f.Find(addresses, func(i int, line *Line) { chains[i] = chainOf(line) }); err != nil {
		t.Error(err)
	}
	return chains
}

// llvmChains returns what llvm-symbolizer finds.
func llvmChains(t testing.TB, path string, addresses []uint64) [][]Line {
	t.Helper()
	var in strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command(needTool(t, "llvm-symbolizer-19"), "--obj="+path, "--no-demangle", "--output-style=JSON", "--no-debuginfod")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var chains [][]Line
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var answer struct {
			Symbol []struct {
				FunctionName, FileName string
				Line                   uint32
			}
		}
		if err := d.Decode(&answer); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var chain []Line
		for _, s := range answer.Symbol {
			chain = append(chain, Line{Function: s.FunctionName, File: s.FileName, Line: s.Line})
		}
		chains = append(chains, chain)
	}
	if len(chains) != len(addresses) {
		t.Fatalf("llvm-symbolizer answers for %d of %d addresses", len(chains), len(addresses))
	}
	return chains
}

// text writes a chain such that those of both can be compared.
func text(chain []Line) string {
	var b strings.Builder
	for i, l := range chain {
		name := l.Function
		if i == len(chain)-1 {
			name = "" // llvm-symbolizer takes the last one's name from the symbol table
		}
		file := l.File
		if file != "" {
			file = filepath.Clean(file)
		}
		fmt.Fprintf(&b, "%s@%s:%d;", name, file, l.Line)
	}
	if s := b.String(); s != "@:0;" {
		return s
	}
	return ""
}

// compare compares all that is found with what llvm-symbolizer finds in a file with the same code.
func compare(t *testing.T, path, truth string, count int) {
	t.Helper()
	addresses := addressesOf(t, path, count)
	got, want := openFile(t, path).find(t, addresses), llvmChains(t, truth, addresses)
	different, inlined, lines := 0, 0, 0
	for i, a := range addresses {
		if len(got[i]) > 1 {
			inlined++
		}
		if len(got[i]) > 0 {
			lines++
		} else if len(want[i]) == 1 && want[i][0].Line == 0 {
			continue // without DWARF, llvm-symbolizer takes the file from the symbol table
		}
		if text(got[i]) != text(want[i]) {
			if different++; different < 5 {
				t.Errorf("%#x: got\n%s\nwant\n%s", a, text(got[i]), text(want[i]))
			}
		}
	}
	t.Logf("%s: %d addresses, %d with lines, %d inlined, %d differ", filepath.Base(path), len(addresses), lines, inlined, different)
	if inlined == 0 {
		t.Errorf("%s: nothing is inlined", path)
	}
}

// builds are folders with the C++ program, each compiled for the first test that needs it, by compiler and flags.
var builds struct {
	mu      sync.Mutex
	root    string
	folders map[string]func() (string, error)
}

func TestMain(m *testing.M) {
	status := m.Run()
	os.RemoveAll(builds.root)
	os.Exit(status)
}

// compiled returns the folder of a compiler with these flags.
func compiled(compiler string, flags []string) (string, error) {
	builds.mu.Lock()
	key := fmt.Sprint(compiler, flags)
	once := builds.folders[key]
	if once == nil {
		if builds.folders == nil {
			builds.folders = map[string]func() (string, error){}
		}
		once = sync.OnceValues(func() (string, error) { return compile(compiler, flags) })
		builds.folders[key] = once
	}
	builds.mu.Unlock()
	return once()
}

// compile compiles the C++ program in a folder of its own.
func compile(compiler string, flags []string) (dir string, err error) {
	source, err := filepath.Abs("testdata")
	if err != nil {
		return "", err
	}
	builds.mu.Lock()
	if builds.root == "" {
		builds.root, err = os.MkdirTemp("", "dwarfline-")
	}
	builds.mu.Unlock()
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(builds.root, ""); err != nil {
		return "", err
	}
	flags = append([]string{"-O2", "-g"}, flags...)
	for _, step := range [][]string{
		{"-c", filepath.Join(source, "main.cc"), "-o", "main.cc.o"},
		{"-c", filepath.Join(source, "sub/shape.cc"), "-o", "sub-shape.cc.o"},
		{"main.cc.o", "sub-shape.cc.o", "-o", "program", "-Wl,--build-id"},
	} {
		cmd := exec.Command(compiler, slices.Concat(step, flags)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%q: %w: %s", cmd.Args, err, out)
		}
	}
	return dir, nil
}

// build returns the C++ program in a folder that its tests only read.
func build(t testing.TB, compiler string, flags ...string) string {
	t.Helper()
	dir, err := compiled(needTool(t, compiler), flags)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "program")
}

func TestLinesEqualLLVM(t *testing.T) {
	for _, c := range []string{
		"g++ -gdwarf-2",
		"g++ -gdwarf-3 -gdwarf64",
		"g++ -gdwarf-4",
		"g++ -gdwarf-4 -gsplit-dwarf",
		"g++ -gdwarf-4 -gz=zlib -fdebug-types-section -static -ffunction-sections -Wl,--gc-sections",
		"g++ -gdwarf-5",
		"g++ -gdwarf-5 -gdwarf64 -fdebug-types-section",
		"g++ -gdwarf-5 -gsplit-dwarf -gz=zlib",
		"g++ -gdwarf-5 -flto",
		"clang++-19 -gdwarf-3",
		"clang++-19 -gdwarf-4 -gsplit-dwarf -fno-split-dwarf-inlining",
		"clang++-19 -gdwarf-5 -gz=zstd -fdebug-types-section -static -ffunction-sections -Wl,--gc-sections",
		"clang++-19 -gdwarf-5 -gsplit-dwarf -fno-split-dwarf-inlining -fdebug-types-section",
	} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(c)
			program := build(t, words[0], words[1:]...)
			compare(t, program, program, 5000)
		})
	}
}

// TestLinesInOldCompression: sections that were compressed before ELF had a flag for it, which LLVM no longer reads.
func TestLinesInOldCompression(t *testing.T) {
	dir := t.TempDir()
	program := build(t, "g++", "-gdwarf-4")
	run(t, dir, "objcopy", "--compress-debug-sections=zlib-gnu", program, "old")
	compare(t, filepath.Join(dir, "old"), program, 5000)
}

// TestLinesInPackages: the split units are in a .dwp file.
func TestLinesInPackages(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir, err := compile(needTool(t, "clang++-19"), []string{version, "-gsplit-dwarf", "-fno-split-dwarf-inlining"})
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, "program")
			run(t, dir, "llvm-dwp-19", "-e", program, "-o", program+".dwp")
			split, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
			if err != nil || len(split) != 2 {
				t.Fatalf("got %q, %v", split, err)
			}
			for _, name := range split {
				if err := os.Remove(name); err != nil {
					t.Fatal(err)
				}
			}
			compare(t, program, program, 5000)
			checkPackageBeside(t, program)
		})
	}
}

// checkPackageBeside opens the debug file of a program, which is elsewhere, with the package beside the program.
func checkPackageBeside(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "objcopy", "--only-keep-debug", program, "debug")
	image, done, err := openImage(filepath.Join(dir, "debug"))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for beside, want := range map[string]bool{"": false, program: true} {
		f, err := Open(image, Options{Open: openImage, Program: beside})
		if err != nil {
			t.Fatal(err)
		}
		section := image.ELF.Section(".text")
		err = f.Find([]uint64{section.Addr + section.Size/2}, func(int, *Line) {})
		f.Close()
		if (err == nil) != want {
			t.Errorf("with the program at %q: %v", beside, err)
		}
	}
}

// TestLinesAfterDwz: dwz moves what is common to units, or to files, to where all can refer to it.
func TestLinesAfterDwz(t *testing.T) {
	for _, c := range []struct{ version, link string }{{"-gdwarf-4", "--relative"}, {"-gdwarf-5", "--relative"}, {"-gdwarf-5", "--dwarf-5"}} {
		t.Run(c.version+c.link, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := build(t, "g++", c.version)
			run(t, dir, "cp", program, "other")
			run(t, dir, "dwz", "-o", "alone", program)
			compare(t, filepath.Join(dir, "alone"), program, 5000)
			run(t, dir, "cp", program, "first")
			run(t, dir, "dwz", c.link, "-m", "common", "first", "other")
			first := filepath.Join(dir, "first")
			compare(t, first, program, 5000)
			run(t, dir, "rm", "common")
			image, done, err := openImage(first)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			if _, err := Open(image, Options{Open: openImage}); !errors.Is(err, errNoAlt) {
				t.Errorf("without the supplementary file: got %v", err)
			}
		})
	}
}

func TestLinesOfRustEqualLLVM(t *testing.T) {
	source, err := filepath.Abs("testdata/program.rs")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-g", "-g -Clto=fat", "-g -Csplit-debuginfo=unpacked"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, dir, "rustc", append([]string{"-O", "-o", "program", source}, strings.Fields(flags)...)...)
			program := filepath.Join(dir, "program")
			compare(t, program, program, 5000)
		})
	}
}
