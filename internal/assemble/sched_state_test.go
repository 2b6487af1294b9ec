package assemble

import (
	"testing"

	"wprof/format"
)

func TestAccountsOfEndedProcessesKeepThoseWithMostTime(t *testing.T) {
	const processes = 5 * format.MaxProcesses
	r := newSchedState(0)
	for i := range processes {
		// The long ones are not the latest ones.
		r.finish(&process{pid: uint32(i + 1), ns: int64(i*7919%processes) + 1})
	}
	all := r.processTimes()
	if len(all) < format.MaxProcesses {
		t.Fatalf("%d accounts are left, want at least %d", len(all), format.MaxProcesses)
	}
	for i, p := range all[:format.MaxProcesses] {
		if want := int64(processes - i); p.Ns != want {
			t.Fatalf("account %d has %d ns, want %d", i, p.Ns, want)
		}
	}
}

// TestProcessKeepsItsLatestName: a record that is older than the one that named a process, or that is of another thread at
// the same time, does not restore the old name.
func TestProcessKeepsItsLatestName(t *testing.T) {
	name := func(text string) (c comm) {
		copy(c[:], text)
		return c
	}
	ident := func(tid uint32, own, process string) *identity {
		return &identity{tid: tid, pid: 10, start: 5, comm: name(own), processComm: name(process)}
	}
	for _, c := range []struct {
		what string
		tid  uint32
		at   int64
		want string
	}{
		{"a worker's record that is older", 11, 2e9 - 5e6, "new"},
		{"a worker's record of the same time", 11, 2e9, "new"},
		{"a worker's record that has read the name just before", 12, 2e9 + freshName/2, "new"},
		{"the leader's record that is older", 10, 2e9 - 5e6, "new"},
		{"a worker's record long after, when the leader's was lost", 11, 2e9 + 2*freshName, "old"},
		{"the leader's later record", 10, 2e9 + 1, "old"},
	} {
		r := newSchedState(1)
		r.identify(ident(10, "old", "old"), 1e9)
		worker := r.identify(ident(11, "worker", "old"), 1e9)
		r.identify(ident(10, "new", "new"), 2e9)
		own := "worker"
		if c.tid == 10 {
			own = "old"
		}
		got := r.identify(ident(c.tid, own, "old"), c.at)
		if want := name(c.want); got.processComm != want || worker.processComm != want || r.processes[10].comm != want {
			t.Errorf("%s: its process is %q, that of another thread %q, the process %q, want %q", c.what, got.processComm.bytes(),
				worker.processComm.bytes(), r.processes[10].comm.bytes(), c.want)
		}
	}
}
