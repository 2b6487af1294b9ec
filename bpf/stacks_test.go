//go:build linux

package bpf

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/format"
	"wprof/internal/ringdata"
)

// ARGS_SHORT and ARGS_LONG.
const (
	argsShort = 256
	argsLong  = 4096
)

func (r record) stackID() uint64    { return uint64(r.u64(ringdata.StackID)) }
func (r record) stackPID() int      { return r.u32(ringdata.StackPID) }
func (r record) frames() int        { return r.u32(ringdata.StackCount) & 0xffff }
func (r record) addr(i int) uint64  { return uint64(r.u64(32 + 8*i)) }
func (r record) userID() uint64     { return uint64(r.u64(ringdata.SampleUser)) }
func (r record) kernelID() uint64   { return uint64(r.u64(ringdata.SampleKernel)) }
func (r record) samplePID() int     { return r.u32(ringdata.SamplePID) }
func (r record) addresses() string  { return string(r.bytes[ringdata.StackAddrs:]) }
func (r record) is(kind uint8) bool { return r.kind() == kind }
func (r record) isOwnStack() bool   { return r.is(ringdata.KindStack) && r.stackPID() == os.Getpid() }

// checkStacks checks every stack and every sample of a recording against the rules in records.h, and returns the stacks.
func checkStacks(t *testing.T, records []record) (stacks map[uint64]record, samples int) {
	t.Helper()
	stacks = map[uint64]record{}
	for _, r := range records {
		switch r.kind() {
		case ringdata.KindStack:
			if first, ok := stacks[r.stackID()]; ok {
				if first.stackPID() != r.stackPID() || first.addresses() != r.addresses() {
					t.Errorf("stack %#x is written as two different ones", r.stackID())
				}
				continue
			}
			checkStack(t, r)
			stacks[r.stackID()] = r
		case ringdata.KindSample:
			samples++
			if r.tid() == 0 || r.u32(ringdata.SampleSource) != 1 || r.flags()&ringdata.FlagSubject == 0 || len(r.bytes) != ringdata.SampleSize {
				t.Errorf("a sample of thread %d, source %d, flags %#x", r.tid(), r.u32(ringdata.SampleSource), r.flags())
			}
			for i, id := range []uint64{r.userID(), r.kernelID()} {
				s, ok := stacks[id]
				switch {
				case id == 0:
				case !ok:
					t.Errorf("a sample of thread %d names stack %#x, which is not there before it", r.tid(), id)
				case i == 0 && s.stackPID() != r.samplePID(), i == 1 && s.stackPID() != 0:
					t.Errorf("a sample of process %d names as its stack %d one of process %d", r.samplePID(), i, s.stackPID())
				}
			}
		}
	}
	return stacks, samples
}

func checkStack(t *testing.T, r record) {
	t.Helper()
	n := r.frames()
	if n < 1 || n > stackFrames || len(r.bytes) != 32+8*n || r.stackID() == 0 || r.flags()&ringdata.FlagCut != 0 != (n == stackFrames) {
		t.Errorf("stack %#x has %d frames, %d bytes and flags %#x", r.stackID(), n, len(r.bytes), r.flags())
		return
	}
	for i := range n {
		if a := r.addr(i); r.stackPID() == 0 && a>>63 != 1 || r.stackPID() != 0 && (a == 0 || a > 1<<56) {
			t.Errorf("frame %d of %d of a stack of process %d is %#x", i, n, r.stackPID(), a)
		}
	}
}

// While programs of every kind interrupt each other, every stack is complete, and each generation has the stacks that it uses.
func TestStacksAreWholeAndWrittenInEachGeneration(t *testing.T) {
	for name, rings := range map[string]int{"a ring a CPU": 0, "one ring": 1} {
		t.Run(name, func(t *testing.T) {
			both := Stacks{Kernel: true, User: true}
			tracer := mustLoad(t, Options{
				Rings: rings, RingBytes: 32 << 20, Sample: Sample{Period: 100 * time.Microsecond, Kernel: true, User: true}, OffCPU: OffCPU{Stacks: both}, Waker: both,
			})
			bumps := []bump{{}}
			records := recording(t, tracer, func() {
				stop := make(chan struct{})
				go func() {
					defer close(stop)
					for g := range uint32(10) {
						time.Sleep(100 * time.Millisecond)
						b := bump{before: now()}
						must(t, tracer.SetGeneration(g+1))
						tracer.AwaitPrograms()
						b.after = now()
						bumps = append(bumps, b)
					}
				}()
				for playing := true; playing; {
					newPair(t).play(2000, func(play func()) { play() })
					run(t, "sh", "-c", "for i in 1 2 3 4 5; do (true); done; /bin/true")
					select {
					case <-stop:
						playing = false
					default:
					}
				}
			})
			stacks, samples := checkStacks(t, records)
			again := checkGenerations(t, records, bumps)
			user, kernel := 0, 0
			for _, s := range stacks {
				if s.stackPID() == 0 {
					kernel++
				} else {
					user++
				}
			}
			t.Logf("%d samples, %d user and %d kernel stacks, %d written again", samples, user, kernel, again)
			if samples < 1000 || user < 50 || kernel < 50 || again < 50 {
				t.Errorf("%d samples, %d user and %d kernel stacks, %d written again: the test does not test", samples, user, kernel, again)
			}
		})
	}
}

// bump holds the bounds of the time at which a generation began.
type bump struct{ before, after int64 }

// checkGenerations returns how many stacks were written that an earlier generation had written already.
func checkGenerations(t *testing.T, records []record, bumps []bump) (again int) {
	t.Helper()
	last := map[uint64]int64{}
	generation := 0
	for _, r := range records {
		for generation+1 < len(bumps) && r.ts() >= bumps[generation+1].before {
			generation++
		}
		switch {
		case r.is(ringdata.KindStack):
			if at, ok := last[r.stackID()]; ok && at < bumps[generation].before {
				again++
			}
			last[r.stackID()] = r.ts()
		case (r.is(ringdata.KindSample) || r.is(ringdata.KindReturn)) && r.ts() > bumps[generation].after:
			for _, id := range []uint64{r.userID(), r.kernelID()} { // at the same places in both
				if id != 0 && last[id] < bumps[generation].before {
					t.Fatalf("generation %d names stack %#x and does not have it", generation, id)
				}
			}
		}
	}
	return again
}

//go:noinline
func innermost(d time.Duration) (n int) {
	for end := now() + int64(d); now() < end; {
		for i := range 1_000_000 {
			n += i ^ n
		}
	}
	return n
}

//go:noinline
func outermost(d time.Duration) int { return innermost(d) + 1 }

//go:noinline
func recurse(depth int, d time.Duration) int {
	if depth == 0 {
		return outermost(d)
	}
	return recurse(depth-1, d) + 1
}

func functions(r record) []string {
	var names []string
	for i := range r.frames() {
		if f := runtime.FuncForPC(uintptr(r.addr(i))); f != nil {
			names = append(names, f.Name()[strings.LastIndexByte(f.Name(), '.')+1:])
		}
	}
	return names
}

func TestStacksBeginWithTheInnermostFrame(t *testing.T) {
	tracer := mustLoad(t, Options{Sample: Sample{Period: time.Millisecond, User: true}})
	records := recording(t, tracer, func() { onThread(func() { outermost(300 * time.Millisecond) }) })
	stacks, _ := checkStacks(t, records)
	right := 0
	for _, s := range stacks {
		names := functions(s)
		if s.stackPID() != os.Getpid() || !slices.Contains(names, "innermost") {
			continue
		}
		in, out := slices.Index(names, "innermost"), slices.Index(names, "outermost")
		if out != in+1 || s.flags()&ringdata.FlagCut != 0 {
			t.Errorf("a stack is %v", names)
		}
		right++
	}
	if right == 0 {
		t.Error("the thread was not seen")
	}
}

func TestDeepStacksAreCut(t *testing.T) {
	for _, c := range []struct {
		name       string
		tables     bool
		depth, max int
	}{{"by the kernel", false, 300, stackFrames}, {"by tables", true, 600, tableFrames}} {
		t.Run(c.name, func(t *testing.T) {
			if c.tables && runtime.GOARCH != "amd64" {
				t.Skip("tables are of x86-64")
			}
			tracer := mustLoad(t, Options{Sample: Sample{Period: time.Millisecond, User: true}, Unwind: Unwinding{Tables: c.tables}})
			records := recording(t, tracer, func() { onThread(func() { recurse(c.depth, 200*time.Millisecond) }) })
			if count(records, func(r record) bool { return r.isOwnStack() && r.frames() == c.max && r.flags()&ringdata.FlagCut != 0 }) == 0 {
				t.Errorf("no stack of %d frames is cut", c.max)
			}
		})
	}
}

// Equal addresses are different code in another process, and after an exec.
func TestUserStacksBelongToOneProgramInOneProcess(t *testing.T) {
	if again := os.Getenv("WPROF_TEST_SPIN"); again != "" {
		outermost(200 * time.Millisecond)
		if n, _ := strconv.Atoi(again); n > 1 {
			must(t, os.Setenv("WPROF_TEST_SPIN", strconv.Itoa(n-1)))
			must(t, unix.Exec("/proc/self/exe", os.Args, os.Environ()))
		}
		return
	}
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Sample: Sample{Period: time.Millisecond, User: true}})
	var pids []int
	records := recording(t, tracer, func() {
		for range 2 {
			c := exec.Command("/proc/self/exe", "-test.run", t.Name())
			c.Env = append(os.Environ(), "WPROF_TEST_SPIN=2")
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			pids = append(pids, c.Process.Pid)
		}
	})
	checkStacks(t, records)
	type program struct{ pid, exec int }
	execs := map[int]int{}
	stackIDs := map[string]map[program]uint64{} // addresses to ids
	programOf := map[uint64]program{}
	for _, r := range records {
		switch {
		case r.is(ringdata.KindExec):
			execs[r.tid()]++
		// Before its exec a child has its parent's stack.
		case r.is(ringdata.KindStack) && slices.Contains(pids, r.stackPID()) && execs[r.stackPID()] > 0:
			p := program{r.stackPID(), execs[r.stackPID()]}
			if stackIDs[r.addresses()] == nil {
				stackIDs[r.addresses()] = map[program]uint64{}
			}
			stackIDs[r.addresses()][p] = r.stackID()
			programOf[r.stackID()] = p
		}
	}
	shared := 0
	for _, ids := range stackIDs {
		if len(ids) == 4 {
			shared++
		}
		distinct := map[uint64]bool{}
		for _, id := range ids {
			distinct[id] = true
		}
		if len(distinct) != len(ids) {
			t.Errorf("%d programs share %d ids", len(ids), len(distinct))
		}
	}
	if shared == 0 {
		t.Errorf("of %d stacks none was seen in all of 2 programs of 2 processes", len(stackIDs))
	}
}

// Stacks that do not fit are counted, and no sample refers to a stack that is missing.
func TestLostStacksAreCountedAndNotNamed(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Rings: 1, RingBytes: os.Getpagesize(), Sample: Sample{Period: 100 * time.Microsecond, Kernel: true, User: true}})
	var records []record
	must(t, tracer.Arm())
	lacking := func(records []record) (samples int) {
		for _, r := range records {
			if !r.is(ringdata.KindSample) || r.flags()&ringdata.FlagCut == 0 {
				continue
			}
			samples++
			if r.userID() != 0 && r.kernelID() != 0 {
				t.Error("a sample has both stacks and says that one is lost")
			}
		}
		return samples
	}
	without := 0
	onThread(func() {
		// Only occasionally the remaining room fits the sample and not its stack.
		for i := 0; i < 100 || without < 3 && i < 4000; i++ {
			for end := time.Now().Add(3 * time.Millisecond); time.Now().Before(end); {
				recurse(rand.IntN(100), 50*time.Microsecond)
			}
			some := drain(tracer)
			without += lacking(some)
			records = append(records, some...)
		}
	})
	must(t, tracer.Disarm())
	last := drain(tracer)
	without += lacking(last)
	records = append(records, last...)
	slices.SortStableFunc(records, func(a, b record) int { return int(a.ts() - b.ts()) })
	checkStacks(t, records)
	lost := 0
	for _, r := range records {
		if r.is(ringdata.KindLost) {
			lost += r.u32(24 + 4*LostDefinition)
		}
	}
	if lost < without || without == 0 {
		t.Errorf("%d stacks are reported as lost, %d samples lack one", lost, without)
	}
}

func TestRefusedNestingIsCounted(t *testing.T) {
	tracer := mustLoad(t, Options{Off: format.GroupSched | format.GroupWakeup, Sample: Sample{Period: time.Millisecond, Kernel: true}})
	take := func(levels int, taken uint64) {
		buffers := tracer.collection.Maps["scratch"]
		all := make([][]byte, ebpf.MustPossibleCPU())
		for cpu := range all {
			all[cpu] = make([]byte, buffers.ValueSize())
			binary.NativeEndian.PutUint64(all[cpu], taken) // struct scratch begins with it
		}
		for level := range uint32(levels) {
			must(t, buffers.Put(level, all))
		}
	}
	sampled := func() int {
		_, n := checkStacks(t, recording(t, tracer, func() { onThread(func() { innermost(100 * time.Millisecond) }) }))
		return n
	}
	take(3, 1)
	if sampled() == 0 {
		t.Error("no sample with one of four levels left")
	}
	take(4, 1)
	begin := now()
	must(t, tracer.Arm())
	onThread(func() { innermost(100 * time.Millisecond) })
	must(t, tracer.Disarm())
	if n := len(slices.DeleteFunc(drain(tracer), func(r record) bool { return !r.is(ringdata.KindSample) })); n > 0 {
		t.Errorf("%d samples with no level left", n)
	}
	refused := 0
	for _, l := range tracer.TailLosses() {
		if l.Cause != Nesting || l.Kind != ringdata.KindSample || l.From < begin || l.From > now() {
			t.Errorf("a loss is %+v", l)
		}
		refused += int(l.Count)
	}
	if float64(refused) < 50/emulated(t) {
		t.Errorf("%d samples counted as refused, want about 100", refused)
	}
	take(4, 0)
	must(t, tracer.SetGeneration(1)) // which has none of the stacks that were written at first
	if sampled() == 0 {
		t.Error("no sample with all levels free again")
	}
}
