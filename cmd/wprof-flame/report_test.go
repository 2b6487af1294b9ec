package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// filesBelow are the regular files of a folder and those below it, with what is in them.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A report is what runs without it write.
func TestReportHasTheFilesOfOtherOutputs(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	flags := []string{"-a", file}
	for _, threads := range [][]string{{"100", "101"}, {"101"}} {
		together, alone := t.TempDir(), t.TempDir()
		in := func(name string) string { return filepath.Join(alone, name) }
		kept := append([]string{"--tid", strings.Join(threads, ",")}, flags...)
		got := run(t, nil, append([]string{"--report", filepath.Join(together, "x.y")}, kept...)...)
		if got.Status != 0 || len(got.Stderr) > 0 {
			t.Fatalf("threads %v: status %d, %s", threads, got.Status, got.Stderr)
		}
		single := [][]string{{"--svg=" + in("x.y.svg"), "--folded=" + in("x.y.folded"), "--analysis=" + in("x.y_single_thread_analysis.txt")}}
		if len(threads) > 1 {
			single = append(single, []string{"--per-thread", in("multithread_x.y")})
		}
		for _, outputs := range single {
			if got := run(t, nil, append(outputs, kept...)...); got.Status != 0 {
				t.Fatalf("%v: status %d, %s", outputs, got.Status, got.Stderr)
			}
		}
		all, want := filesBelow(t, together), filesBelow(t, alone)
		for name, text := range want {
			if all[name] != text {
				t.Errorf("threads %v: %s is %d bytes, want the %d that other outputs have", threads, name, len(all[name]), len(text))
			}
		}
		if len(all) != len(want) {
			t.Errorf("threads %v: %d files, want %d", threads, len(all), len(want))
		}
	}
}

func TestSummaryOfAReportNamesItsFiles(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	t.Chdir(t.TempDir())
	got := run(t, nil, "--report", "./x", file)
	want := []string{"./x.svg", "./x.folded", "./x_single_thread_analysis.txt", "multithread_x/", file}
	if text := string(got.Stdout); got.Status != 0 || !strings.HasPrefix(text, "coverage: ") {
		t.Fatalf("status %d, %s%s", got.Status, got.Stderr, text)
	}
	var named []string
	for line := range strings.Lines(string(got.Stdout)) {
		if row, isRow := strings.CutPrefix(line, "  "); isRow && row[0] != ' ' {
			named = append(named, strings.Fields(row)[0])
		}
	}
	if !slices.Equal(named, want) {
		t.Errorf("it names %q, want %q", named, want)
	}
	for _, name := range named {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	if got := run(t, nil, "--report", "x", "-o", "summary", file); got.Status != 0 || len(got.Stdout) > 0 || len(filesBelow(t, ".")) < 10 {
		t.Errorf("with -o: status %d, %s%s", got.Status, got.Stderr, got.Stdout)
	}
}

// The files of threads that a new report does not have go; all else in the folder stays.
func TestReportReplacesFilesOfEarlierThreads(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	for _, tid := range []string{"100,101", "101"} {
		prefix := filepath.Join(t.TempDir(), "x")
		folder := filepath.Join(filepath.Dir(prefix), "multithread_x")
		if err := os.MkdirAll(filepath.Join(folder, "thread_2_folder.svg"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"thread_1_old.svg", "thread_1_old_analysis.txt", "notes.txt", "thread_1_old.svg.bak"} {
			if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("notes.txt", filepath.Join(folder, "thread_3_link.svg")); err != nil {
			t.Fatal(err)
		}
		if got := run(t, nil, "--tid", tid, "--report", prefix, file); got.Status != 0 {
			t.Fatalf("status %d, %s", got.Status, got.Stderr)
		}
		for name, stays := range map[string]bool{"thread_1_old.svg": false, "thread_1_old_analysis.txt": false, "notes.txt": true,
			"thread_1_old.svg.bak": true, "thread_2_folder.svg": true, "thread_3_link.svg": true} {
			if _, err := os.Lstat(filepath.Join(folder, name)); (err == nil) != stays {
				t.Errorf("threads %s: %s: %v, want it kept: %v", tid, name, err, stays)
			}
		}
	}
}

func TestReportRejectsUnwritablePaths(t *testing.T) {
	file := written(t, fromtext.Stream(t, capture))
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Symlink("/tmp", in("multithread_link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("multithread_file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		args   []string
		says   string
	}{
		{1, []string{"--report", in("link")}, "it is a symbolic link"},
		{1, []string{"--report", in("file")}, "it is not a folder"},
		{1, []string{"--report", in("none/x")}, "make the folder " + in("none") + " first"},
		{2, []string{"--report", dir + "/"}, "not a file name prefix"},
		{2, []string{"--report", ".."}, "not a file name prefix"},
		{2, []string{"--report", ""}, "empty"},
		{2, []string{"--report", in("x"), "--per-thread", in("y")}, "leave out --per-thread"},
		{2, []string{"--report", in("x"), "--html"}, "--report and --html cannot share an output; write --html=FILE"},
		{2, []string{"--report", in("x"), "--svg=" + in("x.svg")}, "both write"},
		{2, []string{"--report", in("x"), "--diff-end", "1ms"}, "--diff does not go with --report"},
		{2, []string{"--report", in("x"), "--buckets", "1ms"}, "folded stacks and nothing else"},
	} {
		got := run(t, nil, append(c.args, file)...)
		if said := string(got.Stderr); got.Status != c.status || !strings.Contains(said, c.says) || strings.Count(said, "\n") != 1 {
			t.Errorf("%q: status %d, want %d; it prints %q, want one line with %q", c.args, got.Status, c.status, said, c.says)
		}
	}
	if left := filesBelow(t, dir); len(left) != 1 {
		t.Errorf("it leaves %d files, want the one that was there", len(left))
	}
}
