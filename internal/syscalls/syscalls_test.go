package syscalls

import (
	"slices"
	"strings"
	"testing"

	"wprof/internal/ringdata"
)

func machines() []string { return []string{"x86_64", "aarch64"} }

func TestSignaturesAreValid(t *testing.T) {
	var known []string
	for _, machine := range machines() {
		known = append(known, AllNames(machine)...)
		if d := NewDecoder(machine); !d.Has("open") || d.Has(KindInt) {
			t.Errorf("the sets of %s", machine)
		}
	}
	d := NewDecoder("x86_64")
	kinds := []Kind{KindFD, KindDirFD, KindPath, KindPointer, KindHex, KindSize, KindInt, KindLong, KindMode, KindSignal}
	for name, c := range ReadCalls() {
		if !slices.Contains(known, name) {
			t.Errorf("no machine has a system call %q", name)
		}
		if len(c.Args) > maxArgs {
			t.Errorf("%s has %d arguments", name, len(c.Args))
		}
		seen := map[string]bool{"file": true, "file2": true, "abi": true, "ret": true, "error": true}
		for _, a := range append(c.Args, Arg{"=>", c.Result}) {
			if !slices.Contains(kinds, a.Kind) && !d.Has(a.Kind) {
				t.Errorf("%s: %s has the kind %q", name, a.Name, a.Kind)
			}
			if seen[a.Name] {
				t.Errorf("%s has two fields %q", name, a.Name)
			}
			seen[a.Name] = true
		}
	}
}

func TestShapes(t *testing.T) {
	shapes := Shapes("x86_64")
	for _, c := range []struct {
		abi  int
		name string
		want uint16
	}{
		{0, "read", 3 | 1<<ringdata.CallShapeFdShift},
		{0, "getppid", 0},
		{0, "openat", 4 | 1<<ringdata.CallShapeFdShift | 2<<ringdata.CallShapePathShift},
		{0, "renameat2", 5 | 1<<ringdata.CallShapeFdShift | 3<<ringdata.CallShapeFd2Shift | 2<<ringdata.CallShapePathShift | 4<<ringdata.CallShapePath2Shift},
		{0, "mmap", 6 | 5<<ringdata.CallShapeFdShift},
		{0, "close", 1 | 1<<ringdata.CallShapeFdShift | ringdata.CallShapeKept},
		{1, "mmap", 6}, // the address of its arguments
		{1, "open", 3 | 1<<ringdata.CallShapePathShift},
	} {
		number := slices.Index([][]string{x86(), x86compat()}[c.abi], c.name)
		if got := shapes[c.abi][number]; got != c.want {
			t.Errorf("%s has the shape %#x, want %#x", c.name, got, c.want)
		}
	}
}

func TestConstantsAreNamed(t *testing.T) {
	x86, arm := NewDecoder("x86_64"), NewDecoder("aarch64")
	for _, c := range []struct {
		decoder *Decoder
		kind    Kind
		number  uint64
		want    string
	}{
		{x86, "open", 0, "O_RDONLY"}, {x86, "open", 0o2000000 | 1, "O_WRONLY|O_CLOEXEC"}, {x86, "open", 0o4010000 | 2, "O_RDWR|O_SYNC"},
		{x86, "open", 0o200000, "O_RDONLY|O_DIRECTORY"}, {arm, "open", 0o40000, "O_RDONLY|O_DIRECTORY"},
		{x86, "futex", 128 | 9, "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG"}, {x86, "prot", 0, "PROT_NONE"}, {x86, "prot", 5, "PROT_READ|PROT_EXEC"},
		{x86, "map", 0x22, "MAP_PRIVATE|MAP_ANONYMOUS"}, {x86, "clone", 0x1200011, "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD"},
		{x86, "whence", 2, "SEEK_END"}, {x86, "whence", 77, "77"}, {x86, "rusage", 1<<64 - 1, "RUSAGE_CHILDREN"},
		{x86, "msg", 0, "0"}, {x86, "msg", 0x40 | 1<<31, "MSG_DONTWAIT|0x80000000"}, {x86, "socket", 0x80001, "SOCK_STREAM|SOCK_CLOEXEC"},
		{x86, "access", 0, "F_OK"}, {x86, "access", 6, "W_OK|R_OK"}, {x86, "open", 0xdead00000000, "O_RDONLY"},
	} {
		if got := c.decoder.Text(c.kind, c.number); got != c.want {
			t.Errorf("%#x of %s is %q, want %q", c.number, c.kind, got, c.want)
		}
	}
	for number, want := range map[int64]string{0: "", 5: "", -2: "ENOENT", -512: "ERESTARTSYS", -516: "ERESTART_RESTARTBLOCK", -4095: "error 4095", -4096: ""} {
		if got := x86.Error(number); got != want {
			t.Errorf("the result %d is the error %q, want %q", number, got, want)
		}
	}
	for number, want := range map[uint64]string{9: "SIGKILL", 34: "SIGRT_2", 0: "0", 1<<32 - 1: "-1"} {
		if got := x86.Signal(number); got != want {
			t.Errorf("the signal %d is %q, want %q", number, got, want)
		}
	}
}

func TestCallsAreSelectedByNameAndGlob(t *testing.T) {
	all, err := Select("x86_64", nil)
	if err != nil || !all.Others || all.Wanted[0][0] != 1<<64-1 {
		t.Errorf("all: %v, %v", all, err)
	}
	some, err := Select("x86_64", []string{"read", "epoll_*"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for number, name := range x86() {
		if index, bit := word(number); some.Wanted[0][index]&bit != 0 {
			names = append(names, name)
		}
	}
	if got := strings.Join(names, " "); got != "read epoll_create epoll_ctl_old epoll_wait_old epoll_wait epoll_ctl epoll_pwait epoll_create1 epoll_pwait2" || some.Others {
		t.Errorf("selected are %s", got)
	}
	if index, bit := word(3); some.Wanted[1][index]&bit == 0 {
		t.Error("read of 32-bit code is not selected")
	}
	for _, wrong := range []string{"raed", "x_*", "[", ""} {
		if _, err := Select("x86_64", []string{"read", wrong}); err == nil {
			t.Errorf("%q selects something", wrong)
		}
	}
}
