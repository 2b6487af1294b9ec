//go:build linux

package damage

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"wprof/format"
)

// bulk writes a sound stream that has very many of something.
type bulk struct {
	t     testing.TB
	w     *format.Writer
	epoch uint32
	now   int64
	ids   struct{ task, stack, frame, module, command uint32 }
}

// writeBulk writes a stream into a file. n is how many there are of what fill writes.
func writeBulk(t testing.TB, name string, n int, fill func(b *bulk, n int)) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	b := &bulk{t: t, w: format.NewWriter(out, format.WriterOptions{Level: 1}), now: 2000}
	b.begin()
	fill(b, n)
	b.must(b.w.EndSection(&format.End{Last: true, Close: 1 << 40}))
	b.must(out.Flush())
}

func (b *bulk) must(err error) {
	if err != nil {
		b.t.Helper()
		b.t.Fatal(err)
	}
}

func (b *bulk) begin() {
	s := plain()
	s.Epoch, s.Continues = b.epoch, b.epoch > 0
	s.Sources = []*format.Source{{Id: 1, Name: "timer", Period: 1e6}}
	b.must(b.w.Begin(s))
	b.ids.task, b.ids.stack, b.ids.frame, b.ids.module, b.ids.command = 0, 0, 0, 0, 0
	b.task(0, 0, "swapper", uint32(format.TaskFlag_TASK_FLAG_IDLE))
}

// epochs begins another section where a recorder would.
func (b *bulk) epochs() {
	if b.w.DefinitionBytes() < format.EpochBytes {
		return
	}
	b.must(b.w.EndSection(&format.End{Close: b.now}))
	b.epoch++
	b.begin()
}

func (b *bulk) task(tid, pid int, name string, flags uint32) uint32 {
	b.ids.task++
	b.must(b.w.DefineTask(&format.Task{
		Id: b.ids.task, Tid: int32(tid), Pid: int32(pid), Comm: []byte(name), ProcessComm: []byte(name), Start: int64(tid), Flags: flags, Command: b.ids.command,
	}))
	return b.ids.task
}

func (b *bulk) command(text string) {
	b.ids.command++
	b.must(b.w.DefineCommand(&format.Command{Id: b.ids.command, Args: []byte(text + "\x00")}))
}

func (b *bulk) module(path string) {
	b.ids.module++
	b.must(b.w.DefineModule(&format.Module{Id: b.ids.module, Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte(path), BuildId: []byte(path)}))
}

func (b *bulk) frame(offset uint64, function string) uint32 {
	b.ids.frame++
	f := &format.Frame{Id: b.ids.frame, Module: b.ids.module, Offset: offset}
	if function != "" {
		f.Lines = []*format.Line{{Function: []byte(function), File: []byte(function + ".c"), Line: 7}}
	}
	b.must(b.w.DefineFrame(f))
	return b.ids.frame
}

func (b *bulk) stack(frames ...uint32) uint64 {
	b.ids.stack++
	b.must(b.w.DefineStack(&format.Stack{Id: b.ids.stack, Frames: frames}))
	return uint64(b.ids.stack)
}

func (b *bulk) event(kind format.Kind, cpu, task uint32, args map[int]uint64, flags format.Flags) {
	e := format.Event{Time: b.now, Kind: kind, Flags: flags | format.FlagSubject, CPU: cpu, Task: format.TaskID(task)}
	for i, v := range args {
		e.Args[i] = v
	}
	b.must(b.w.Write(&e))
	b.now += 1000
}

// runs has a thread run for a moment.
func (b *bulk) runs(cpu, task uint32, state format.State) {
	b.event(format.KindSwitch, cpu, 1, map[int]uint64{format.SwitchNext: uint64(task)}, format.FlagObject)
	b.event(format.KindSwitch, cpu, task, map[int]uint64{format.SwitchNext: 1, format.SwitchPrevState: uint64(state)}, format.FlagObject)
}

// sampled has it be sampled meanwhile.
func (b *bulk) sampled(cpu, task uint32, stack uint64) {
	b.event(format.KindSwitch, cpu, 1, map[int]uint64{format.SwitchNext: uint64(task)}, format.FlagObject)
	b.event(format.KindSample, cpu, task, map[int]uint64{format.SampleStack: stack, format.SampleSource: 1}, 0)
	b.event(format.KindSwitch, cpu, task, map[int]uint64{format.SwitchNext: 1, format.SwitchPrevState: 1}, format.FlagObject)
}

type bulkCase struct {
	name string
	n    int
	most string // "": it is for soaks only
	fill func(b *bulk, n int)
}

// bulks are what a stream may have very much of, how many of it go into a test, and the output that keeps most of it.
func bulks() []bulkCase {
	return []bulkCase{
		{"threads that never end", 200_000, "wprof-flame --html", func(b *bulk, n int) {
			for i := range n {
				b.runs(uint32(i%2), b.task(i+1, i/4*4+1, fmt.Sprint("t", i), 0), format.StateInterruptible)
				b.epochs()
			}
		}},
		{"many threads", 165_536, "wprof-flame --by thread", func(b *bulk, n int) {
			const live = 65_536
			b.module("/bin/one")
			for i := range n {
				id := b.task(i+1, i/4*4+1, fmt.Sprint("t", i%50), 0)
				stack := b.stack(b.frame(uint64(i%1000*16), fmt.Sprint("function", i%1000)))
				b.sampled(uint32(i%2), id, stack)
				if i >= live {
					b.runs(uint32(i%2), id, format.StateDead)
				}
			}
		}},
		{"threads that end", 200_000, "wprof-flame --diff FILE", func(b *bulk, n int) {
			for i := range n {
				id := b.task(i+1, i/4*4+1, fmt.Sprint("t", i), 0)
				b.event(format.KindFork, 0, 1, map[int]uint64{format.ForkChild: uint64(id)}, format.FlagObject)
				b.event(format.KindExit, 0, id, nil, 0)
				b.runs(uint32(i%2), id, format.StateDead)
				b.event(format.KindFree, 0, id, nil, 0)
				b.epochs()
			}
		}},
		{"threads that wake each other", 150_000, "", func(b *bulk, n int) {
			before := uint32(1)
			for i := range n {
				id := b.task(i+1, i+1, fmt.Sprint("t", i), 0)
				b.runs(0, id, format.StateInterruptible)
				b.event(format.KindWaking, 1, before, map[int]uint64{format.WakingWakee: uint64(id)}, format.FlagObject)
				b.event(format.KindSwitch, 0, 1, map[int]uint64{format.SwitchNext: uint64(id)}, format.FlagObject)
				before = id
				b.epochs()
				if b.ids.task == 1 {
					before = 1
				}
			}
		}},
		{"definitions of tasks", 1_500_000, "wprof-filter", func(b *bulk, n int) {
			for i := range n {
				b.task(i+1, i+1, "", 0)
			}
			b.event(format.KindExit, 0, 2, nil, 0)
		}},
		{"definitions of threads that run", 300_000, "wprof-json --chrome", func(b *bulk, n int) {
			for i := range n {
				id := b.task(i+1, i+1, fmt.Sprint("thread-", i), 0)
				b.runs(0, id, format.StateInterruptible)
			}
		}},
		{"names of one thread", 300_000, "", func(b *bulk, n int) {
			for i := range n {
				id := b.task(7, 7, fmt.Sprint("name-", i), 0)
				b.runs(0, id, format.StateInterruptible)
			}
		}},
		{"command lines", 300_000, "", func(b *bulk, n int) {
			for i := range n {
				b.command(fmt.Sprintf("/usr/bin/program --number %d --of %d", i, n))
				id := b.task(i+1, i+1, "program", 0)
				b.event(format.KindFork, 0, 1, map[int]uint64{format.ForkChild: uint64(id)}, format.FlagObject)
				b.runs(0, id, format.StateDead)
			}
		}},
		{"stacks", 300_000, "wprof-perfetto", func(b *bulk, n int) {
			task := b.task(7, 7, "one", 0)
			b.module("/bin/one")
			for i := range 1000 {
				b.frame(uint64(i*16), fmt.Sprint("function", i))
			}
			for i := range n {
				m := uint32(i)
				s := b.stack(m%1000+1, m/1000%1000+1, m/7%1000+1, m/13%1000+1, m/31%1000+1, m/97%1000+1)
				b.sampled(0, task, s)
			}
		}},
		{"deep stacks", 20_000, "wprof-flame --speedscope", func(b *bulk, n int) {
			task := b.task(7, 7, "one", 0)
			b.module("/bin/one")
			for i := range 1000 {
				b.frame(uint64(i*16), fmt.Sprint("function", i))
			}
			frames := make([]uint32, 128)
			for i := range n {
				for j := range frames {
					frames[j] = uint32((i*31+j*j*7+i/(j+1))%1000) + 1
				}
				b.sampled(0, task, b.stack(frames...))
			}
		}},
		{"functions", 200_000, "", func(b *bulk, n int) {
			task := b.task(7, 7, "one", 0)
			b.module("/bin/one")
			for i := range n {
				b.sampled(0, task, b.stack(b.frame(uint64(i*16), fmt.Sprint("function", i))))
			}
		}},
		{"frames without names", 300_000, "", func(b *bulk, n int) {
			task := b.task(7, 7, "one", 0)
			b.module("/bin/one")
			for i := range n {
				b.sampled(0, task, b.stack(b.frame(uint64(i*16), "")))
			}
		}},
		{"long names of functions", 25_000, "wprof-flame --svg", func(b *bulk, n int) {
			for i := range n {
				if b.ids.task == 1 {
					b.task(7, 7, "one", 0)
					b.module("/bin/one")
				}
				b.sampled(0, 2, b.stack(b.frame(uint64(i*16), fmt.Sprint(strings.Repeat("<name>", 150), i))))
				b.epochs()
			}
		}},
		{"modules", 200_000, "wprof-symbolize", func(b *bulk, n int) {
			task := b.task(7, 7, "one", 0)
			for i := range n {
				b.module(fmt.Sprintf("/usr/lib/lib%d.so", i))
				b.sampled(0, task, b.stack(b.frame(uint64(i*16), "")))
			}
		}},
		{"processes on many CPUs", 150_000, "wprof-filter -p 7 --children", func(b *bulk, n int) {
			for i := range n {
				b.runs(uint32(i%65536), b.task(i+1, i+1, fmt.Sprint("t", i), 0), format.StateInterruptible)
				b.epochs()
			}
		}},
		{"losses", 200_000, "wprof-json --chrome", func(b *bulk, n int) {
			for i := range n {
				b.event(format.KindLost, uint32(i%65536), 0, map[int]uint64{
					format.LostFrom: uint64(b.now - 500), format.LostCount: 1, format.LostCause: uint64(i%9 + 1), format.LostWhat: uint64(i % 13),
				}, 0)
			}
		}},
		{"clock snapshots", 200_000, "wprof-perfetto", func(b *bulk, n int) {
			for i := range n {
				at := b.now + 10
				b.must(b.w.Define(&format.Definitions{Clocks: []*format.ClockSnapshot{{Monotonic: at, Boottime: at + int64(i)*2e6, Realtime: at + 7}}}))
				if b.ids.task == 1 {
					b.task(7, 7, "one", 0)
				}
				b.runs(0, 2, format.StateInterruptible)
				b.epochs()
			}
		}},
		{"threads that are only woken", 200_000, "wprof-json", func(b *bulk, n int) {
			for i := range n {
				id := b.task(i+1, i+1, fmt.Sprint("t", i), 0)
				b.event(format.KindWaking, 0, 1, map[int]uint64{format.WakingWakee: uint64(id)}, format.FlagObject)
				b.epochs()
			}
		}},
		{"everything", 100_000, "wprof-flame --speedscope", func(b *bulk, n int) {
			before := uint32(1)
			for i := range n {
				if b.ids.module == 0 || i%16 == 0 {
					b.module(fmt.Sprintf("/usr/lib/lib%d.so", i))
					b.command(fmt.Sprintf("/usr/bin/program --number %d", i))
				}
				id := b.task(i+1, i/2*2+1, fmt.Sprint("thread", i), 0)
				f := b.frame(uint64(i*16), fmt.Sprint("function", i))
				b.event(format.KindWaking, 1, before, map[int]uint64{format.WakingWakee: uint64(id)}, format.FlagObject)
				b.sampled(uint32(i%64), id, b.stack(f, max(1, f/2), max(1, f/3)))
				before = id
			}
		}},
	}
}
