package sideband

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/proc"
)

func needPrivilege(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("the side-band of other processes needs root")
	}
}

// opened returns a watcher that has read the existing processes.
func opened(t *testing.T, cfg Config) *Watcher {
	t.Helper()
	needPrivilege(t)
	tracer, err := bpf.Load(bpf.Options{
		RingBytes: 64 << 10, Off: format.GroupSched | format.GroupWakeup | format.GroupTaskLife, Sample: bpf.Sample{Period: time.Second, User: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close() })
	cfg.OnPrograms = tracer.ReportNewPrograms
	w, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.Close()
		w.Files().Close()
	})
	if err := w.Start(true); err != nil {
		t.Fatal(err)
	}
	return w
}

// records returns all records of a watcher so far, ordered by time.
func records(t *testing.T, w *Watcher) []Record {
	t.Helper()
	b := w.Drain(nil)
	w.WaitForFiles()
	return parsed(t, w.Drain(b))
}

// parsed returns drained records ordered by time.
func parsed(t *testing.T, b []byte) []Record {
	t.Helper()
	var all []Record
	for len(b) > 0 {
		var r Record
		n, err := Next(b, &r)
		if err != nil {
			t.Fatal(err)
		}
		all, b = append(all, r), b[n:]
	}
	return sorted(all)
}

// spin is a program of some milliseconds.
const spin = `
#include <time.h>
int main(void)
{
	struct timespec t, end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += 5000000;
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((t.tv_sec - end.tv_sec) * 1000000000L + t.tv_nsec < end.tv_nsec);
	return 0;
}
`

// build compiles a program; without an id, it has none.
func build(t *testing.T, path, source string, flags ...string) {
	t.Helper()
	cmd := exec.Command("gcc", append([]string{"-O1", "-x", "c", "-", "-o", path}, flags...)...)
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v: %s", path, err, out)
	}
}

// copies makes programs out of one: the bytes of the build-id of each are its own. Those before without have none, but
// differ in what follows the program.
func copies(t *testing.T, dir string, n, without int) map[string][]byte {
	t.Helper()
	mark := strings.Repeat("ab", 20)
	build(t, filepath.Join(dir, "with"), spin, "-Wl,--build-id=0x"+mark)
	build(t, filepath.Join(dir, "without"), spin, "-Wl,--build-id=none")
	with, err := os.ReadFile(filepath.Join(dir, "with"))
	if err != nil {
		t.Fatal(err)
	}
	bare, err := os.ReadFile(filepath.Join(dir, "without"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for i := range n {
		name := fmt.Sprintf("copy-%d", i)
		if i < without {
			all[name] = append(bytes.Clone(bare), name...)
			continue
		}
		id := fmt.Appendf(nil, "%020d", i)
		all[name] = bytes.Replace(with, bytes.Repeat([]byte{0xab}, 20), id, 1)
	}
	return all
}

// runGone runs each program and removes it when it has ended.
func runGone(t *testing.T, dir string, programs map[string][]byte) {
	t.Helper()
	for name, content := range programs {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// held checks that the file of each program is open, and is that one. A hypervisor may take the CPU away for longer than
// a program lives, so one in fifty may be missing.
func held(t *testing.T, w *Watcher, programs map[string][]byte) {
	t.Helper()
	tables := NewTables()
	found := map[string]*format.Module{}
	for _, r := range records(t, w) {
		tables.Apply(&r)
		if r.Kind == KindLost {
			t.Errorf("perf lost %d records", r.Count)
		}
		name := filepath.Base(string(r.Path))
		if r.Kind != KindMap || programs[name] == nil {
			continue
		}
		m, offset := tables.Resolve(r.PID, r.Start)
		if m == nil || offset != r.Offset {
			t.Fatalf("%s: the start of its mapping is %v, %#x", name, m, offset)
		}
		found[name] = m
	}
	missing := 0
	for name, content := range programs {
		m := found[name]
		if m == nil {
			t.Errorf("%s was never mapped", name)
			continue
		}
		f, ok := w.Files().Open(m)
		if !ok {
			t.Logf("%s is not held: %+v", name, w.Files().Stats())
			missing++
			continue
		}
		got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: what is held is another file: %d bytes, %v", name, len(got), err)
		}
	}
	if missing > len(programs)/50 {
		t.Errorf("%d of %d files are not held", missing, len(programs))
	}
}

func TestFilesOfShortProgramsAreHeld(t *testing.T) {
	needPrivilege(t)
	dir := t.TempDir()
	programs := copies(t, dir, 110, 10)
	w := opened(t, Config{OnThread: realTime})
	runGone(t, dir, programs)
	held(t, w, programs)
}

func TestFilesOfShortProgramsAreHeldOnABusyMachine(t *testing.T) {
	needPrivilege(t)
	dir := t.TempDir()
	programs := copies(t, dir, 110, 10)
	for range runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		})
	}
	w := opened(t, Config{OnThread: realTime})
	runGone(t, dir, programs)
	held(t, w, programs)
}

func TestFilesOfAnotherMountNamespaceAreHeld(t *testing.T) {
	needPrivilege(t)
	dir, there := t.TempDir(), t.TempDir()
	programs := copies(t, dir, 60, 5)
	for name, content := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w := opened(t, Config{OnThread: realTime})
	script := `mount -t tmpfs none "$1" && for f in "$2"/copy-*; do n=${f##*/}; cp "$f" "$1/$n"; "$1/$n"; rm "$1/$n"; done`
	if out, err := exec.Command("unshare", "-m", "sh", "-c", script, "sh", there, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	held(t, w, programs)
}

// TestTablesMatchProc compares the tables made from records with /proc, for every process that is still alive.
func TestTablesMatchProc(t *testing.T) {
	w := opened(t, Config{})
	dir := t.TempDir()
	build(t, filepath.Join(dir, "lib.so"), "int f(void) { return 1; }", "-shared", "-fPIC")
	build(t, filepath.Join(dir, "main"), `
		#include <dlfcn.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(int argc, char **argv) { dlopen(argv[1], RTLD_NOW); if (fork() == 0) pause(); puts("ready"); fflush(stdout); pause(); }`)
	cmd := exec.Command(filepath.Join(dir, "main"), filepath.Join(dir, "lib.so"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("pkill", "-P", fmt.Sprint(cmd.Process.Pid)).Run()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	child, err := exec.Command("pgrep", "-P", fmt.Sprint(cmd.Process.Pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var childPID uint32
	if _, err := fmt.Sscan(string(child), &childPID); err != nil {
		t.Fatal(err)
	}
	tables := NewTables()
	for _, r := range records(t, w) {
		tables.Apply(&r)
	}
	for _, pid := range []uint32{uint32(cmd.Process.Pid), childPID, uint32(os.Getpid()), uint32(os.Getppid())} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for line := range bytes.Lines(text) {
			var r Record
			if !parseLine(bytes.TrimSpace(line), &r) {
				continue
			}
			seen++
			kind, path := classify(&r)
			m, offset := tables.Resolve(pid, r.Start+r.Length-1)
			if m == nil || m.Kind != uint32(kind) || string(m.Path) != string(path) {
				t.Errorf("process %d: %s is %v", pid, bytes.TrimSpace(line), m)
			} else if kind == format.ModuleKind_MODULE_FILE && offset != r.Offset+r.Length-1 {
				t.Errorf("process %d: the end of %s is at %#x", pid, bytes.TrimSpace(line), offset)
			}
		}
		if seen < 2 {
			t.Errorf("process %d has %d executable mappings", pid, seen)
		}
	}
}

// headless is a program whose first thread ends at once. The other one waits for input, maps and removes the file that the
// argument names, prints a line, and waits.
const headless = `
	#include <fcntl.h>
	#include <pthread.h>
	#include <stdio.h>
	#include <sys/mman.h>
	#include <unistd.h>
	static void *other(void *library)
	{
		getchar();
		mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(library, O_RDONLY), 0);
		unlink(library);
		puts("mapped");
		fflush(stdout);
		pause();
		return 0;
	}
	int main(int argc, char **argv)
	{
		pthread_t t;
		pthread_create(&t, 0, other, argv[1]);
		pthread_exit(0);
	}`

// startHeadless starts the program, and waits until its first thread has ended.
func startHeadless(t *testing.T, program, library string) (pid uint32, in io.Writer, out io.Reader) {
	t.Helper()
	cmd := exec.Command(program, library)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for {
		if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		} else if len(maps) == 0 {
			return uint32(cmd.Process.Pid), in, out
		}
		time.Sleep(time.Millisecond)
	}
}

// TestProcessesWithoutTheirFirstThread: their mappings, files and command lines are read through another thread.
func TestProcessesWithoutTheirFirstThread(t *testing.T) {
	needPrivilege(t)
	dir := t.TempDir()
	program, library := filepath.Join(dir, "main"), filepath.Join(dir, "lib.so")
	build(t, library, "int f(void) { return 1; }", "-shared", "-fPIC")
	build(t, program, headless, "-pthread")
	pid, in, out := startHeadless(t, program, library)
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	w := opened(t, Config{OnThread: realTime})
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	held, command := map[string]bool{}, ""
	tables := NewTables()
	for _, r := range records(t, w) {
		tables.Apply(&r)
		if r.PID != pid {
			continue
		}
		if r.Kind == KindCommand {
			command = string(r.Data)
		}
		if m, _ := tables.Resolve(pid, r.Start); r.Kind == KindMap && m != nil {
			_, held[string(m.Path)] = w.Files().Open(m)
		}
	}
	for _, path := range []string{program, library} {
		if isHeld, isMapped := held[path]; !isHeld {
			t.Errorf("%s is mapped: %v, and held: %v", path, isMapped, isHeld)
		}
	}
	if want := program + "\x00" + library + "\x00"; command != want {
		t.Errorf("its command line is %q, want %q", command, want)
	}
}

func TestGeneratedCodeIsFoundByItsMapFile(t *testing.T) {
	for _, c := range []struct {
		owner, process string
		held           bool
	}{
		{"root", "0, 0", true},
		{"the process's user", "4711, 4711", true},
		{"root, for another's process", "0, 4711", true},
		{"another user", "4711, 4712", false},
	} {
		t.Run(c.owner, func(t *testing.T) { generatesCode(t, c.process, c.held) })
	}
}

// generatesCode runs a program whose map file is one user's and whose effective user is another.
func generatesCode(t *testing.T, users string, held bool) {
	w := opened(t, Config{})
	dir := t.TempDir()
	build(t, filepath.Join(dir, "jit"), `
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(void)
		{
			char path[64];
			snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
			void *a = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			FILE *f = fopen(path, "w");
			fprintf(f, "%lx 40 made up\n", (unsigned long)a);
			int users[] = {`+users+`};
			if (fclose(f) || chown(path, users[0], -1) || setresuid(-1, users[1], -1))
				return 1;
			mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			printf("%d %lx\n", getpid(), (unsigned long)a);
			usleep(1000000);
			return seteuid(0) || unlink(path);
		}`)
	out, drained := lines(t, w, exec.Command(filepath.Join(dir, "jit")))
	var pid uint32
	var address uint64
	if _, err := fmt.Sscanf(out[0], "%d %x", &pid, &address); err != nil {
		t.Fatal(err)
	}
	w.Stop()
	tables := NewTables()
	for _, r := range parsed(t, w.Drain(drained)) {
		tables.Apply(&r)
	}
	m, offset := tables.Resolve(pid, address+8)
	f, ok := w.Files().PerfMap(pid, int64(m.GetGeneration()))
	if ok != held {
		t.Fatalf("its map file is held: %v, want %v", ok, held)
	}
	if !held {
		if m != nil && m.Kind == uint32(format.ModuleKind_MODULE_JIT) {
			t.Errorf("the code of the map that is not held is %v", m)
		}
		return
	}
	if m == nil || m.Kind != uint32(format.ModuleKind_MODULE_JIT) || offset != address+8 || string(m.Path) != perfMapPath(pid) {
		t.Errorf("the generated code is %v, %#x", m, offset)
	}
	if text, _ := io.ReadAll(f); !strings.Contains(string(text), "made up") {
		t.Errorf("the map file says %q", text)
	}
}

func TestLostRecordsAreReported(t *testing.T) {
	w := opened(t, Config{Pages: 1})
	w.Stop() // nobody reads
	records(t, w)
	for range 40 {
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	records(t, w) // makes room
	if err := exec.Command("true").Run(); err != nil {
		t.Fatal(err)
	}
	lost := uint64(0)
	for deadline := time.Now().Add(5 * time.Second); lost == 0 && time.Now().Before(deadline); {
		_ = exec.Command("true").Run()
		for _, r := range records(t, w) {
			if r.Kind == KindLost {
				lost += r.Count
			}
		}
	}
	if lost == 0 {
		t.Error("forty programs in a buffer of a page, and no loss is reported")
	}
}

// TestLostRecordsOfOtherProcessesAreNotReported: where one process alone is recorded, its mappings are complete after a loss; once it has ended
// in such a time, that is not known.
func TestLostRecordsOfOtherProcessesAreNotReported(t *testing.T) {
	if os.Getenv("WPROF_TEST_MAPS") != "" { // the process that is recorded: it maps a file when it gets a line
		_, _ = os.Stdin.Read(make([]byte, 1))
		f, err := os.Open("/bin/true")
		if err == nil {
			_, err = unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
		}
		fmt.Println(err)
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	needPrivilege(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLostRecordsOfOtherProcessesAreNotReported$")
	cmd.Env = append(os.Environ(), "WPROF_TEST_MAPS=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	pid := uint32(cmd.Process.Pid)
	w := opened(t, Config{Pages: 1, Only: []uint32{pid}})
	w.Stop() // nobody reads
	storm := func() {
		for range 40 {
			if err := exec.Command("true").Run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	drained := func() (lost uint64, mapped bool) {
		all := w.Drain(nil) // makes room, so that perf reports the loss with the next record
		for range 5 {
			_ = exec.Command("true").Run()
		}
		all = w.Drain(all)
		w.settleLosses()
		for _, r := range parsed(t, w.Drain(all)) {
			if r.Kind == KindLost {
				lost += r.Count
			}
			mapped = mapped || r.Kind == KindMap && r.PID == pid && filepath.Base(string(r.Path)) == "true"
		}
		return lost, mapped
	}
	storm()
	_, _ = in.Write([]byte("\n"))
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if lost, mapped := drained(); lost > 0 || !mapped {
		t.Errorf("%d records are lost, its mapping is known: %v", lost, mapped)
	}
	storm()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if lost, _ := drained(); lost == 0 {
		t.Error("no loss is reported although the process has ended in it")
	}
	storm()
	if lost, _ := drained(); lost > 0 {
		t.Errorf("%d records are lost when the process has ended long ago", lost)
	}
}

func TestCommandLinesOfLivingProcesses(t *testing.T) {
	needPrivilege(t)
	cmd := exec.Command("sleep", "60", "")
	cmd.Args = []string{"sleep", "60"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	time.Sleep(50 * time.Millisecond)
	for _, r := range records(t, opened(t, Config{})) {
		if r.Kind == KindCommand && r.PID == uint32(cmd.Process.Pid) {
			if string(r.Data) != "sleep\x0060\x00" {
				t.Errorf("its command line is %q", r.Data)
			}
			return
		}
	}
	t.Error("its command line is not reported")
}

func BenchmarkScan(b *testing.B) {
	for b.Loop() {
		w, err := Open(Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Start(true); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(w.Files().Stats().Opened), "files")
		_ = w.Close()
		w.Files().Close()
	}
}

// A CPU that is watched anew, as one that has come back, loses no record from before or after. That its thread is
// in time for the files of programs of 5 ms is not checked here: it starts again and again.
func TestWatchingACPUAnewLosesNothing(t *testing.T) {
	needPrivilege(t)
	dir := t.TempDir()
	programs := copies(t, dir, 60, 0)
	w := opened(t, Config{OnThread: realTime})
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				ended <- nil
				return
			case <-time.After(20 * time.Millisecond):
			}
			if err := w.AddCPU(n % runtime.NumCPU()); err != nil {
				ended <- err
				return
			}
		}
	}()
	runGone(t, dir, programs)
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	mapped := map[string]bool{}
	for _, r := range records(t, w) {
		mapped[filepath.Base(string(r.Path))] = true
	}
	for name := range programs {
		if !mapped[name] {
			t.Errorf("%s was never mapped", name)
		}
	}
	if n := len(w.events()); n != runtime.NumCPU() {
		t.Errorf("%d CPUs are watched, want %d", n, runtime.NumCPU())
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.AddCPU(0); err != nil || len(w.events()) != 0 {
		t.Errorf("a closed watcher watches %d CPUs: %v", len(w.events()), err)
	}
}

// TestTheThreadsOfCPUsSleepOn checks that frequent operations of programs do not wake a thread each time: that would make them
// several times slower.
func TestTheThreadsOfCPUsSleepOn(t *testing.T) {
	needPrivilege(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "busy")
	build(t, program, `
		#include <pthread.h>
		#include <sys/mman.h>
		#include <sys/prctl.h>
		static void *nothing(void *p) { return p; }
		int main(void)
		{
			for (int i = 0; i < 4000; i++) {
				pthread_t t;
				pthread_create(&t, 0, nothing, 0);
				pthread_join(t, 0);
				prctl(PR_SET_NAME, i & 1 ? "a" : "b");
				munmap(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
			}
		}`, "-pthread")
	w := opened(t, Config{OnThread: realTime})
	switches := func() int64 {
		var usage unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
			t.Fatal(err)
		}
		return usage.Nvcsw
	}
	before := switches()
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := switches() - before; n > 2000 {
		t.Errorf("4,000 new threads, names and mappings, and the watcher slept and woke %d times", n)
	}
	mappings := 0
	for _, r := range records(t, w) {
		if r.Kind == KindLost {
			t.Errorf("perf lost %d records", r.Count)
		}
		if r.Kind == KindMap && string(r.Path) == "//anon" {
			mappings++
		}
	}
	if mappings < 4000 {
		t.Errorf("%d of 4,000 mappings are recorded", mappings)
	}
}

// TestFilesThatAreOverwrittenAreNotHeld checks that other contents are not taken for what was mapped, where no build-id
// distinguishes them.
func TestFilesThatAreOverwrittenAreNotHeld(t *testing.T) {
	needPrivilege(t)
	dir := t.TempDir()
	programs := copies(t, dir, 1, 1)
	w := opened(t, Config{OnThread: realTime})
	path := filepath.Join(dir, "copy-0")
	if err := os.WriteFile(path, programs["copy-0"], 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tables := NewTables()
	var m *format.Module
	for _, r := range records(t, w) {
		if tables.Apply(&r); r.Kind == KindMap && string(r.Path) == path {
			m, _ = tables.Resolve(r.PID, r.Start)
		}
	}
	if m == nil {
		t.Fatal("the program was never mapped")
	}
	if _, ok := w.Files().Open(m); !ok {
		t.Fatal("the program is not held")
	}
	if err := os.WriteFile(path, append(programs["copy-0"], "another"...), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Files().Open(m); ok {
		t.Error("a file that was overwritten since is taken for the one that was mapped")
	}
}

// TestFilesThatMayHaveBeenChangedAreNotHeld opens a file that was changed after its mapping and before it could be opened.
func TestFilesThatMayHaveBeenChangedAreNotHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mapped int64
		held   bool
	}{"before": {proc.Monotonic() - int64(time.Minute), false}, "after": {proc.Monotonic(), true}} {
		files := newFiles(1)
		defer files.Close()
		r := Record{Kind: KindMap, Time: c.mapped, PID: 1, Device: 1, Inode: 2, Path: []byte(path)}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if !files.claim(&r) {
			t.Fatal("its file is not to be opened")
		}
		found := files.opened(&r, f, nil)
		if _, held := files.Open(&format.Module{Device: 1, Inode: 2, Generation: generationIn(found)}); held != c.held || len(found) > 0 != c.held {
			t.Errorf("mapped %s its last change: held is %v, and the record has %d bytes", name, held, len(found))
		}
	}
}

// A file that is held can be read through another descriptor, until it has been changed or closed.
func TestHeldFilesAreDuplicated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := newFiles(1)
	r := Record{Kind: KindMap, Time: proc.Monotonic(), PID: 1, Device: 1, Inode: 2, Path: []byte(path)}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	inode := InodeOf(&stat)
	if files.Dup(inode) != nil {
		t.Error("a file that is not held was duplicated")
	}
	files.claim(&r)
	files.opened(&r, f, nil)
	other := files.Dup(inode)
	if other == nil {
		t.Fatal("a file that is held was not duplicated")
	}
	defer other.Close()
	inode.Changed++
	if files.Dup(inode) != nil {
		t.Error("a file that was changed since was duplicated")
	}
	inode.Changed--
	files.Close()
	if files.Dup(inode) != nil {
		t.Error("a file was duplicated after all were closed")
	}
	if text, err := io.ReadAll(other); string(text) != "text" {
		t.Errorf("read %q, %v", text, err)
	}
}

// generationIn is the generation in a KindKept record; 0 without one.
func generationIn(record []byte) uint64 {
	var r Record
	if _, err := Next(record, &r); err != nil {
		return 0
	}
	return r.Offset
}
