//go:build linux

package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
)

// threadIdent is the data of a thread that a filter reads.
type threadIdent struct {
	tid, pid      int32
	flags         int
	comm, process string
}

// wants computes in Go what the programs compute; followed are the descendants.
func (f *Filter) wants(w threadIdent, followed map[int32]bool) bool {
	const kthread = 0x200000
	isIdle := w.tid == 0
	isKthread := w.flags&kthread != 0 && !isIdle
	if f.NoIdle && isIdle || f.NoKthread && isKthread || f.NoSelf && w.pid == int32(os.Getpid()) ||
		slices.Contains(f.NoPIDs, w.pid) || slices.Contains(f.NoTIDs, w.tid) ||
		matchesAny(f.NoNames, w.process) || matchesAny(f.NoThreadNames, w.comm) {
		return false
	}
	if len(f.PIDs) > 0 || f.Idle || f.Kthread {
		if !(slices.Contains(f.PIDs, w.pid) || f.Idle && isIdle || f.Kthread && isKthread || f.Children && len(f.PIDs) > 0 && followed[w.pid]) {
			return false
		}
	}
	if len(f.Names) > 0 && !matchesAny(f.Names, w.process) && !(f.Children && len(f.PIDs) == 0 && followed[w.pid]) {
		return false
	}
	return (len(f.TIDs) == 0 || slices.Contains(f.TIDs, w.tid)) &&
		(len(f.ThreadNames) == 0 || matchesAny(f.ThreadNames, w.comm))
}

// A filtered recording has what a recording of everything has, except what the filter drops.
func TestFiltersKeepWhatTheySelect(t *testing.T) {
	self := me(t)
	child := exec.Command("sh", "-c", "while :; do sleep 0.002; done")
	must(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	shell := int32(child.Process.Pid)
	all := mustLoad(t, Options{})
	for i, f := range []Filter{
		{},
		{PIDs: []int32{self.pid}},
		{PIDs: []int32{self.pid, 1, 99999}},
		{NoPIDs: []int32{self.pid}},
		{PIDs: []int32{shell}, Idle: true},
		{PIDs: []int32{shell}, Children: true},
		{PIDs: []int32{self.pid}, Kthread: true, NoThreadNames: []string{"wp-second"}},
		{Idle: true},
		{Kthread: true},
		{NoIdle: true, NoKthread: true},
		{NoSelf: true},
		{Names: []string{"?" + self.name[1:]}},
		{Names: []string{"sh"}, Children: true},
		{NoNames: []string{"*" + self.name[len(self.name)-4:]}},
		{ThreadNames: []string{"wp-*"}},
		{ThreadNames: []string{"*-f*st", "nothing"}, PIDs: []int32{self.pid}},
		{NoThreadNames: []string{"wp-second", "swapper*"}},
		{ThreadNames: []string{"*"}, Names: []string{"?*"}},
		{Names: manyGlobs(self.name)},
		{PIDs: manyIDs(self.pid)},
		{TIDs: manyIDs(0)},
		{NoTIDs: []int32{self.pid, 0}},
		{TIDs: []int32{0}, Names: []string{self.name}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) { checkFilter(t, all, f) })
	}
}

// checkFilter compares what a filter records with what it keeps of all, which records everything.
func checkFilter(t *testing.T, all *Tracer, f Filter) {
	some := mustLoad(t, Options{Filter: f, SelfPID: os.Getpid()})
	p := newPair(t)
	var begin, end int64
	var before, after map[int]record
	p.play(500, func(play func()) {
		before = readTasks(t, all)
		must(t, all.Arm())
		must(t, some.Arm())
		begin = now()
		play()
		run(t, "true")
		time.Sleep(20 * time.Millisecond)
		end = now()
		must(t, some.Disarm())
		must(t, all.Disarm())
		after = readTasks(t, all)
	})
	known := identities(before, after)
	followed := map[int32]bool{}
	processes, err := some.processes()
	must(t, err)
	for _, p := range descendants(processes, func(p process) bool {
		return slices.Contains(f.PIDs, p.pid) || len(f.PIDs) == 0 && matchesAny(f.Names, p.name)
	}) {
		followed[p.pid] = true
	}
	want := tally(drain(all), begin, end, known, func(w threadIdent) bool { return f.wants(w, followed) })
	got := tally(drain(some), begin, end, known, nil)
	different, total := 0, 0
	for key := range merged(want, got) {
		d := want[key] - got[key]
		if d > 1 || d < -1 {
			t.Errorf("%s: %d records, want %d", key, got[key], want[key])
		}
		if d != 0 {
			different++
		}
		total += want[key]
	}
	if different > 4 {
		t.Errorf("%d pairs of threads differ by a record, want none but at the edges of the window", different)
	}
	t.Logf("%d records", total)
}

// identities returns the threads that had the same name before and after.
func identities(before, after map[int]record) map[int]threadIdent {
	known := map[int]threadIdent{}
	for tid, b := range before {
		a, ok := after[tid]
		if ok && a.identComm() == b.identComm() && a.identLeader() == b.identLeader() {
			known[tid] = threadIdent{int32(tid), int32(a.identPID()), a.identFlags(), a.identComm(), a.identLeader()}
		}
	}
	return known
}

// tally counts switches and wakings by their threads and flags. A filter other than nil decides on the flags anew.
func tally(records []record, begin, end int64, known map[int]threadIdent, wanted func(threadIdent) bool) map[string]int {
	counts := map[string]int{}
	for _, r := range records {
		if k := r.kind(); r.ts() < begin || r.ts() > end || k != ringdata.KindSwitch && k != ringdata.KindWaking {
			continue
		}
		sides := [2]threadIdent{identity(known, r.tid(), r.cpu()), identity(known, r.next(), r.cpu())}
		if sides[0].comm == "" || sides[1].comm == "" {
			continue
		}
		flags := int(r.flags()) & (ringdata.FlagSubject | ringdata.FlagObject)
		if wanted != nil {
			flags = 0
			for i, side := range sides {
				if wanted(side) {
					flags |= 1 << i
				}
			}
		}
		if flags != 0 {
			counts[fmt.Sprintf("kind %d from %v to %v for sides %d", r.kind(), sides[0], sides[1], flags)]++
		}
	}
	return counts
}

func identity(known map[int]threadIdent, tid, cpu int) threadIdent {
	if tid == 0 {
		name := "swapper/" + strconv.Itoa(cpu)
		return threadIdent{comm: name, process: name}
	}
	return known[tid]
}

func merged(a, b map[string]int) map[string]bool {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	return keys
}

func manyGlobs(last string) []string {
	var globs []string
	for i := range filterEntries - 1 {
		globs = append(globs, fmt.Sprintf("no-such-*-%d", i))
	}
	return append(globs, last)
}

func manyIDs(one int32) []int32 {
	ids := []int32{one}
	for i := range int32(filterEntries - 1) {
		ids = append(ids, 5_000_000+i)
	}
	return ids
}

// me returns this process with its current name.
func me(t *testing.T) process {
	t.Helper()
	name, err := os.ReadFile("/proc/self/comm")
	must(t, err)
	return process{pid: int32(os.Getpid()), name: strings.TrimSpace(string(name))}
}

func TestChildrenAreFollowed(t *testing.T) {
	before := me(t).name
	t.Cleanup(func() { must(t, os.WriteFile("/proc/self/comm", []byte(before), 0)) })
	must(t, os.WriteFile("/proc/self/comm", fmt.Appendf(nil, "wp-%d", os.Getpid()), 0)) // others may run this program too
	self := me(t)
	for name, f := range map[string]Filter{
		"of a process": {PIDs: []int32{self.pid}, Children: true},
		"of a name":    {Names: []string{self.name}, Children: true},
	} {
		t.Run(name, func(t *testing.T) {
			records := recording(t, mustLoad(t, Options{Filter: f}), func() { run(t, "sh", "-c", "(sleep 0.01; true) & wait") })
			var execs []string
			for _, r := range records {
				if r.kind() == ringdata.KindExec && r.flags()&ringdata.FlagSubject != 0 {
					execs = append(execs, r.identComm())
				}
			}
			if !slices.Equal(execs, []string{"sh", "sleep"}) {
				t.Errorf("wanted execs of %q, want sh and sleep", execs)
			}
			slept := count(records, func(r record) bool {
				return r.kind() == ringdata.KindSwitch && r.flags()&ringdata.FlagSubject != 0 && r.u32(ringdata.SwitchPrevState)&1 != 0
			})
			if slept == 0 {
				t.Error("no switch of the descendants")
			}
		})
	}
}

// threeThreads waits for a line, then calls exec while two other threads are there.
const threeThreads = `import os, sys, threading, time
for _ in range(2): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
os.execv("/bin/sh", ["sh", "-c", "(sleep 0.5; true) & wait"])`

func TestProcessIsFollowedFromItsExec(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("there is no python3; scripts/test installs it")
	}
	for name, skipped := range map[string]bool{"by the program": false, "when the kernel has skipped the program": true} {
		t.Run(name, func(t *testing.T) {
			child := exec.Command("python3", "-c", threeThreads)
			in, err := child.StdinPipe()
			must(t, err)
			out, err := child.StdoutPipe()
			must(t, err)
			must(t, child.Start())
			_, err = out.Read(make([]byte, 6))
			must(t, err)
			pid := child.Process.Pid
			tracer := mustLoad(t, Options{Follow: true})
			must(t, tracer.FollowFromExec(pid))
			if skipped {
				must(t, tracer.collection.Variables["awaited"].Set(processKey{}))
			}
			records := recording(t, tracer, func() {
				_, err := in.Write([]byte("\n"))
				must(t, err)
				if skipped {
					awaitName(t, pid, "sh")
					must(t, tracer.Executed())
				}
				must(t, child.Wait())
				time.Sleep(200 * time.Millisecond) // the threads that the exec has ended are freed
			})
			must(t, tracer.Executed())
			var wanted []record
			ended, freed := map[int]bool{}, 0
			for _, r := range records {
				if r.flags()&ringdata.FlagSubject != 0 && r.kind() != ringdata.KindTask {
					wanted = append(wanted, r)
				}
				if r.kind() == ringdata.KindExit && r.tid() != pid && len(wanted) == 0 {
					ended[r.tid()] = true
				}
			}
			if !slices.ContainsFunc(wanted, func(r record) bool { return r.kind() == ringdata.KindExit && r.tid() == pid }) {
				t.Fatalf("%d records are wanted, and the exit of the process is not among them", len(wanted))
			}
			for wanted[0].kind() == ringdata.KindWaking { // in an interrupt, after the process is added and before its record
				wanted = wanted[1:]
			}
			if first := wanted[0]; !skipped && (first.tid() != pid || first.kind() != ringdata.KindExec && first.kind() != ringdata.KindArgs) {
				t.Errorf("the first wanted record is of kind %d and of thread %d, want the exec of %d", first.kind(), first.tid(), pid)
			}
			for _, r := range wanted {
				if r.kind() == ringdata.KindFree && ended[r.tid()] {
					freed++
				}
			}
			if !skipped && (freed > 0 || len(ended) < 2) {
				t.Errorf("%d of the %d threads that the exec has ended are wanted when they are freed", freed, len(ended))
			}
		})
	}
}

// awaitName waits until a process has a name.
func awaitName(t *testing.T, pid int, name string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(comm) == name+"\n" {
			return
		}
	}
	t.Fatalf("process %d is not called %s", pid, name)
}

// Processes that fork all the time while they are being added are not missed.
func TestDescendantsThatForkMeanwhileAreFollowed(t *testing.T) {
	script := `f() { if [ $1 -gt 0 ]; then (f $(($1 - 1))); else exec -a wp-leaf sleep 0.3; fi; }; while :; do f 12 & sleep 0.002; done`
	child := exec.Command("bash", "-c", script)
	must(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	for range 5 {
		time.Sleep(100 * time.Millisecond)
		tracer, err := Load(Options{Follow: true, Off: format.GroupSched | format.GroupWakeup})
		must(t, err)
		must(t, tracer.FollowChildrenOf(child.Process.Pid))
		missed := 0
		processes, err := tracer.processes()
		must(t, err)
		followed, err := tracer.followed()
		must(t, err)
		for _, p := range descendants(processes, func(p process) bool { return int(p.pid) == child.Process.Pid }) {
			if !followed[p.key()] {
				if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.pid)); err == nil {
					missed++
				}
			}
		}
		if skipped := skippedRuns(t, tracer, "sched_process_fork"); missed > 12*skipped { // with all below it; docs/kernels.md
			t.Errorf("%d descendants are not followed, and the kernel has skipped %d forks", missed, skipped)
		}
		must(t, tracer.Close())
	}
}

func TestFollowedProcessesAreDropped(t *testing.T) {
	tracer := mustLoad(t, Options{Filter: Filter{PIDs: []int32{int32(os.Getpid())}, Children: true}, Off: format.GroupSched | format.GroupWakeup})
	for range 20 {
		run(t, "true")
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		followed, err := tracer.followed()
		must(t, err)
		if len(followed) == 0 {
			return
		}
	}
	t.Error("processes that are gone are still followed")
}

// A process id may be reused before the kernel reports the end of the process that had it.
func TestFollowedProcessWithAReusedIDStaysFollowed(t *testing.T) {
	tracer := mustLoad(t, Options{Filter: Filter{PIDs: []int32{int32(os.Getpid())}, Children: true}, Off: format.GroupSched | format.GroupWakeup})
	const rounds = 20
	twice := map[int]bool{}
	records := recording(t, tracer, func() {
		for range rounds {
			pid, err := forkAs(0, waitRaw, 0, 0)
			must(t, err)
			kill(t, pid)
			_, err = forkAs(pid, waitRaw, 0, 0)
			if errors.Is(err, unix.EEXIST) { // another process has the id by now
				continue
			}
			must(t, err)
			time.Sleep(50 * time.Millisecond) // the first process is freed
			kill(t, pid)
			twice[pid] = true
		}
	})
	if len(twice) == 0 {
		t.Errorf("none of %d process ids could be used again", rounds)
	}
	wanted, unwanted := 0, 0
	for _, r := range records {
		switch {
		case !r.is(ringdata.KindExit) || !twice[r.tid()]:
		case r.flags()&ringdata.FlagSubject != 0:
			wanted++
		default:
			unwanted++
		}
	}
	if wanted < 2*len(twice) || unwanted > 0 {
		t.Errorf("%d exits of descendants are wanted and %d are not, want %d and none", wanted, unwanted, 2*len(twice))
	}
}

// forkAs makes a process that calls do with a and b until it is killed, with a process id; 0: with any. It has one
// thread, so do must not enter the runtime, not even to grow its stack: it is marked go:nosplit.
func forkAs(pid int, do func(a, b uintptr), a, b uintptr) (int, error) {
	want := int32(pid)
	args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize uint64 }{
		exitSignal: uint64(unix.SIGCHLD),
	}
	if pid != 0 {
		args.setTID, args.setTIDSize = uint64(uintptr(unsafe.Pointer(&want))), 1
	}
	got, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	for errno == 0 && got == 0 {
		do(a, b)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(got), nil
}

//go:nosplit
func waitRaw(_, _ uintptr) { _, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0) }

func kill(t *testing.T, pid int) {
	t.Helper()
	must(t, unix.Kill(pid, unix.SIGKILL))
	_, err := unix.Wait4(pid, nil, 0, nil)
	must(t, err)
}

func TestRenamedThreadIsFilteredAnew(t *testing.T) {
	tracer := mustLoad(t, Options{Filter: Filter{ThreadNames: []string{"wp-wanted"}}})
	var tid int
	var begin, end int64
	records := recording(t, tracer, func() {
		tid = onThread(func() {
			for _, name := range []string{"wp-no", "wp-wanted", "wp-not"} {
				if name == "wp-wanted" {
					begin = now() // it may leave its CPU on either side of the renaming
				}
				setName(name)
				if name == "wp-not" {
					end = now()
				}
				for range 50 {
					_ = unix.Nanosleep(&unix.Timespec{Nsec: 100_000}, nil)
				}
			}
		})
	})
	inside, outside := 0, 0
	for _, r := range records {
		if r.kind() != ringdata.KindSwitch || r.tid() != tid || r.flags()&ringdata.FlagSubject == 0 {
			continue
		}
		if r.ts() > begin && r.ts() < end {
			inside++
		} else {
			outside++
		}
	}
	if inside == 0 || outside > 0 {
		t.Errorf("%d switches under the wanted name, %d under others", inside, outside)
	}
}

func TestFiltersThatAreTooLongAreRefused(t *testing.T) {
	for text, f := range map[string]Filter{
		"65 given": {PIDs: append(manyIDs(1), 2)},
		"32 bytes": {Names: []string{strings.Repeat("a", 33)}},
		"no name":  {ThreadNames: []string{""}},
		"up to 64": {NoNames: append(manyGlobs("a"), "b")},
	} {
		if _, err := Load(Options{Filter: f}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("Load(%.50v): %v, want an error with %q", f, err, text)
		}
	}
}
