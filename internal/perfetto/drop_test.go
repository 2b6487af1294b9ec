package perfetto

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/perfetto/schema"
)

// A stream need not report the end of a thread: the trace ends those that were introduced first, and those that have left
// a CPU for the last time before them.
func TestThreadsWithoutAnEndAreEnded(t *testing.T) {
	const most, threads = 64, 1000
	tasks := fixed{nil, {Flags: 2}}
	for i := range int32(threads) {
		tasks = append(tasks, &format.Task{Tid: i + 1, Pid: i + 1, Start: 5})
	}
	var trace bytes.Buffer
	e, d := fed(t, &trace, tasks, everything(), &format.Session{Cpus: []*format.Cpu{{Id: 0}}})
	e.threads.most = most
	v := format.Event{Time: 1000, Kind: format.KindSwitch, Flags: format.FlagsVisible}
	for i := range uint64(threads) {
		v.Task = format.TaskID(i + 2)
		v.Args[format.SwitchNext], v.Args[format.SwitchPrevState] = 1, uint64(format.StateInterruptible)
		if i%2 == 1 {
			v.Args[format.SwitchPrevState] = uint64(format.StateDead)
		}
		v.Time += 10
		if err := d.Event(&v); err != nil {
			t.Fatal(err)
		}
		if n := len(e.threads.byTID); n > most {
			t.Fatalf("%d threads are kept, want %d at most", n, most)
		}
	}
	if err := d.Close(v.Time); err != nil {
		t.Fatal(err)
	}
	// All that have exited are dropped first, so half of the remaining ones have not ended.
	if n := e.threads.droppedThreads; n == 0 || n > threads/2 {
		t.Errorf("%d living threads were dropped", n)
	}
	if err := proto.Unmarshal(trace.Bytes(), new(schema.Trace)); err != nil {
		t.Fatal(err)
	}
	checkOrder(t, trace.Bytes())
}
