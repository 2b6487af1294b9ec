package capture

import (
	"bufio"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/probeplan"
	"wprof/internal/usercode"
)

// kernelSymbol is a line of /proc/kallsyms.
type kernelSymbol struct {
	address uint64
	kind    string // a letter, as of nm(1)
	name    string
}

func (s kernelSymbol) isCode() bool { return strings.ContainsAny(s.kind, "tTwW") }

// isVariable reports whether it is a static variable. Global ones do not count: the linker's marks, as __start_rodata, are always listed.
func (s kernelSymbol) isVariable() bool { return s.kind == "d" || s.kind == "b" }

// kernelSymbols returns the lines of /proc/kallsyms.
func kernelSymbols() iter.Seq2[kernelSymbol, error] {
	return func(yield func(kernelSymbol, error) bool) {
		in, err := os.Open("/proc/kallsyms")
		if err != nil {
			yield(kernelSymbol{}, err)
			return
		}
		defer in.Close()
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 3 {
				continue
			}
			address, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				err = fmt.Errorf("read /proc/kallsyms: %w", err)
			}
			if !yield(kernelSymbol{address, fields[1], fields[2]}, err) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(kernelSymbol{}, fmt.Errorf("read /proc/kallsyms: %w", err))
		}
	}
}

// maxKernelNames bounds the names that are compared with one that does not exist.
const maxKernelNames = 200_000

func (m *probeMachine) KernelSymbol(name string) (symbol probeplan.KernelSymbol, err error) {
	var names []string
	found, hasData := 0, false
	for s, err := range kernelSymbols() {
		if err != nil {
			return symbol, err
		}
		hasData = hasData || s.isVariable()
		if len(names) < maxKernelNames {
			names = append(names, s.name)
		}
		if s.name != name {
			continue
		}
		if s.address == 0 {
			return symbol, errors.New("the kernel hides its addresses (kernel.kptr_restrict)")
		}
		if found++; found > 1 && s.address != symbol.Address {
			return symbol, fmt.Errorf("the kernel has several symbols %s: name the address of one, from /proc/kallsyms", name)
		}
		symbol = probeplan.KernelSymbol{Address: s.address, IsCode: s.isCode()}
	}
	switch {
	case found == 0 && !hasData:
		return symbol, fmt.Errorf("there is no function %s in the kernel, and this kernel lists no variables (CONFIG_KALLSYMS_ALL): give the address of one", name)
	case found == 0:
		return symbol, &usercode.NotFound{What: "symbol of the kernel", Name: name, Near: cli.Nearest(name, names)}
	}
	return symbol, nil
}

// otherNames returns the other names of a function of the kernel: __do_sys_getppid is the same as __x64_sys_getppid, and only one of the two is in
// the kernel's types and in its list of traceable functions.
func otherNames(name string) (names []string) {
	named := make(map[uint64]bool)
	for s, err := range kernelSymbols() {
		if err == nil && s.name == name && s.isCode() && s.address != 0 {
			named[s.address] = true
		}
	}
	if len(named) != 1 {
		return nil // no function, or several different ones
	}
	for s, err := range kernelSymbols() {
		if err == nil && named[s.address] && s.isCode() && s.name != name && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}
