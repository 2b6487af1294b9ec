//go:build linux

package bpf

import (
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

// A program that was found stays until it has been probed, also if its owner ends meanwhile.
func TestProgramsStayUntilTheyAreProbed(t *testing.T) {
	tracer := mustLoad(t, Options{})
	info, err := tracer.collection.Programs["sched_switch"].Info()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := info.ID()
	read, err := Check()
	if err != nil {
		t.Fatal(err)
	}
	found, err := FindPrograms(read, strconv.Itoa(int(id)))
	if err != nil || len(found) != 1 || found[0].Name != "sched_switch" {
		t.Fatalf("found %v, %v", found, err)
	}
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	isLoaded := func() bool {
		p, err := ebpf.NewProgramFromID(id)
		if errors.Is(err, os.ErrNotExist) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return p.Close() == nil
	}
	time.Sleep(200 * time.Millisecond) // the kernel unloads programs a little later
	if !isLoaded() {
		t.Error("the program has not been kept")
	}
	read.Release()
	for end := time.Now().Add(10 * time.Second); isLoaded(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the program is never unloaded")
		}
	}
}
