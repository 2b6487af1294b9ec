package proc

import "testing"

// FuzzStat reads /proc/PID/task/TID/stat, in which a thread names itself.
func FuzzStat(f *testing.F) {
	f.Add([]byte("12 (a) b) (c) S 1 12 12 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 77 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if thread, ok := parseStat(stat, 0); ok && thread.State == 0 {
			t.Fatalf("got %+v", thread)
		}
	})
}

func FuzzCPUList(f *testing.F) {
	f.Add("0-3,8")
	f.Add("")
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := parseCPUList(list)
		for _, cpu := range cpus {
			if err == nil && cpu >= maxCPUs {
				t.Fatalf("CPU %d", cpu)
			}
		}
	})
}

// FuzzStatus reads /proc/PID/status, whose first line a program names.
func FuzzStatus(f *testing.F) {
	f.Add([]byte("Name:\tNSpid:\nUmask:\t0022\nUid:\t0\t1000\t0\t0\nNSpid:\t4711\t12\nNSsid:\t1\n"))
	f.Add([]byte("Uid:\t1\t1\nNSpid:\t4294967296\n"))
	f.Fuzz(func(t *testing.T, status []byte) {
		if id, err := parseIdentity(string(status), 1); err != nil && id != (Identity{}) {
			t.Fatalf("got %v and %v", id, err)
		}
	})
}

func FuzzOffsets(f *testing.F) {
	f.Add("monotonic      100000         5\nboottime           -1 999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		if offsets, err := parseOffsets(text); err != nil && offsets != (clockOffsets{}) {
			t.Fatalf("got %v and %v", offsets, err)
		}
	})
}
