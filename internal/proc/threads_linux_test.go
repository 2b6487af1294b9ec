package proc

import (
	"os"
	"testing"
)

func TestThreadsIncludeThisProcess(t *testing.T) {
	for _, th := range Threads("/proc", os.Getpid()) {
		if th.TID == os.Getpid() {
			if th.PPID != os.Getppid() || th.Prio < 100 || th.Start <= 0 || th.Start > Monotonic() {
				t.Errorf("the leader of this process is %+v", th)
			}
			return
		}
	}
	t.Error("this process has no leader")
}

func TestStatOfHostileNames(t *testing.T) {
	const rest = " S 7 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 250 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0\n"
	th, ok := parseStat([]byte("12 (a) R 1 ( \n)"+rest), 1000)
	want := Thread{TID: 12, PPID: 7, Comm: "a) R 1 ( \n", State: 'S', Flags: 4194560, Prio: 120, CPU: 3, Start: 2_500_000_000 - 1000}
	if !ok || th != want {
		t.Errorf("got %+v, %v; want %+v", th, ok, want)
	}
	for _, bad := range []string{"", "(", "1 (x", "1 (x) S 1", "x (y)" + rest} {
		if th, ok := parseStat([]byte(bad), 0); ok {
			t.Errorf("%q was taken for %+v", bad, th)
		}
	}
}
