package pytrace

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProcessMayLie: whatever a process has in the shared memory, reading it ends, and what comes of it is within bounds.
func TestProcessMayLie(t *testing.T) {
	memory, err := unix.Mmap(-1, 0, sharedBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	rng := rand.New(rand.NewPCG(1, 2))
	words := func(at, n int) {
		for i := range n {
			binary.LittleEndian.PutUint64(memory[at+8*i:], rng.Uint64()>>rng.IntN(64))
		}
	}
	for range 30 {
		p := &Process{PID: os.Getpid(), fd: -1, memory: memory}
		for range 3 {
			words(0, 8)
			words(definitionsAt, 4096)
			for i := range 4 {
				words(threadsAt+i*threadBytes, 512)
				words(threadsAt+i*threadBytes+threadRecords, 512)
			}
			calls := 0
			p.Calls(1000, math.MaxInt64, func(c Call) {
				calls++
				if c.Start < 0 || c.Start > c.End || c.Self < 0 || c.Code > maxKnown || c.TID == 0 {
					t.Fatalf("%+v", c)
				}
				p.Function(c.Code)
			})
			p.OpenCalls(1<<62, func(c Call) {
				if c.Start <= 0 || c.Code > maxKnown || c.TID == 0 {
					t.Fatalf("%+v", c)
				}
			})
			if calls > 1000+maxThreads || len(p.codes) > maxKnown {
				t.Fatalf("%d calls, %d functions", calls, len(p.codes))
			}
		}
	}
}
