package capture

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A system call without arguments has several names, of which the kernel's types have one.
func TestFunctionsAreFoundByEachOfTheirNames(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("recording needs root and BTF")
	}
	var names []string
	for s, err := range kernelSymbols() {
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"__do_sys_getppid", "__x64_sys_getppid", "__ia32_sys_getppid", "__arm64_sys_getppid"}, s.name) {
			names = append(names, s.name)
		}
	}
	if len(names) < 2 {
		t.Fatalf("the kernel has %v", names)
	}
	found := make(map[string]bool)
	for _, name := range names {
		lines := listedProbes(t, "k:"+name)
		if len(lines) != 1 {
			t.Fatalf("%s is %+v", name, lines)
		}
		found[lines[0].Target] = true
	}
	if len(found) != 1 {
		t.Errorf("%v are %v", names, found)
	}
	if others := otherNames("getppid_of_no_kernel"); others != nil {
		t.Errorf("a function that there is not has the names %v", others)
	}
}

// A kernel without CONFIG_KALLSYMS_ALL lists the linker's marks, which are data by their kind.
func TestVariablesOfTheKernelThatAreNotListed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("recording needs root and BTF")
	}
	listsVariables := false
	for s, err := range kernelSymbols() {
		if err != nil {
			t.Fatal(err)
		}
		listsVariables = listsVariables || s.name == "panic_timeout"
	}
	_, err := new(probeMachine).KernelSymbol("jiffies_of_no_kernel")
	if err == nil || strings.Contains(err.Error(), "CONFIG_KALLSYMS_ALL") == listsVariables {
		t.Errorf("the kernel lists variables: %t; %v", listsVariables, err)
	}
}
