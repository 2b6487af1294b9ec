package probeplan

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// maxBreakpoints is how many breakpoints a thread can have on x86-64. On arm64 it depends on the processor, and the kernel refuses more.
const maxBreakpoints = 4

// ofKernel counts breakpoints of the kernel, which every thread has, among those of processes.
const ofKernel = -1

// watched is what a target of watch: names in a file.
type watched struct {
	name    string
	address uint64 // in the file
	length  int
	leaf    probe.Leaf         // of data
	code    *usercode.Function // nil: data
}

// findWatched finds the memory or code that a breakpoint is set on.
func (b *builder) findWatched(e *end) error {
	t := e.leg.Watched()
	whole := func(near []string, form string, args ...any) error {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), near, form, args...)
	}
	hasProcess := len(e.leg.PIDs) > 0 || e.leg.GPU
	switch {
	case b.p.sys.Machine() == elf.EM_X86_64 && t.Access == probe.WatchRead:
		return whole([]string{withoutAccess(e.leg.Target.Text) + ":rw"}, "x86 has no breakpoints for reads alone: rw is hit by reads and writes, and value differs from before at writes")
	case t.Kernel:
		return b.findWatchedKernel(e, &t)
	case t.Name == "" && len(e.leg.PIDs) == 0:
		return whole(nil, "an address is one of a process that runs: add (pid:N), or name a symbol")
	case !hasProcess && b.p.sys.Command() == "":
		return whole(nil, "no process is named: add (pid:N), or record a command")
	case t.Name == "":
		return b.watchAddresses(e, &t)
	}
	files, err := b.files(e)
	if err != nil {
		return err
	}
	for _, of := range files {
		if err := b.watchIn(e, &t, of); err != nil {
			return err
		}
	}
	return nil
}

func withoutAccess(text string) string { return strings.TrimRight(strings.TrimSuffix(text, ":r"), ":") }

// watchAddresses sets breakpoints at an address of processes.
func (b *builder) watchAddresses(e *end, t *probe.WatchTarget) error {
	w := watched{name: fmt.Sprintf("%#x", t.Address), address: t.Address}
	w.setLength(t, 8)
	for _, pid := range e.leg.PIDs {
		v := b.watchVariant(t, &w, t.Access != probe.WatchExecute, nil)
		v.sites = []probe.Site{{PID: pid, Name: w.name, Address: t.Address}}
		if err := b.addWatched(e, v); err != nil {
			return err
		}
	}
	return nil
}

// setLength sets how many bytes are watched: as the target says, or all of the variable.
func (w *watched) setLength(t *probe.WatchTarget, size uint64) {
	switch {
	case t.Access == probe.WatchExecute:
	case t.Length != 0:
		w.length = t.Length
	case slices.Contains([]uint64{1, 2, 4}, size) && t.Offset == 0:
		w.length = int(size)
	default:
		w.length = 8
	}
	w.leaf = probe.Leaf{Kind: probe.LeafNumber, Size: max(w.length, 1)}
}

// watchedIn finds a target in a file.
func watchedIn(f *usercode.File, t *probe.WatchTarget) (w watched, err error) {
	if t.Access == probe.WatchExecute {
		return watchedCode(f, t)
	}
	d, err := f.Datum(t.Name)
	var missing *usercode.NotFound
	if errors.As(err, &missing) {
		if _, isFunction := f.Functions(t.Name, 1); isFunction == nil {
			return w, fmt.Errorf("%s is a function: write :x behind it to watch its execution", t.Name)
		}
	}
	if err != nil {
		return w, err
	}
	if d.Size > 0 && t.Offset >= d.Size {
		return w, fmt.Errorf("%s has %d bytes", t.Name, d.Size)
	}
	w = watched{name: d.Name, address: d.Address + t.Offset}
	w.setLength(t, d.Size)
	if leaf, ok := f.DatumLeaf(w.address, w.length); ok {
		w.leaf = leaf
	}
	return w, nil
}

// watchedCode finds a function, or an instruction in it.
func watchedCode(f *usercode.File, t *probe.WatchTarget) (w watched, err error) {
	if strings.ContainsAny(t.Name, "*?") && !strings.Contains(t.Name, "operator") {
		return w, errors.New("a breakpoint is at one instruction: name one function")
	}
	found, err := f.Functions(t.Name, 1)
	if err != nil {
		return w, err
	}
	fn, offset := &found[0], t.Offset
	switch {
	case fn.Size > 0 && offset >= fn.Size:
		return w, fmt.Errorf("%s has %d bytes", fn.Name, fn.Size)
	case f.Instruction(fn, offset) != offset:
		return w, fmt.Errorf("no instruction begins at +%#x, but at +%#x", offset, f.Instruction(fn, offset))
	case offset == 0 && f.IsGo():
		offset = f.BehindStackCheck(fn) // the function begins again after its stack has grown
	}
	w = watched{name: fn.Name, address: fn.Address + offset, code: fn}
	w.setLength(t, 0)
	return w, nil
}

// watchIn sets a breakpoint at a symbol of a file.
func (b *builder) watchIn(e *end, t *probe.WatchTarget, of codeFile) error {
	f, err := b.p.sys.Open(of.path)
	if err != nil {
		return b.d.Errorf(e.leg.Target.At, 0, nil, "%s", err)
	}
	w, err := watchedIn(f, t)
	if err != nil {
		return b.notFound(e, inCommand(e, of, err))
	}
	site := probe.Site{Path: of.path, PID: of.pid, Name: w.name, Address: w.address}
	if of.pid != 0 {
		bias, err := b.p.sys.Bias(of.pid, of.path)
		if err != nil {
			return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "find where %s is in process %d: %s", of.path, of.pid, err)
		}
		site.Address += bias
	}
	var code *functionArgs
	if w.code != nil {
		code = &functionArgs{userFile: userFile{f: f, of: of}, fn: w.code, offset: t.Offset}
	}
	v := b.watchVariant(t, &w, w.code == nil, code)
	v.sites = []probe.Site{site}
	return b.addWatched(e, v)
}

// watchVariant is a breakpoint without its place. code is what is known of the arguments of a function; nil: their registers.
func (b *builder) watchVariant(t *probe.WatchTarget, w *watched, isData bool, code *functionArgs) variant {
	v := variant{context: probe.Hit, watch: probe.Watching{Access: t.Access, Length: w.length, Kernel: t.Kernel}}
	a := watchedArgs{machine: b.p.sys.Machine(), watch: v.watch, leaf: w.leaf, isData: isData}
	if code != nil {
		a.resolveCode, a.everyCode = code.resolve, code.every
	}
	v.resolve, v.every = a.resolve, a.every
	return v
}

// addWatched adds a breakpoint, unless there are too many, or its address is one that the processor cannot watch.
func (b *builder) addWatched(e *end, v variant) error {
	site, at := &v.sites[0], e.leg.Target
	if n := uint64(v.watch.Length); n > 0 && site.Address%n != 0 {
		return b.d.Errorf(at.At, len(at.Text), nil, "%s is at %#x, which is no multiple of %d: give the number of bytes, as in :%d", site.Name, site.Address, n, site.Address&-site.Address)
	}
	whose := site.PID
	if v.watch.Kernel {
		whose = ofKernel
	}
	counts := b.p.breakpoints
	if counts[whose]++; b.p.sys.Machine() == elf.EM_X86_64 {
		for of, n := range counts {
			if of != ofKernel {
				n += counts[ofKernel]
			}
			if n > maxBreakpoints {
				return b.d.Errorf(at.At, len(at.Text), nil, "a processor has %d breakpoints for each thread, and this is one more; a span of two takes two of them", maxBreakpoints)
			}
		}
	}
	e.variants = append(e.variants, v)
	return nil
}

// findWatchedKernel sets a breakpoint in the kernel.
func (b *builder) findWatchedKernel(e *end, t *probe.WatchTarget) error {
	w := watched{name: t.Name, address: t.Address}
	symbol := KernelSymbol{Address: t.Address}
	if t.Name != "" {
		var err error
		if symbol, err = b.p.sys.KernelSymbol(t.Name); err != nil {
			return b.notFound(e, err)
		}
	}
	isCode := t.Access == probe.WatchExecute
	fail := func(form string, args ...any) error {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, form, args...)
	}
	switch {
	case isCode && t.Name != "" && !symbol.IsCode:
		return fail("%s is no function", t.Name)
	case symbol.Address>>63 == 0 && t.Name != "":
		return fail("%s is a variable of each CPU: watch the address of one of them", t.Name)
	case symbol.Address>>63 == 0:
		return fail("%#x is no address of the kernel", t.Address)
	}
	w.address = symbol.Address + t.Offset
	w.setLength(t, 8)
	v := b.watchVariant(t, &w, !isCode, nil)
	if isCode && t.Name != "" && t.Offset == 0 {
		if err := b.kernelCode(&v, t.Name, w.leaf); err != nil {
			return err
		}
	}
	v.sites = []probe.Site{{Name: t.Name, Address: w.address}}
	return b.addWatched(e, v)
}

// kernelCode makes the arguments of a function of the kernel known, if its types describe it.
func (b *builder) kernelCode(v *variant, name string, leaf probe.Leaf) error {
	types, err := b.p.sys.Types()
	if err != nil {
		return err
	}
	functions, err := b.p.sys.KernelFunctions(name)
	if err != nil || len(functions) != 1 {
		return nil //nolint:nilerr // the registers are known all the same
	}
	k := kernelParams{types: types}
	for n, p := range functions[0].Params {
		if p.From, err = b.kernelArgument(true, n, false); err == nil {
			k.params = append(k.params, p)
		}
	}
	a := watchedArgs{machine: b.p.sys.Machine(), watch: v.watch, leaf: leaf, resolveCode: k.resolve, everyCode: k.every}
	v.resolve, v.every = a.resolve, a.every
	return nil
}

// watchedArgs are what a breakpoint knows: registers, and of data the memory, of functions their arguments.
type watchedArgs struct {
	machine     elf.Machine
	watch       probe.Watching
	leaf        probe.Leaf
	isData      bool
	resolveCode func(*probe.Arg) (resolved, error) // nil: of data, and of code of which nothing is known
	everyCode   func() []probe.Arg
}

func (w watchedArgs) every() (all []probe.Arg) {
	if w.everyCode != nil {
		all = w.everyCode()
	}
	names := append([]string{"ip"}, usercode.Registers(w.machine)...)
	if w.isData {
		names = append([]string{"before", "value"}, names...)
	}
	for _, name := range names {
		all = append(all, probe.Arg{Base: probe.BaseName, Name: name})
	}
	return all
}

func (w watchedArgs) resolve(a *probe.Arg) (resolved, error) {
	var failed error
	if w.resolveCode != nil {
		r, err := w.resolveCode(a)
		if err == nil {
			return r, nil
		}
		failed = err
	}
	read, ok, err := w.named(a)
	switch {
	case err != nil:
		return resolved{}, err
	case ok && len(a.Access) > 0:
		return resolved{}, errors.New("it is a number without members: probe the code that uses it")
	case ok:
		read.Leaf, err = read.Leaf.WithType(a.Type, !w.watch.Kernel)
		return resolved{read: read}, err
	case failed != nil:
		return resolved{}, failed
	case a.Base == probe.BaseIndex && !w.isData:
		read, err := usercode.Argument(w.machine, a.Index, usercode.C, false)
		if err == nil {
			read.Leaf, err = read.Leaf.WithType(a.Type, !w.watch.Kernel)
		}
		return resolved{read: read}, err
	case a.Base != probe.BaseName:
		return resolved{}, errors.New("memory has no arguments: value, before, ip and the registers are known")
	}
	var names []string
	for _, row := range probe.WatchWords() {
		names = append(names, row.Word)
	}
	names = append(names, usercode.Registers(w.machine)...)
	return resolved{}, &usercode.NotFound{What: "register", Name: a.Name, Near: orAll(cli.Nearest(a.Name, names), names)}
}

// named plans the reading of one of [probe.WatchWords], or of a register.
func (w watchedArgs) named(a *probe.Arg) (read probe.Read, ok bool, err error) {
	if a.Base != probe.BaseName {
		return read, false, nil
	}
	switch a.Name {
	case "value", "before":
		if !w.isData {
			return read, false, fmt.Errorf("code is watched, and %s is of data", a.Name)
		}
		kind := map[string]probe.FromKind{"value": probe.FromWatched, "before": probe.FromBefore}[a.Name]
		return probe.Read{From: probe.From{Kind: kind, Size: w.watch.Length, Signed: w.leaf.Signed}, Leaf: w.leaf}, true, nil
	case "ip":
		read, ok = usercode.PointerRead(w.machine)
		return read, ok, nil
	}
	read, ok = usercode.RegisterRead(w.machine, a.Name)
	return read, ok, nil
}
