package capture

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/proc"
)

// missingNames warns of frames that will or may have no names, because this process lacks the permissions to read them; "":
// there are none. It covers only the stacks that are recorded.
func missingNames(stacks Stacks) string {
	if !stacks.Any() {
		return ""
	}
	var parts []string
	if stacks.Kernel && kernelHidden() {
		parts = append(parts, "the kernel hides its addresses, and its frames will have no names: give it CAP_SYSLOG, and set "+
			"kernel.kptr_restrict to 0 or 1")
	}
	have, err := proc.ReadCapabilities()
	if stacks.User && err == nil {
		if missing := missingForFiles(have); len(missing) > 0 {
			parts = append(parts, "frames of programs that belong to others may have no names: that needs "+strings.Join(missing, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// hiddenThreads warns that the kernel lists only some of the machine's threads, those of this process's PID namespace; "": all.
// A thread outside of it has a name once an event has it.
func hiddenThreads() string {
	if proc.InitPIDNamespace() {
		return ""
	}
	return "this container has process ids of its own: threads outside of it that do nothing are missing, most others have no name " +
		"and no process, and functions of programs no names: start it with the host's PID namespace (--pid=host)"
}

// unopened is a warning about files of programs that were not opened, so that functions in them have no names; "": none.
func (s *session) unopened() string {
	if s.rec.code == nil || s.rec.code.watcher == nil {
		return ""
	}
	var parts []string
	stats := s.rec.code.watcher.Files().Stats()
	if n := stats.OverLimit; n > 0 {
		parts = append(parts, fmt.Sprintf("%s of code are in files that could not be kept open, because this process may have %d open: "+
			"functions in those that were deleted since have no names; raise the limit (ulimit -n)", cli.Counted(uint64(n), "mapping"), proc.FileLimit()))
	}
	if n := stats.MapsCut; n > 0 {
		parts = append(parts, fmt.Sprintf("%s of generated code exceeded the memory or the time for copies: functions beyond that have no names",
			cli.Counted(uint64(n), "map file")))
	}
	if n := s.rec.code.watcher.IgnoredPrograms(); n > 0 {
		parts = append(parts, fmt.Sprintf("map files of %s were not read, because more than 4,096 programs had generated code at once: "+
			"the functions that they list have no names", cli.Counted(uint64(n), "program")))
	}
	if n := stats.Unopened; n > 0 {
		parts = append(parts, fmt.Sprintf("%s of code could not be opened in time, because a file system does not respond or many programs started at once: "+
			"functions in them may have no names", cli.Counted(uint64(n), "file")))
	}
	return strings.Join(parts, "; ")
}

// hungText is a warning about files on file systems that do not respond; "": none. A thread that waits for the server of a FUSE
// file system ignores SIGKILL until the server responds or ends (request_wait_answer in fs/fuse/dev.c), and so does its process.
func (s *session) hungText() string {
	hung := s.hung
	if s.rec.code != nil && s.rec.code.watcher != nil {
		hung = append(hung, s.rec.code.watcher.Files().AllHung()...)
	}
	if len(hung) == 0 {
		return ""
	}
	slices.Sort(hung)
	hung = slices.Compact(hung)
	named := hung[:min(len(hung), maxHung)]
	return fmt.Sprintf("the file system of %s does not respond: functions in these files may have no names; the recording is finished, but this process may not end "+
		"before the file system responds or is unmounted (umount -f)", strings.Join(named, ", "))
}

// unreadNamed is how many processes unreadText names.
const unreadNamed = 8

// unreadText is a warning about processes that hung before the recording began, so that their memory is unknown; "": none.
func unreadText(pids []int, code bool) string {
	if len(pids) == 0 {
		return ""
	}
	var named []string
	for _, pid := range pids[:min(len(pids), unreadNamed)] {
		named = append(named, strconv.Itoa(pid))
	}
	if more := len(pids) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	missing := "command lines"
	if code {
		missing = "functions and command lines"
	}
	return fmt.Sprintf("%s of processes that hang with their memory locked are missing (PID %s): /proc/PID/maps and /proc/PID/cmdline could not be read; "+
		"their stacks show what they wait for", missing, strings.Join(named, ", "))
}

// missingForFiles lists the missing ones of the capabilities for opening files that other users' processes have mapped
// (fs/proc/base.c: map_files is a folder of the process's owner, and its links need CAP_CHECKPOINT_RESTORE).
func missingForFiles(have proc.Capabilities) []string {
	var missing []string
	for _, c := range []proc.Capability{proc.CapSysPtrace, proc.CapCheckpointRestore, proc.CapDACReadSearch} {
		if !have.Has(c) {
			missing = append(missing, c.String())
		}
	}
	return missing
}

// kernelHidden reports whether /proc/kallsyms shows zeros in place of addresses (kernel/kallsyms.c: kallsyms_show_value).
// Kernels before 6.15 list a few hundred symbols of CPUs first, whose addresses are small.
func kernelHidden() bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return true
	}
	defer f.Close()
	begin := make([]byte, 256<<10)
	n, _ := io.ReadFull(f, begin)
	return !bytes.Contains(begin[:n], []byte("\nf"))
}
