package sideband

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/jitdump"
	"wprof/internal/proc"
)

// generator is a program that maps code, writes a map file that names its argument, waits, and then continues as its second
// argument says.
const generator = `
	#include <stdio.h>
	#include <string.h>
	#include <pthread.h>
	#include <sys/mman.h>
	#include <sys/syscall.h>
	#include <unistd.h>
	static char path[64];
	static void *remove_late(void *p)
	{
		FILE *f;
		usleep(300000);
		f = fopen(path, "a");
		fprintf(f, "%lx 40 late\n", (long)p + 64);
		fclose(f);
		usleep(1500000);
		unlink(path);
		_exit(0);
	}
	int main(int argc, char **argv)
	{
		char *a = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		FILE *f;
		pthread_t t;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		f = fopen(path, "w");
		fprintf(f, "%lx 40 made by %s\n", (long)a, argv[1]);
		fclose(f);
		printf("%d %lx\n", getpid(), (long)a);
		fflush(stdout);
		usleep(400000);
		if (!strcmp(argv[2], "exec"))
			execl(argv[0], argv[0], "second", "end", NULL);
		if (!strcmp(argv[2], "rewrite")) {
			f = fopen(path, "w");
			fprintf(f, "%lx 40 something else\n", (long)a);
			fclose(f);
			usleep(200000);
		}
		if (!strcmp(argv[2], "sparse")) {
			truncate(path, 1 << 30);
			f = fopen(path, "a");
			fprintf(f, "%lx 40 behind a hole\n", (long)a + 64);
			fclose(f);
			usleep(1500000);
		}
		if (!strcmp(argv[2], "append")) {
			f = fopen(path, "a");
			fprintf(f, "%lx 40 just before the end\n", (long)a + 64);
			fclose(f);
		}
		if (!strcmp(argv[2], "leader")) {
			pthread_create(&t, 0, remove_late, a);
			syscall(SYS_exit, 0);
		}
		return unlink(path);
	}`

// TestMapFilesAreCopiedInTime: names of generated code outlive the map file, the program that wrote it, and the process's
// first thread, and are those of their own program.
func TestMapFilesAreCopiedInTime(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "generator")
	build(t, program, generator, "-pthread")
	for _, c := range []struct{ then, want, not string }{
		{"end", "made by first\n", ""},
		{"exec", "made by first\n", "second"},
		{"rewrite", "made by first\n", "something else"},
		{"sparse", "behind a hole\n", ""},
		{"leader", "late\n", ""},
		{"append", "just before the end\n", ""},
	} {
		t.Run(c.then, func(t *testing.T) {
			w := opened(t, Config{OnThread: realTime})
			out, kept := lines(t, w, exec.Command(program, "first", c.then))
			w.Stop()
			tables := NewTables()
			var first string
			for _, r := range parsed(t, w.Drain(kept)) {
				if r.Kind == KindJIT && r.PID == pidOf(t, out[0]) && first == "" {
					first = copiedMap(t, w, r.PID, r.Time)
				}
				tables.Apply(&r)
			}
			if !strings.Contains(first, c.want) || c.not != "" && strings.Contains(first, c.not) {
				t.Errorf("the names are %q", first)
			}
			if len(first) > 4096+256 {
				t.Errorf("%d bytes are kept", len(first))
			}
			if c.then != "exec" {
				return
			}
			var pid uint32
			var address uint64
			fmt.Sscanf(out[1], "%d %x", &pid, &address)
			m, _ := tables.Resolve(pid, address)
			if m == nil || m.Kind != uint32(format.ModuleKind_MODULE_JIT) {
				t.Fatalf("the code of the second program is %v", m)
			}
			if text := copiedMap(t, w, pid, int64(m.Generation)); !strings.Contains(text, "made by second\n") || strings.Contains(text, "first") {
				t.Errorf("the names of the second program are %q", text)
			}
		})
	}
}

// lines runs a command while the watcher is drained, and returns what it prints, and the records.
func lines(t *testing.T, w *Watcher, cmd *exec.Cmd) (printed []string, drained []byte) {
	t.Helper()
	type result struct {
		out []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := cmd.Output()
		done <- result{out, err}
	}()
	for {
		select {
		case r := <-done:
			if r.err != nil {
				t.Fatal(r.err)
			}
			return strings.Split(strings.TrimSpace(string(r.out)), "\n"), drained
		case <-time.After(20 * time.Millisecond):
			drained = w.Drain(drained)
		}
	}
}

func pidOf(t *testing.T, line string) (pid uint32) {
	t.Helper()
	if _, err := fmt.Sscanf(line, "%d", &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func copiedMap(t *testing.T, w *Watcher, pid uint32, since int64) string {
	t.Helper()
	f, ok := w.Files().PerfMap(pid, since)
	if !ok {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMapFilesOfAnEarlierProcess: a map file left by a process of the same id is not taken for that of the next one.
func TestMapFilesOfAnEarlierProcess(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("1000 40 earlier\n"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		written, began int64
		earlier        string
		want           error
	}{
		{written: 1e9, began: 2e9, want: errNoMap},
		{written: 2e9 - 4e6, began: 2e9},
		{written: 2e9 - 4e6, began: 2e9, earlier: "1000 40 earlier\n", want: errNoMap},
		{written: 2e9 - 4e6, began: 2e9, earlier: "2000 40 earlier\n"},
		{written: 2e9, began: 2e9, earlier: "1000 40 earlier\n"},
	} {
		s := &mapSource{began: c.began}
		if c.earlier != "" {
			s.earlier = []byte(c.earlier)
		}
		if err := s.checkNew(f, c.written); err != c.want {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

// TestMapFilesOfOneUserLeaveRoom: with any size of one user's files, those of others are copied.
func TestMapFilesOfOneUserLeaveRoom(t *testing.T) {
	s := newMapStore()
	defer s.close()
	text := make([]byte, maxMapRead)
	refused := 0
	for i := range maxMapsBytes / maxMapRead {
		if s.add(mapKey{pid: uint32(1 + i%30)}, 1000, text, 0) != nil {
			refused++
		}
	}
	if refused == 0 || s.all.bytes > maxMapsBytes/2 {
		t.Errorf("one user's files take %d bytes, %d parts are refused", s.all.bytes, refused)
	}
	if err := s.add(mapKey{pid: 77}, 1001, text, 0); err != nil {
		t.Errorf("another user's: %v", err)
	}
	if n := s.cut(); n != 30 {
		t.Errorf("%d files are cut, want 30", n)
	}
	s.add(mapKey{pid: 78}, 1001, []byte("before\n"), 100)
	s.add(mapKey{pid: 78}, 1001, []byte("after\n"), 300)
	s.dropAfter(mapKey{pid: 78}, 200)
	r, ok := s.read(mapKey{pid: 78})
	if !ok {
		t.Fatal("it has no copy")
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "before\n" {
		t.Errorf("it has %q, %v", got, err)
	}
}

// TestMapFilesBeyondTheBoundAreCounted: map files that are not copied at all are reported as well.
func TestMapFilesBeyondTheBoundAreCounted(t *testing.T) {
	s := newMapStore()
	defer s.close()
	for pid := range uint32(maxMaps + 3) {
		err := s.add(mapKey{pid: pid}, 1000, []byte("1000 40 f\n"), 0)
		if isOver := pid >= maxMaps; isOver != errors.Is(err, errMapRoom) {
			t.Fatalf("file %d: %v", pid, err)
		}
	}
	if n := s.cut(); n != 3 {
		t.Errorf("%d files are cut, want 3", n)
	}
}

func TestProgramsBeyondTheBoundAreCounted(t *testing.T) {
	m := newMapFinder(newFiles(1), func([]byte) {}, nil)
	m.running = true // no thread looks for files
	mapped := func(pid int) { m.mapped(&Record{PID: uint32(pid), Time: 1}, origin{}) }
	for pid := range maxPending + 3 {
		mapped(pid + 1)
	}
	mapped(maxPending + 1) // again
	if n := m.ignoredPrograms(); n != 3 {
		t.Errorf("%d programs are ignored, want 3", n)
	}
	m.programBegan(1, origin{began: 2})
	mapped(maxPending + 1)
	if n := m.ignoredPrograms(); n != 2 {
		t.Errorf("%d programs are ignored when there is room for one, want 2", n)
	}
}

// TestLargeDumpsDoNotDelayMapFiles: what is read of both counts.
func TestLargeDumpsDoNotDelayMapFiles(t *testing.T) {
	dump := make([]byte, 1000)
	binary.LittleEndian.PutUint32(dump, 0x4A695444)
	binary.LittleEndian.PutUint32(dump[4:], 1)
	binary.LittleEndian.PutUint32(dump[8:], 1000)
	reader, err := jitdump.NewReader(bytes.NewReader(dump), int64(len(dump)))
	if err != nil {
		t.Fatal(err)
	}
	m := newMapFinder(newFiles(1), func([]byte) {}, nil)
	m.running = true // no thread looks for files
	for pid := range uint32(20) {
		m.mapped(&Record{PID: pid + 1, Time: 1}, origin{})
		m.programs[pid+1].dump = &dumpSource{reader: reader}
	}
	m.programs[7].source.end, m.programs[7].dump = 999, nil
	if p, _, _ := m.due(); p != m.programs[7] {
		t.Error("a program whose dump was read further is read next")
	}
}

// TestMapFilesThatWereNotReadInTimeAreCounted: at the end of a recording nothing is left out silently.
func TestMapFilesThatWereNotReadInTimeAreCounted(t *testing.T) {
	store := newMapStore()
	m := newMapFinder(&Files{maps: store}, func([]byte) {}, nil)
	m.running = true // no thread looks for files
	for pid := range uint32(3) {
		m.mapped(&Record{PID: pid + 1, Time: 1}, origin{})
	}
	if err := store.add(mapKey{1, 1}, 0, []byte("1000 10 part\n"), 2); err != nil {
		t.Fatal(err)
	}
	m.programs[2].ended = true
	m.finish(time.Now())
	if n := store.cut(); n != 2 {
		t.Errorf("%d map files are counted as incomplete, want 2: one that was read in part, and one that was not read", n)
	}
}

// TestMapFilesOfProcessesThatAreNotRecordedAreNotRead: and those of one that is chosen later have all their names.
func TestMapFilesOfProcessesThatAreNotRecordedAreNotRead(t *testing.T) {
	program := filepath.Join(t.TempDir(), "generator")
	build(t, program, generator, "-pthread")
	for _, c := range []struct {
		name   string
		reads  int64 // at which the process is chosen
		copied bool
	}{{"never", 1 << 60, false}, {"at once", 1, true}, {"later", 3, true}} {
		t.Run(c.name, func(t *testing.T) {
			var pid, reads atomic.Int64
			w := opened(t, Config{OnThread: realTime, MayRecord: func(of uint32) bool {
				return int64(of) == pid.Load() && reads.Add(1) >= c.reads
			}})
			cmd := exec.Command(program, "one", "end")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid.Store(int64(cmd.Process.Pid))
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			w.Stop()
			copied := false
			for _, r := range parsed(t, w.Drain(nil)) {
				copied = copied || r.Kind == KindJIT && r.PID == uint32(cmd.Process.Pid) && copiedMap(t, w, r.PID, r.Time) != ""
			}
			if reads.Load() == 0 || copied != c.copied {
				t.Errorf("copied: %v, after %d reads", copied, reads.Load())
			}
			if n := w.Files().Stats().MapsCut; n != 0 {
				t.Errorf("%d map files are reported as incomplete", n)
			}
		})
	}
}

// TestForgottenMapFilesLeaveRoom: the bounds are on what may still be needed, and one that is being read is not disturbed.
func TestForgottenMapFilesLeaveRoom(t *testing.T) {
	s := newMapStore()
	defer s.close()
	random := rand.NewChaCha8([32]byte{})
	texts := make(map[mapKey][]byte)
	add := func(key mapKey, user uint32) error {
		text := make([]byte, maxMapRead)
		_, _ = random.Read(text)
		err := s.add(key, user, text, 0)
		if err == nil {
			texts[key] = append(texts[key], text...)
		}
		return err
	}
	check := func(key mapKey, r io.ReadCloser) {
		t.Helper()
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, texts[key]) {
			t.Errorf("%v has %d bytes, %v, want %d", key, len(got), err, len(texts[key]))
		}
		_ = r.Close()
	}
	last := mapKey{}
	for round := range 5 {
		var keys []mapKey
		for refused := false; !refused; {
			key := mapKey{uint32(1 + len(keys)), int64(round)}
			refused = add(key, uint32(round%3)) != nil
			keys = append(keys, key)
		}
		if len(keys) < maxMapsStored/maxMapRead/2 {
			t.Fatalf("round %d: only %d pieces had room", round, len(keys))
		}
		reading, ok := s.read(keys[0])
		if !ok {
			t.Fatal("it has no copy")
		}
		s.forget(append(keys[1:], last))
		check(keys[0], reading)
		if again, ok := s.read(keys[0]); !ok {
			t.Error("it has no copy after the others were forgotten")
		} else {
			check(keys[0], again)
		}
		last = keys[0]
		if s.end > 3*compactAbove {
			t.Errorf("round %d: the memory has %d bytes, of which %d are needed", round, s.end, s.all.stored)
		}
	}
	s.forget([]mapKey{last})
	if len(s.copies)+len(s.users) > 0 || s.all != (usage{}) {
		t.Errorf("%d copies of %d users are left, which take %v", len(s.copies), len(s.users), s.all)
	}
}

// TestFunctionsOfEndedProgramsLeaveRoom: those of dumps count until nobody needs them any more, also those that are read last.
func TestFunctionsOfEndedProgramsLeaveRoom(t *testing.T) {
	fs := newFiles(1)
	m := newMapFinder(fs, func([]byte) {}, nil)
	m.running = true // no thread looks for files
	began := proc.Monotonic()
	for pid := range uint32(3) {
		m.mapped(&Record{PID: pid + 1, Time: 1}, origin{})
		m.programs[pid+1].dump = &dumpSource{count: 100}
		fs.codes.take(100)
	}
	m.programs[1].ended = true
	m.exited(1)
	busy := m.programs[2]
	busy.busy = true
	m.programBegan(2, origin{began: 2})
	fs.codes.take(50) // the reading thread has found more
	busy.dump.count += 50
	fs.ForgetCode(nil, began)
	if n := fs.codes.taken(); n != 350 {
		t.Errorf("%d functions are counted, want 350: none has ended so long ago", n)
	}
	fs.ForgetCode(nil, proc.Monotonic()+1)
	if n := fs.codes.taken(); n != 250 {
		t.Errorf("%d functions are counted, want 250: one is still being read", n)
	}
	m.readOne(busy, nil)
	fs.ForgetCode(nil, proc.Monotonic()+1)
	if n := fs.codes.taken(); n != 100 {
		t.Errorf("%d functions are counted, want 100: one program runs", n)
	}
}
