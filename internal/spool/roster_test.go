package spool

import (
	"testing"

	"wprof/format"
)

func TestAccountsOfEndedProcessesKeepThoseWithMostTime(t *testing.T) {
	const processes = 5 * format.MaxProcesses
	r := newRoster(0)
	for i := range processes {
		// The long ones are not the latest ones.
		r.finish(&process{pid: uint32(i + 1), ns: int64(i*7919%processes) + 1})
	}
	all := r.processes()
	if len(all) < format.MaxProcesses {
		t.Fatalf("%d accounts are left, want at least %d", len(all), format.MaxProcesses)
	}
	for i, p := range all[:format.MaxProcesses] {
		if want := int64(processes - i); p.Ns != want {
			t.Fatalf("account %d has %d ns, want %d", i, p.Ns, want)
		}
	}
}
