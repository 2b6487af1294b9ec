package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/filter"
	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// WatchFlag is --watch.
func WatchFlag() cli.Flag {
	return cli.Flag{
		Name: "watch", Kind: cli.List, Value: "SPEC", Check: checkWatch,
		Usage: "Record each access to a variable by a hardware breakpoint of the processor, with the value before and after, the registers and the " +
			"stack. SPEC is SYMBOL[+OFFSET][:LEN][:ACCESS] of the --pid or of the command, or an address 0x… of the --pid instead of the symbol; with kernel: before it, of the kernel. " +
			"LEN: 1, 2, 4 or 8 bytes. ACCESS: w (writes, the default), rw (reads and writes) or x (the instruction there is executed; with the function's arguments). " +
			"It is -U 'watch:SPEC (pid:N)', which has parameters and settings. 4 at most on x86-64.",
	}
}

func checkWatch(spec string) error {
	_, err := watchDefinition(spec, nil)
	return err
}

// watchDefinition is the definition that --watch is short for.
func watchDefinition(spec string, pids []int32) (*probe.Definition, error) {
	if strings.ContainsAny(spec, "(|") || strings.Contains(spec, "~~") {
		return nil, fmt.Errorf("'%s' has more than a place: parameters and settings are for -U 'watch:%s'", spec, spec)
	}
	text := "watch:" + spec
	if !strings.HasPrefix(spec, probe.KernelPrefix) && len(pids) > 0 {
		var params []string
		for _, pid := range pids {
			params = append(params, fmt.Sprintf("pid:%d", pid))
		}
		text += " (" + strings.Join(params, ", ") + ")"
	}
	return probe.Parse(text)
}

// readWatches adds the values of --watch.
func (cfg *Config) readWatches(inv *cli.Invocation) error {
	specs := inv.Strings("watch")
	if len(specs) == 0 {
		return nil
	}
	threads, err := filter.FromInvocation(inv)
	if err != nil {
		return err
	}
	for _, spec := range specs {
		if !strings.HasPrefix(spec, probe.KernelPrefix) && len(threads.PIDs) == 0 && len(cfg.Command) == 0 {
			return cli.Usagef("--watch %s: no process is named: add -p PID, or record a command; %s%[1]s is of the kernel", spec, probe.KernelPrefix)
		}
		d, err := watchDefinition(spec, threads.PIDs)
		if err != nil {
			return cli.Usagef("--watch: %w", err)
		}
		cfg.Probes = append(cfg.Probes, d)
	}
	return nil
}

// Bias finds a file among the mappings of a process, by what it is: it may have other names there.
func (m *probeMachine) Bias(pid int, path string) (uint64, error) {
	f, err := m.Open(path)
	if err != nil {
		return 0, err
	}
	return biasOf(f, pid, path)
}

func biasOf(f *usercode.File, pid int, path string) (uint64, error) {
	file, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0, err
	}
	name = strings.TrimPrefix(name, dir+"/root")
	text, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.Contains(fields[1], "x") || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		// Some network file systems number one file in several ways.
		mapped, err := os.Stat(mappedPath(dir, fields[0]))
		isSame := err == nil && os.SameFile(mapped, file)
		if !isSame && strings.TrimSpace(line[strings.Index(line, fields[5]):]) != name {
			continue
		}
		begin, _, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(begin, 16, 64)
		offset, err2 := strconv.ParseUint(fields[2], 16, 64)
		if err := errors.Join(err1, err2); err != nil {
			return 0, err
		}
		if bias, ok := f.Bias(start, offset); ok {
			return bias, nil
		}
	}
	return 0, errors.New("the process has not mapped its code")
}

// mappedPath is the link to a mapped file in map_files of a process in /proc, by the addresses of a line of maps. In maps they are padded with
// zeros to eight digits, in map_files they are not.
func mappedPath(dir, addresses string) string {
	begin, end, _ := strings.Cut(addresses, "-")
	return filepath.Join(dir, "map_files", strings.TrimLeft(begin, "0")+"-"+strings.TrimLeft(end, "0"))
}
