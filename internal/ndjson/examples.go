package ndjson

import (
	"encoding/json"
	"time"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/waits"
)

// Examples for the page, written by the encoder.

func exampleLayout() *layout { return newLayout(&Options{}, nil) }

func exampleHeader() ([]byte, error) {
	l := exampleLayout()
	at := time.Date(2026, 11, 21, 2, 0, 0, 123456789, time.UTC).UnixNano()
	about := records.Describe(&format.Session{
		Host: "web-7", BootId: "5a8e1d5c-8d5b-4a8e-9d53-0f7c2b1de9a4", KernelRelease: "6.12.8", Machine: "x86_64", Id: 1, Open: 1,
		Clocks:  []*format.ClockSnapshot{{Monotonic: 1, Boottime: 1, Realtime: at}},
		Sources: []*format.Source{{Id: 1, Name: "timer", Period: 10_000_000}},
		Config:  []*format.KeyValue{{Key: format.ConfigOffCPUStacks}},
		Command: []string{"wprof-record", "-d5s", "-o", "host.wprof"},
	})
	h := newHeader(&about, records.Window{End: 5_000_213_337, Closed: true}, &Options{}, l)
	stacks, lost := int64(42), uint64(0)
	h.StackCount, h.Lost = &stacks, &lost
	return l.line(nil, "", &h)
}

func exampleStack() ([]byte, error) {
	lines := stackLines{l: exampleLayout()}
	return lines.append(nil, &records.Stack{ID: 17, Frames: []records.Frame{
		{Function: "main", Offset: 0x1a, File: "src/main.c", Line: 42, Module: "/usr/bin/app"},
		{Function: "work", Inlined: true, File: "src/work.c", Line: 118, Module: "/usr/bin/app"},
		{Function: "read", Offset: 0x19, Module: "/usr/lib/libc.so.6"},
		{Place: records.Kernel, Function: "do_syscall_64", Offset: 0x6b, Module: "[kernel]"},
		{Place: records.Kernel, Function: "pipe_read", Offset: 0x1d4, Module: "[kernel]"},
	}})
}

func exampleTask(tid, pid int32, comm, process string) *records.Task {
	text, _ := json.Marshal(struct {
		TID   int32  `json:"tid"`
		PID   int32  `json:"pid"`
		Comm  string `json:"comm"`
		PComm string `json:"pcomm"`
	}{tid, pid, comm, process})
	return &records.Task{JSON: text}
}

// exampleEvent returns a line of a kind with all of its fields except hardware counters.
func exampleEvent(k *records.KindInfo) []byte {
	r := records.Record{Kind: k.Kind, CPU: 3, Time: 500_123_456}
	if k.Kind == records.Gap {
		r.CPU = records.AllCPUs
	}
	tasks := []*records.Task{
		exampleTask(1234, 1000, "worker", "app"), exampleTask(5678, 5000, "redis-server", "redis-server"), exampleTask(1000, 1000, "app", "app"),
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Type == records.TypeNumbers || k.Kind == records.Exec && i == records.ExecOldTID || k.Kind == records.TaskExit && i == records.ExitSignal {
			continue
		}
		r.Has |= 1 << i
		switch f.Type {
		case records.TypeTask, records.TypeRenamed:
			r.Tasks[f.Slot] = tasks[f.Slot]
		case records.TypeText, records.TypeLabel:
		case records.TypeArgs:
			r.Args = []records.Arg{{Name: "size", Number: 4096}, {Name: "path", Type: format.ValueType_VALUE_STRING, Text: "/index.html"}}
		default:
			r.Values[f.Slot] = exampleValue(f)
		}
	}
	r.Text = exampleText(k)
	r.Labels = &records.Labels{"http", "request", "id"}
	if k.Probe {
		r.Labels = &records.Labels{"read"}
	}
	if k.Kind == records.Switch {
		r.Labels = &records.Labels{"recvfrom", "socket", "10.0.0.3:5432"}
	}
	return exampleLayout().append(nil, &r)
}

func exampleValue(f *records.Field) int64 {
	switch f.Name {
	case "dur":
		return 11_568
	case "start_ts", "waking_ts":
		return 500_111_888
	case "offcpu_dur":
		return 5_000_000
	case "compound_delay":
		return 11_568
	case "ipi_delay":
		return 200
	case "prev_state", "next_state":
		return 2
	case "prev_prio", "next_prio":
		return 120
	case "cause", "phase", "exit_code":
		return 1
	case "what", "waking_reason", "waking_context", "open":
		return 0
	case "wait_class":
		return int64(waits.Receive)
	case "futex":
		return 0x7f3a5c0010c0
	case "lock_owner":
		return 1236
	case "count":
		return 250
	case "compound_chain_len", "sender_cpu", "target_cpu", "waking_cpu":
		return 1
	case "sample_period":
		return 1_000_000
	}
	return 17
}

func exampleText(k *records.KindInfo) string {
	switch k.Kind {
	case records.Typed:
		return "request"
	case records.ProbeInstant, records.ProbeEntry, records.ProbeExit:
		return "read /index.html"
	case records.Exec:
		return "/usr/bin/redis-server"
	case records.TaskRename:
		return "app"
	case records.PMUEvent:
		return "cache-misses"
	case records.HardIRQ:
		return "nvme0q1"
	case records.SoftIRQ:
		return "net_rx"
	case records.WorkQueue:
		return "wb_workfn"
	}
	return "reschedule"
}
