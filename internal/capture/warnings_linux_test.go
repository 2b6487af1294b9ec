package capture

import (
	"slices"
	"testing"

	"wprof/internal/proc"
)

func TestMissingCapabilitiesAreNamed(t *testing.T) {
	for _, c := range []struct {
		have proc.Capabilities
		want []string
	}{
		{1<<proc.CapSysPtrace | 1<<proc.CapCheckpointRestore | 1<<proc.CapDACReadSearch, nil},
		{1<<proc.CapSysPtrace | 1<<proc.CapSysAdmin | 1<<proc.CapDACReadSearch, nil},
		{1<<proc.CapSysAdmin | 1<<proc.CapDACReadSearch, []string{"CAP_SYS_PTRACE"}},
		{1 << proc.CapBPF, []string{"CAP_SYS_PTRACE", "CAP_CHECKPOINT_RESTORE", "CAP_DAC_READ_SEARCH"}},
	} {
		if got := missingForFiles(c.have); !slices.Equal(got, c.want) {
			t.Errorf("with %#x %v are missing, want %v", uint64(c.have), got, c.want)
		}
	}
}
