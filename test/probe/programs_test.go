//go:build linux

package probe

import (
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"wprof/test/tools"
)

// load loads one program of programs.bpf.c, or a table of operations with those that it names.
func load(t *testing.T, keep func(*ebpf.CollectionSpec)) (*ebpf.Collection, error) {
	t.Helper()
	spec, err := ebpf.LoadCollectionSpec(tools.Path("programs.bpf.o"))
	if err != nil {
		t.Fatal(err)
	}
	keep(spec)
	programs, err := ebpf.NewCollection(spec)
	if err == nil {
		t.Cleanup(programs.Close)
	}
	return programs, err
}

// only keeps one program.
func only(name string) func(*ebpf.CollectionSpec) {
	return func(spec *ebpf.CollectionSpec) {
		clear(spec.Maps)
		spec.Programs = map[string]*ebpf.ProgramSpec{name: spec.Programs[name]}
	}
}

// connect makes a connection to this machine, and gives one of its ends the congestion control; it returns the port of that end.
func connect(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "known")
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return conn.LocalAddr().(*net.TCPAddr).Port
}

// Every call of a BPF program and of a function in it, with arguments and results.
func TestProgramsOfBPF(t *testing.T) {
	needKernelFunctions(t)
	programs, err := load(t, only("measure"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "programs.wprof")
	const calls = 50
	var result uint32
	tools.Record(t, file, []string{
		"-U", "bpfspan:measure (arg:ctx.len, arg:ret) | id:program |",
		"-U", "bpf:measure:weigh (arg:length, arg:factor) | id:entry |",
		"-U", "bpfret:measure:weigh (arg:ret) | id:return |",
	}, func() {
		for range calls {
			if result, err = programs.Programs["measure"].Run(&ebpf.RunOptions{Data: make([]byte, 100)}); err != nil {
				t.Fatal(err)
			}
		}
	})
	c := read(t, file)
	length := (int64(result) - 1) / 3 // a socket filter sees what is behind the link header
	for id, want := range map[string]map[string]int64{
		"program": {"ctx.len": length, "ret": int64(result)}, "entry": {"length": length, "factor": 3}, "return": {"ret": int64(result)},
	} {
		events := c.of(id)
		if len(events) != calls {
			t.Errorf("%s: %d events of %d calls", id, len(events), calls)
		}
		for _, e := range events {
			for name, value := range want {
				if e.number(t, name) != value {
					t.Fatalf("%s: %s, want %v", id, e.Args, want)
				}
			}
		}
	}
}

// A program of a security hook (LSM): the arguments have the names and types of the hook.
func TestProgramsOfBPFOnASecurityHook(t *testing.T) {
	needKernelFunctions(t)
	programs, err := load(t, only("allow_nice"))
	if err != nil {
		t.Skip("this kernel has no security hooks for BPF: ", err)
	}
	hook, err := link.AttachLSM(link.LSMOptions{Program: programs.Programs["allow_nice"]})
	if err != nil {
		t.Skip("this kernel has no security hooks for BPF: ", err)
	}
	defer hook.Close()
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	file := filepath.Join(t.TempDir(), "hook.wprof")
	tools.Record(t, file, []string{"-U", "bpfspan:allow_nice (arg:p.pid, arg:nice, arg:ret) | id:hook |"}, func() {
		for nice := range 20 {
			if err := unix.Setpriority(unix.PRIO_PROCESS, sleeper.Process.Pid, nice); err != nil {
				t.Fatal(err)
			}
		}
	})
	var nices []int64
	for _, e := range read(t, file).of("hook") {
		if e.number(t, "p.pid") != int64(sleeper.Process.Pid) {
			continue
		}
		nices = append(nices, e.number(t, "nice"))
		if e.number(t, "ret") != 0 {
			t.Errorf("a result is %s, want 0", e.Args)
		}
	}
	if len(nices) != 20 || !slices.IsSorted(nices) || nices[0] != 0 || nices[19] != 19 {
		t.Errorf("the nice values are %v, want 0 to 19", nices)
	}
}

// An operation in a table of the kernel (struct_ops): the arguments have the types of the kernel's table, which has no names for them.
func TestProgramsOfBPFInATable(t *testing.T) {
	needKernelFunctions(t)
	programs, err := load(t, func(spec *ebpf.CollectionSpec) {
		delete(spec.Programs, "measure")
		delete(spec.Programs, "allow_nice")
	})
	if err != nil {
		t.Skip("this kernel has no links of struct_ops: ", err)
	}
	control, err := link.AttachStructOps(link.StructOpsOptions{Map: programs.Maps["known_control"]})
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	file := filepath.Join(t.TempDir(), "operations.wprof")
	var ports []int
	tools.Record(t, file, []string{"-U", "bpf:known_init (arg:0.__sk_common.skc_num/name(port)) | id:operation |"}, func() {
		for range 3 {
			ports = append(ports, connect(t))
		}
	})
	operations := read(t, file).of("operation")
	if len(operations) != len(ports) {
		t.Fatalf("%d events of %d connections", len(operations), len(ports))
	}
	for i, e := range operations {
		if got := e.arg(t, "port"); got != strconv.Itoa(ports[i]) {
			t.Errorf("connection %d: port %s, want %d", i, got, ports[i])
		}
	}
}
