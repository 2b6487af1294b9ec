//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// buildLibrary makes a library without a build-id. Those of two functions whose names are equally long differ in these alone.
func buildLibrary(t *testing.T, dir, function string) (path string) {
	t.Helper()
	source, path := filepath.Join(dir, function+".c"), filepath.Join(dir, function+".so")
	text := `#include <time.h>
__attribute__((noinline)) static void ` + function + `(void) {
	struct timespec from, now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	do {
		for (int i = 0; i < 300000; i++) __asm__ volatile("");
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 400000000L);
}
void work(void) { ` + function + `(); __asm__ volatile(""); }
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-nostartfiles", "-Wl,--build-id=none", "-o", path, source)
	return path
}

func compile(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v: %s", args, err, out)
	}
}

// startUser starts a program that works in a library once for each line that it reads.
func startUser(t *testing.T, dir, name, library string) *tools.Workload {
	t.Helper()
	source, program := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
	text := "#include <stdio.h>\nvoid work(void);\nint main(void) { puts(\"ready\"); fflush(stdout); while (getchar() > 0) { work(); puts(\"done\"); fflush(stdout); } }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, "-O1", "-Wl,-z,now", "-o", program, source, library)
	w := tools.StartWorkload(t, exec.Command(program))
	w.Until("ready")
	return w
}

func workOnce(w *tools.Workload) {
	w.Send("x")
	w.Until("done")
	w.WaitAsleep()
}

// namesIn counts the names of frames in a library, by program.
func namesIn(t *testing.T, capture, library string) map[string]map[string]int {
	t.Helper()
	names := map[string]map[string]int{}
	eachSampleOf(t, capture, func(r *format.Reader, e *format.Event) {
		stack, task := r.Stack(e.Sample().Stack()), r.Task(e.Task)
		if stack == nil || task == nil {
			return
		}
		for _, id := range stack.Frames {
			frame := r.Frame(id)
			if string(r.Module(frame.Module).GetPath()) != library {
				continue
			}
			name := ""
			if len(frame.Lines) > 0 {
				name = string(frame.Lines[0].Function)
			}
			comm := string(task.Comm)
			if names[comm] == nil {
				names[comm] = map[string]int{}
			}
			names[comm][name]++
		}
	})
	return names
}

// TestOverwrittenLibrariesNameNothingElse overwrites a library without a build-id in place, after one program has used it
// and before another one does. The first has no names then, or those of the old library.
func TestOverwrittenLibrariesNameNothingElse(t *testing.T) {
	tools.NeedPrivilege(t)
	for name, killed := range map[string]bool{"finished": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			library := filepath.Join(dir, "shared.so")
			before, after := buildLibrary(t, dir, "old_function"), buildLibrary(t, dir, "new_function")
			if err := copyFile(before, library); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(dir, "x.wprof")
			recorder := tools.Start(t, "-Stimer=997hz", "-d120s", "-o", out)
			workOnce(startUser(t, dir, "first", library))
			time.Sleep(time.Second) // the recorder checks a file that it has once a second
			if err := copyFile(after, library); err != nil {
				t.Fatal(err)
			}
			workOnce(startUser(t, dir, "second", library))
			if killed {
				out = killedAndFinished(t, recorder, out)
			} else if status := recorder.Stop(); status != 0 {
				t.Fatalf("wprof-record: status %d: %s", status, recorder.Stderr.String())
			}
			again := filepath.Join(dir, "again.wprof")
			tools.Run(t, "wprof-symbolize", "--again", "-o", again, out)
			for _, capture := range []string{out, again} {
				checkLibraryNames(t, namesIn(t, capture, library))
			}
		})
	}
}

func killedAndFinished(t *testing.T, recorder *tools.Recorder, out string) (finished string) {
	t.Helper()
	time.Sleep(time.Second) // for what was recorded to reach the spool
	_ = recorder.Cmd.Process.Kill()
	recorder.Wait()
	finished = out + ".finished"
	const cutOff = 4
	said, err := exec.Command(tools.Path("wprof-symbolize"), "-o", finished, out+".part").CombinedOutput()
	if status := new(exec.ExitError); !errors.As(err, &status) || status.ExitCode() != cutOff {
		t.Fatalf("wprof-symbolize: %v, want status %d: %s", err, cutOff, said)
	}
	return finished
}

func checkLibraryNames(t *testing.T, names map[string]map[string]int) {
	t.Helper()
	for program, function := range map[string]string{"first": "old_function", "second": "new_function"} {
		samples := 0
		for name, n := range names[program] {
			samples += n
			if name != "" && name != "work" && name != function && name != "clock_gettime@plt" {
				t.Errorf("%d frames of the %s program are called %s, which is not in the file that it ran", n, program, name)
			}
		}
		named := names[program][function]
		if samples < 100 || program == "second" && named < samples/3 {
			t.Errorf("of %d frames of the %s program %d are called %s", samples, program, named, function)
		}
	}
}
