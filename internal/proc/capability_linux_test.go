package proc

import "testing"

func TestSysAdminIncludesWhatWasSplitOff(t *testing.T) {
	admin, bpf := Capabilities(1<<CapSysAdmin), Capabilities(1<<CapBPF)
	if !admin.Has(CapBPF) || !admin.Has(CapPerfmon) {
		t.Error("CAP_SYS_ADMIN does not include CAP_BPF and CAP_PERFMON")
	}
	if !bpf.Has(CapBPF) || bpf.Has(CapPerfmon) || bpf.Has(CapSysAdmin) {
		t.Error("CAP_BPF is more or less than itself")
	}
}
