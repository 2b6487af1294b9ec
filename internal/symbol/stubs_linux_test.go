package symbol

import (
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"testing"
)

// TestStubsHaveTheNamesOfObjdump compares the stubs of the linkage tables that linkers make for different options.
func TestStubsHaveTheNamesOfObjdump(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("names of stubs are of x86-64")
	}
	for name, flags := range map[string][]string{
		"lazy": {"-Wl,-z,lazy"}, "now": {"-Wl,-z,now"}, "fixed": {"-no-pie", "-Wl,-z,lazy"}, "stripped": {"-s"},
		"branches": {"-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"},
	} {
		t.Run(name, func(t *testing.T) {
			file := buildC(t, "calls.c", append([]string{"-rdynamic", "-lm"}, flags...)...)
			listing, err := exec.Command(needTool(t, "objdump"), "-d", "-j", ".plt", "-j", ".plt.sec", file).Output()
			if err != nil {
				t.Fatal(err)
			}
			table, err := openFile(t, file).Table()
			if err != nil {
				t.Fatal(err)
			}
			stubs := regexp.MustCompile(`(?m)^([0-9a-f]+) <([a-z_]+@plt)>:$`).FindAllStringSubmatch(string(listing), -1)
			if len(stubs) < 3 {
				t.Fatalf("objdump lists %d stubs", len(stubs))
			}
			for _, stub := range stubs {
				start, err := strconv.ParseUint(stub[1], 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range []uint64{start, start + 7} {
					if got, _ := table.Lookup(at); got.Name != stub[2] || got.Start != start {
						t.Errorf("%x: got %s at %x, want %s", at, got.Name, got.Start, stub[2])
					}
				}
			}
		})
	}
}
