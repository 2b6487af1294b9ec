package capture

import (
	"errors"
	"fmt"

	"wprof/bpf"
	"wprof/internal/cli"
	"wprof/internal/probe"
	"wprof/internal/proc"
)

// check returns the error that prevents this process from recording on this machine, before anything is created or attached.
func check(cfg *Config) error {
	if err := cli.CheckAddressSpace(cfg.ringBytes() + cli.RenderingSpace); err != nil {
		return err
	}
	if !proc.InitUserNamespace() {
		return errors.New("recording needs root on the host, and this process is in a user namespace, in which the kernel allows no tracing " +
			"(a rootless container, unshare --user): record outside of it (sudo wprof-record)")
	}
	var err error
	if cfg.Kernel.Preloaded, err = bpf.Check(); err != nil {
		return err
	}
	if cfg.Kernel.Tracepoints, err = findTracepoints(cfg.Kernel.Preloaded, cfg.Tracepoints); err != nil {
		return err
	}
	if err := planProbes(cfg); err != nil {
		return err
	}
	if err := planPMU(cfg); err != nil {
		return err
	}
	if _, err := cfg.conditions(); err != nil {
		return err
	}
	have, err := proc.ReadCapabilities()
	if err != nil {
		return err
	}
	if err := proc.CheckClocks(); err != nil {
		return err
	}
	if cfg.Stats && !have.Has(proc.CapSysAdmin) {
		return fmt.Errorf("--stats needs %s, to have the kernel measure its programs: run it as root or leave out --stats", proc.CapSysAdmin)
	}
	if cfg.byID() && !proc.InitPIDNamespace() {
		return errors.New("choosing threads by id, and following a command, needs the host's process ids, and this container has its own: " +
			"start it with the host's PID namespace (--pid=host)")
	}
	return checkFiles(cfg, have)
}

// filesNeeded is the number of open files for kernel programs, their maps, the events of each CPU and tracepoints (a link, and for some raw
// ones a program), and some spare ones. A program of a source takes one, its link another, and seldom a map.
func filesNeeded(cfg *Config) int {
	n := 77 + 5*cfg.CPUs + cfg.Kernel.Rings + 2*len(cfg.Kernel.Tracepoints)
	for _, p := range cfg.Kernel.Probes {
		n += 1 + len(p.Sites) + breakpointFiles(cfg, p)
		if p.Role == probe.Begin {
			n++ // programs that write and remove open spans
		}
	}
	n += cfg.Kernel.PMUFiles(cfg.CPUs)
	for t := range cfg.Kernel.Sources.Types() {
		n += 3 * len(t.Programs)
		for _, p := range t.Programs {
			if p.Event != 0 {
				n += cfg.CPUs
			}
		}
	}
	return n
}

// breakpointFiles is the number of events of a program's breakpoints: one for each thread or CPU, and some for threads that begin meanwhile.
func breakpointFiles(cfg *Config, p *probe.Program) (n int) {
	if p.Context != probe.Hit {
		return 0
	}
	for i := range p.Sites {
		n += 64 + cfg.CPUs
		if pid := p.Sites[i].PID; pid != 0 {
			n += len(proc.Threads("/proc", pid))
		}
	}
	return n
}

// checkFiles refuses a limit of open files below filesNeeded, unless this process may raise it.
func checkFiles(cfg *Config, have proc.Capabilities) error {
	limit := proc.FileLimit()
	if least := filesNeeded(cfg); limit < least && !have.Has(proc.CapSysResource) {
		return fmt.Errorf("recording needs some %d open files, and this process may have %d: raise the limit with ulimit -n %d", least, limit, 4*least)
	}
	return nil
}
