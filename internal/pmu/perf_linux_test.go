package pmu

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/internal/tracefs"
)

// asPerf are events that perf accepts too. It prints what it would open also if this machine has no such PMU.
func asPerf() []string {
	all := []string{
		"cycles:u", "cycles:k", "cycles:h", "cycles:uk", "cycles:ukh", "cycles:hu", "cycles:G", "cycles:H", "cycles:GH", "cycles:uG", "cycles:Gu",
		"cycles:kH", "cycles:p", "cycles:pp", "cycles:ppp", "cycles:ppH", "cycles:I", "cycles:uI", "cycles:D", "cycles:e", "cycles:Dek", "cycles:",
		"cycles//", "cycles//u", "cycles/name=x/", "cycles/config=3/k", "cycles/config1=1,config2=0x2/", "instructions/name=i/upp",
		"L1-dcache", "L2", "LLC:u", "branch", "branch-loads", "bpu-load-Reference", "l1d-speculative-read-miss", "node-misses-prefetch",
		"LLC-refs-stores", "L1-dcache-misses-load", "d-tlb-write-access", "Data-TLB-read", "Instruction-TLB-miss", "l1-i-prefetch-misses", "L1-data-store-ops",
		"L1-dcache-loads/name=x/u", "r3c", "r003c", "rC0", "rffffffff", "r3c:u", "r3c/name=x/u", "0:1", "0x1:0x2", "4:60", "1:2:u",
		"cpu/event=0x3c,umask=1/", "cpu/event=0x3c,umask=1/u", "cpu/cpu-cycles/", "cpu/instructions/pp", "cpu/cpu-cycles,umask=2/", "cpu/event=60/", "cpu/event=010/",
		"cpu/edge,event=0x3c/", "cpu/event=0x3c,edge=1,inv,cmask=0x10/", "cpu/split=0xab/", "cpu/split=0xf/", "cpu/offcore_rsp=0x123456789abcdef/",
		"cpu/frontend=0x400106,event=0xc6,umask=1/", "cpu/r3c/", "cpu/r1b0,name=x/", "cpu/config=5/", "cpu/config=0x500,event=0x3c/", "cpu/config=5,config1=0x7,config2=9/",
		"cpu/mem-loads/", "cpu/mem-loads/pp", "cpu/topdown/", "cpu/upper/k", "cpu/CPU-CYCLES/", "cpu/event=0x3c,name=foo/u", "cpu/event=0x3c,period=1000/",
		"mem-loads", "cpu-cycles", "topdown", "msr/tsc/", "msr/aperf/u", "msr/event=0x123456789a/", "aperf",
		"power/energy/", "power/event=2/", "uncore_imc_0/reads/", "uncore_imc_0/event=4,umask=3/", "hv_24x7/CYCLES,chip=5/", "software/config=3/",
		"sched:sched_switch", "sched:sched_switch:u", "sched:sched_waking:k",
	}
	for _, g := range generics() {
		if g.names[0] != "bpf-output" { // perf opens it as it is never counted
			all = append(all, g.names...)
		}
	}
	for _, c := range caches() {
		for _, alias := range c.names {
			for _, operation := range cacheOperations() {
				all = append(all, alias+"-"+operation.names[0], alias+"-"+operation.names[1]+"-misses")
			}
		}
	}
	return all
}

func TestAttributesAreThoseOfPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("there is no perf")
	}
	points, err := tracefs.Open()
	if err != nil {
		t.Skip(err)
	}
	defer points.Close()
	sysfs := writeDevices(t)
	machine := &Machine{PMUs: os.DirFS(sysfs + "/bus/event_source/devices"), Tracepoints: points}
	compared := 0
	for _, text := range asPerf() {
		attr, accepted := perfAttr(t, sysfs, text)
		var e *Event
		s, err := Parse(text)
		if err == nil {
			e, err = machine.Resolve(s)
		}
		switch {
		case accepted != (err == nil):
			t.Errorf("%s: perf accepts it: %v; error %v", text, accepted, err)
		case accepted && e.Attr != attr:
			t.Errorf("%s is\n%+v, with perf\n%+v", text, e.Attr, attr)
		case accepted:
			compared++
		}
	}
	t.Logf("%d of %d events are alike, the others are refused by both", compared, len(asPerf()))
	if compared < 130 {
		t.Errorf("only %d events could be compared", compared)
	}
}

// perfAttr is what perf stat passes to perf_event_open(2) for an event; false: it refuses it.
func perfAttr(t *testing.T, sysfs, event string) (Attr, bool) {
	cmd := exec.Command("perf", "stat", "-vv", "-e", event, "--", "true")
	cmd.Env = append(os.Environ(), "SYSFS_PATH="+sysfs, "LC_ALL=C")
	cmd.WaitDelay = time.Minute
	out, _ := cmd.CombinedOutput() // it fails for PMUs that this machine lacks
	var a Attr
	lines, inside := bufio.NewScanner(bytes.NewReader(out)), false
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "perf_event_attr:":
			inside = true
		case inside && strings.HasPrefix(line, "---"):
			return a, true
		case inside:
			a.set(t, event, line)
		}
	}
	return a, false
}

// set sets a field by a line such as "  config                           0x3c".
func (a *Attr) set(t *testing.T, event, line string) {
	at := strings.LastIndexByte(line, ' ')
	name := strings.TrimSpace(line[:at])
	number, err := strconv.ParseUint(line[at+1:], 0, 64)
	if name == "sample_type" || name == "read_format" {
		return
	}
	if err != nil {
		t.Fatalf("%s: perf prints %q", event, line)
	}
	switch name {
	case "type":
		a.Type = uint32(number)
	case "config":
		a.Config = number
	case "{ bp_addr, config1 }":
		a.Config1 = number
	case "{ bp_len, config2 }":
		a.Config2 = number
	case "precise_ip":
		a.Precise = uint8(number)
	case "exclude_user":
		a.User = true
	case "exclude_kernel":
		a.Kernel = true
	case "exclude_hv":
		a.Hypervisor = true
	case "exclude_host":
		a.Host = true
	case "exclude_guest":
		a.Guest = true
	case "exclude_idle":
		a.Idle = true
	case "pinned":
		a.Pinned = true
	case "exclusive":
		a.Exclusive = true
	case "size", "disabled", "inherit", "enable_on_exec":
	default:
		t.Fatalf("%s: perf prints %q", event, line)
	}
}
