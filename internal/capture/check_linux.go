package capture

import (
	"fmt"

	"wprof/bpf"
	"wprof/internal/proc"
)

// check finds what keeps this process from recording on this machine, before anything is created or attached.
func check(stats bool) error {
	if err := bpf.Check(); err != nil {
		return err
	}
	have, err := proc.ReadCapabilities()
	if err != nil {
		return err
	}
	if stats && !have.Has(proc.CapSysAdmin) {
		return fmt.Errorf("--stats needs %s, to have the kernel measure its programs: run it as root or leave out --stats", proc.CapSysAdmin)
	}
	return nil
}
