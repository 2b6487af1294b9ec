//go:build linux

package wall

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

func TestWhatCannotBeWrittenIsFoundBeforeAnythingIsRecorded(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	pid := strconv.Itoa(sleeper(t, "300").Process.Pid)
	long := strings.Repeat("é", 115) // 230 bytes
	none := func(string) error { return nil }
	for _, c := range []struct {
		prefix string
		before func(dir string) error
		says   string
	}{
		{"none/x", none, "write none/x.svg: no such file or directory; make the folder none first"},
		{"file/x", file("file"), "file/multithread_x: not a directory"},
		{long, none, "_single_thread_analysis.txt: file name too long"},
		{"fixed/x", kernels("fixed"), "write fixed/x.svg: "},
		{"x", folder("x.svg"), "write x.svg: it is a folder"},
		{"x", folder("x_single_thread_analysis.txt"), "write x_single_thread_analysis.txt: it is a folder"},
		{"x", folder("multithread_x/x_thread_analysis.txt"), "write multithread_x/x_thread_analysis.txt: it is a folder"},
		{"x", file("multithread_x"), "write multithread_x: it is not a folder"},
		{"x", func(dir string) error { return os.Symlink("/tmp", dir+"/multithread_x") }, "write multithread_x: it is a symbolic link"},
	} {
		for _, of := range [][]string{{pid, "-d.3", "-o", c.prefix}, {"-o", c.prefix, "--", "touch", "ran"}} {
			w := script(t, of...)
			if err := c.before(w.dir); err != nil {
				t.Fatal(err)
			}
			there := w.files()
			want := 1
			if len(of) > 4 {
				want = 125
			}
			if status, said := w.start().wait(), w.stderr.String(); status != want || !strings.HasPrefix(said, "wprof-flame: write ") || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
				t.Errorf("%q: status %d, want %d; it says %q, want one line with %q", of, status, want, said, c.says)
			}
			if left := w.files(); !slices.Equal(left, there) {
				t.Errorf("%q: it leaves %v, and there was %v", of, left, there)
			}
		}
	}
}

func file(name string) func(dir string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
}

func folder(name string) func(dir string) error {
	return func(dir string) error { return os.MkdirAll(filepath.Join(dir, name), 0o700) }
}

// kernels makes a folder of that name into which root cannot write either: one of the kernel's own.
func kernels(name string) func(dir string) error {
	return func(dir string) error { return os.Symlink("/proc/self", filepath.Join(dir, name)) }
}

func TestFilesOfEarlierThreadsAreReplaced(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	w := script(t, startKnown(t, 1).PIDText(), "-d0.3", "-o", "again")
	in := filepath.Join(w.dir, "multithread_again")
	own := []string{"thread_1_main.svg", "thread_1_main.folded", "thread_1_main_analysis.txt", "thread_22_a.b+c-d_2.svg"}
	others := []string{"notes.txt", "thread_x_main.svg", "thread_1_main.png", "thread_1_main.svg.bak", "athread_1_main.svg", "thread_1_a b.svg", "sub/thread_1_main.svg"}
	for _, name := range slices.Concat(own, others) {
		if err := folder(filepath.Dir("multithread_again/" + name))(w.dir); err != nil {
			t.Fatal(err)
		}
		if err := file(name)(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("notes.txt", in+"/thread_3_link.svg"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in+"/thread_4_folder.svg", 0o700); err != nil {
		t.Fatal(err)
	}
	w.run()
	for _, name := range own {
		if _, err := os.Lstat(filepath.Join(in, name)); err == nil {
			t.Errorf("%s of an earlier recording is still there", name)
		}
	}
	for _, name := range append(others, "thread_3_link.svg", "thread_4_folder.svg", "again_thread_analysis.txt") {
		if _, err := os.Lstat(filepath.Join(in, name)); err != nil {
			t.Errorf("%s, which is no file of an earlier thread, is gone", name)
		}
	}
	if made, _ := filepath.Glob(in + "/thread_*_main_analysis.txt"); len(made) != 1 {
		t.Errorf("of this recording's main thread there are %v", made)
	}
}

func TestChildrenAreRecordedOnRequestOrReported(t *testing.T) {
	tools.NeedPrivilege(t)
	t.Parallel()
	shell := tools.StartWorkload(t, exec.Command("sh", "-c", "exec 3<&0; cat <&3 >&2 & cat <&3 >&2 & echo ready; wait")) // its children end with the test
	shell.Until("ready")
	w := script(t, shell.PIDText(), "-d.2", "-o", "kids").run()
	if want := "Process " + shell.PIDText() + " alone was recorded, its 2 children are not: wprof-wallclock --children " + shell.PIDText() + "\nrecords them together"; !strings.Contains(w.stderr.String(), want) {
		t.Errorf("of a shell with two children it says %s", w.stderr.String())
	}
	w = script(t, "--children", shell.PIDText(), "-d1s", "-o", "all").run()
	if n := value(t, w.read("all_single_thread_analysis.txt"), "threads"); n != 3 || strings.Contains(w.stderr.String(), "alone was recorded") {
		t.Errorf("of a shell and its two children, %v threads are reported: %s", n, w.stderr.String())
	}
	if w = script(t, strconv.Itoa(sleeper(t, "300").Process.Pid), "-d.2", "-o", "none").run(); strings.Contains(w.stderr.String(), "child") {
		t.Errorf("of a process without children it says %s", w.stderr.String())
	}
}
