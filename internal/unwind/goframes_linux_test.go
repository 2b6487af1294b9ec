package unwind

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Rules of Go code are those of the call frame information that Go's linker makes for debuggers, which has no other use here. Where
// stacks begin, are switched, or are those of signal handlers follows from the functions.
func TestGoRulesAgreeWithItsFrameInformation(t *testing.T) {
	name := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-ldflags=-compressdwarf=false", "-o", name, "wprof/cmd/wprof-info").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	table := tableOf(t, name)
	toOffset := offsets(t, name)
	compareDepths(t, name, table, toOffset)
	bases := map[string]Base{"runtime.goexit.abi0": Root, "runtime.mcall": Switch, "runtime.mstart.abi0": Root, "runtime.rt0_go.abi0": Root,
		"runtime.systemstack.abi0": Switch, "runtime.asmcgocall.abi0": Switch, "runtime.sigreturn__sigaction.abi0": Signal, "main.main": SP}
	out, err := exec.Command("go", "tool", "nm", name).Output()
	if err != nil {
		t.Fatalf("go tool nm: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		want, known := bases[fields[2]]
		if address, err := strconv.ParseUint(fields[0], 16, 64); known && err == nil {
			delete(bases, fields[2])
			if got := table.Rule(toOffset(address)); got.Base != want {
				t.Errorf("%s: got %+v, want base %d", fields[2], got, want)
			}
		}
	}
	for name := range bases {
		t.Errorf("the program has no %s", name)
	}
}

// compareDepths compares each row that depends on the stack pointer with readelf's.
func compareDepths(t *testing.T, name string, table *Table, toOffset func(uint64) uint64) {
	t.Helper()
	cmd := exec.Command("readelf", "--debug-dump=frames-interp", name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start readelf: %v", err)
	}
	defer cmd.Wait()
	rows, special, wrong := 0, 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		var depth int32
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if _, none := fmt.Sscanf(fields[1], "rsp+%d", &depth); err != nil || none != nil || address == 0 {
			continue
		}
		got := table.Rule(toOffset(address))
		rows++
		if got.Base != SP {
			special++
		} else if got.Offset != depth {
			if wrong++; wrong < 10 {
				t.Errorf("%s: got %+v", lines.Text(), got)
			}
		}
	}
	t.Logf("%d rows, %d of them in functions with a rule of their own", rows, special)
	if rows < 10000 || special*100 > rows {
		t.Errorf("of %d rows %d are not by the stack pointer", rows, special)
	}
}
