package probeplan

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"wprof/internal/probe"
	"wprof/internal/usercode"
)

// codeFile is a file with code, for all processes or for one.
type codeFile struct {
	path string
	pid  int
}

// findUser finds functions, lines and static probes of programs.
func (b *builder) findUser(e *end) error {
	files, err := b.files(e)
	if err != nil {
		return err
	}
	var failed error
	for _, of := range files {
		if err := b.findIn(e, of); err != nil {
			failed = err
		}
	}
	if len(e.variants) == 0 {
		return failed
	}
	return nil
}

// files returns the files in which the target may be. Of a process it is the first one that has it.
func (b *builder) files(e *end) (all []codeFile, err error) {
	leg, sys := e.leg, b.p.sys
	pids := leg.PIDs
	if leg.GPU {
		gpu, err := sys.GPUProcesses()
		if err != nil {
			return nil, b.d.Errorf(leg.Target.At, 0, nil, "pid:nv-smi: %s", err)
		}
		pids = append(pids, gpu...)
	}
	path := leg.Path.Text
	if path != "" {
		found, err := sys.Path(path)
		if err != nil {
			return nil, b.d.Errorf(leg.Path.At, len(path), nil, "%s", err)
		}
		if len(pids) == 0 {
			return []codeFile{{path: found}}, nil
		}
		for _, pid := range pids {
			all = append(all, codeFile{found, pid})
		}
		return all, nil
	}
	if len(pids) == 0 {
		command := sys.Command()
		if command == "" {
			return nil, b.d.Errorf(leg.Target.At, len(leg.Target.Text), nil, "in which program or library is it? Add (path:FILE) or (pid:N)")
		}
		return []codeFile{{path: command}}, nil
	}
	for _, pid := range pids {
		file, err := b.fileOf(e, pid)
		if err != nil {
			return nil, err
		}
		all = append(all, file)
	}
	return all, nil
}

// fileOf returns the first file of a process that has the target.
func (b *builder) fileOf(e *end, pid int) (codeFile, error) {
	paths, err := b.p.sys.Files(pid)
	if err != nil {
		return codeFile{}, b.d.Errorf(e.leg.Target.At, 0, nil, "find the files of process %d: %s", pid, err)
	}
	var failed, unread error
	var found []string
	for _, path := range paths {
		f, err := b.p.sys.Open(path)
		if err != nil {
			unread = cmp.Or(unread, err)
			continue
		}
		if err := hasTarget(e.leg, f); err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		found = append(found, path)
	}
	if len(found) > 1 {
		b.note("%s of process %d: %s is probed; %s has it too: add path: to probe that", shown(e.leg), pid, found[0], strings.Join(found[1:], ", "))
	}
	if len(found) > 0 {
		return codeFile{found[0], pid}, nil
	}
	return codeFile{}, b.notFound(e, fmt.Errorf("in the %d files of process %d: %w", len(paths), pid, cmp.Or(failed, unread)))
}

// hasTarget returns why a file does not have what is to be probed; nil: it has it.
func hasTarget(leg *probe.Leg, f *usercode.File) (err error) {
	target := targetOf(leg.Target.Text)
	switch {
	case leg.Probe == probe.USDT:
		provider, name, _ := strings.Cut(leg.Target.Text, ":")
		_, err = f.USDT(provider, name)
	case leg.Probe == probe.Breakpoint:
		t := leg.Watched()
		_, err = watchedIn(f, &t)
	case target.line > 0:
		_, err = f.Line(target.name, target.line)
	default:
		_, err = f.Functions(target.name, MaxFunctions)
	}
	return err
}

// note adds a note for the user, once.
func (b *builder) note(form string, args ...any) {
	if text := fmt.Sprintf(form, args...); !slices.Contains(b.p.plan.Notes, text) {
		b.p.plan.Notes = append(b.p.plan.Notes, text)
	}
}

// inCommand says where a name was looked for if the definition does not.
func inCommand(e *end, of codeFile, err error) error {
	var missing *usercode.NotFound
	if errors.As(err, &missing) && e.leg.Path.Text == "" && of.pid == 0 {
		return fmt.Errorf("%w in %s; of a library, add (path:FILE), as in (path:libc.so.6)", err, path.Base(of.path))
	}
	return err
}

// codeTarget is what a user probe names: FUNC[+OFFSET] or FILE:LINE.
type codeTarget struct {
	name   string
	offset uint64
	line   int
}

func targetOf(text string) codeTarget {
	if file, line, found := cutLast(text, ":"); found && !strings.HasSuffix(file, ":") {
		if n, err := strconv.Atoi(line); err == nil && n > 0 {
			return codeTarget{name: file, line: n}
		}
	}
	if name, offset, found := cutLast(text, "+"); found {
		if n, err := strconv.ParseUint(offset, 0, 32); err == nil {
			return codeTarget{name: name, offset: n}
		}
	}
	return codeTarget{name: text}
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// findIn adds the places in a file.
func (b *builder) findIn(e *end, of codeFile) error {
	f, err := b.p.sys.Open(of.path)
	if err != nil {
		return b.d.Errorf(e.leg.Target.At, 0, nil, "%s", err)
	}
	u := userFile{f: f, of: of}
	if e.leg.Probe == probe.USDT {
		return b.findUSDT(e, u)
	}
	target := targetOf(e.leg.Target.Text)
	if target.line > 0 {
		return b.findLine(e, u, target)
	}
	functions, err := f.Functions(target.name, MaxFunctions)
	if err != nil {
		return b.notFound(e, inCommand(e, of, err))
	}
	for i := range functions {
		if err := b.addFunction(e, u, &functions[i], target.offset); err != nil {
			return err
		}
	}
	return nil
}

// userFile is an open file.
type userFile struct {
	f  *usercode.File
	of codeFile
}

func (u *userFile) lang() usercode.Lang {
	if u.f.IsGo() {
		return usercode.Go
	}
	return usercode.C
}

func (u *userFile) site(offset uint64) probe.Site {
	return probe.Site{Path: u.of.path, PID: u.of.pid, Offset: offset}
}

// addFunction adds a function.
func (b *builder) addFunction(e *end, u userFile, fn *usercode.Function, offset uint64) error {
	v := variant{context: probe.Registers}
	site := u.site(fn.Offset + offset)
	switch {
	case offset > 0 && fn.Size > 0 && offset >= fn.Size:
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "%s has %d bytes", fn.Name, fn.Size)
	case u.f.Instruction(fn, offset) != offset:
		near := fmt.Sprintf("%s+%#x", fn.Name, u.f.Instruction(fn, offset))
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), []string{near}, "no instruction begins at +%#x", offset)
	case e.isReturn && u.f.IsGo():
		// A return probe of the kernel puts its own address on the stack, and Go moves stacks.
		offsets, err := u.f.Returns(fn)
		if err != nil {
			return b.notFound(e, fmt.Errorf("find the returns of %s: %w", fn.Name, err))
		}
		for _, at := range offsets {
			v.sites = append(v.sites, u.site(at))
		}
	default:
		site.Return = e.isReturn
		if offset == 0 && u.f.IsGo() {
			site.Offset += u.f.BehindStackCheck(fn)
		}
		v.sites = []probe.Site{site}
		b.warnOfExceptions(e, fn)
	}
	if len(v.sites) == 0 {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "%s never returns", fn.Name)
	}
	number := b.numberOf(e, fn.Name)
	for i := range v.sites {
		v.sites[i].Function = number
	}
	if len(b.d.Legs) == 1 && b.isSpan() {
		v.key.Kind = probe.KeyFrame
		if u.f.IsGo() {
			v.key.Kind = probe.KeyGoroutine
		}
	}
	a := functionArgs{userFile: u, fn: fn, offset: offset, isReturn: e.isReturn}
	v.resolve, v.every = a.resolve, a.every
	e.variants = append(e.variants, v)
	return nil
}

// warnOfExceptions notes that the kernel replaces the return address of a function whose callers may catch exceptions.
func (b *builder) warnOfExceptions(e *end, fn *usercode.Function) {
	if !e.isReturn || !strings.HasPrefix(fn.Raw, "_Z") && !strings.HasPrefix(fn.Raw, "_R") {
		return
	}
	b.note("%s: a C++ exception or Rust panic that passes through a function while its return is probed ends the program; "+
		"where that can happen, probe the entry only (u:)", shown(e.leg))
}

// numberOf numbers the functions of a glob by their names. Events have that of an instant, or of the begin of a span.
func (b *builder) numberOf(e *end, name string) uint64 {
	if e.role == probe.End && len(b.d.Legs) > 1 {
		return 0
	}
	for i, known := range b.functions {
		if known == name {
			return uint64(i)
		}
	}
	b.functions = append(b.functions, name)
	return uint64(len(b.functions) - 1)
}

// functionArgs are the arguments of a function, or its result.
type functionArgs struct {
	userFile
	fn       *usercode.Function
	offset   uint64
	isReturn bool
}

func (a functionArgs) every() (all []probe.Arg) {
	if a.isReturn {
		return []probe.Arg{{Base: probe.BaseReturn}}
	}
	if a.offset > 0 {
		return variableArgs(a.f.Variables(a.fn.Address + a.offset))
	}
	return variableArgs(a.f.Arguments(a.fn))
}

// variableArgs are the variables that can be read.
func variableArgs(known []usercode.Variable, err error) (all []probe.Arg) {
	if err != nil {
		return nil // without DWARF nothing is known of them
	}
	for i := range known {
		if v := &known[i]; v.Err == nil && v.Name != "" {
			all = append(all, probe.Arg{Base: probe.BaseName, Name: v.Name})
		}
	}
	return all
}

// where is the place of the probe for DWARF.
func (a functionArgs) where() usercode.Where {
	switch {
	case a.isReturn:
		return usercode.Where{Address: a.fn.Address, Kind: usercode.AtReturn}
	case a.offset > 0:
		return usercode.Where{Address: a.fn.Address + a.offset}
	}
	return usercode.Where{Address: a.fn.Address, Kind: usercode.AtEntry}
}

// resolve reads an argument by DWARF, or as the platform passes it where there is none.
func (a functionArgs) resolve(arg *probe.Arg) (resolved, error) {
	read, err := a.f.Resolve(a.where(), arg)
	switch {
	case err == nil:
		return resolved{read: read, name: a.nameOf(arg)}, nil
	case !errors.Is(err, usercode.ErrNoDWARF):
		return resolved{}, err
	case arg.Base == probe.BaseName, len(arg.Access) > 0:
		return resolved{}, errNoNames
	case a.offset > 0:
		return resolved{}, errors.New("arguments are where the function's entry has them, and not behind it, unless DWARF says where")
	}
	if read, err = usercode.Argument(a.f.Machine(), arg.Index, a.lang(), a.isReturn); err != nil {
		return resolved{}, err
	}
	read.Leaf, err = read.Leaf.WithType(arg.Type, true)
	return resolved{read: read}, err
}

// nameOf is the name of a parameter that the definition has by its index; "": not known.
func (a functionArgs) nameOf(arg *probe.Arg) string {
	if arg.Base != probe.BaseIndex || a.offset > 0 || a.isReturn {
		return ""
	}
	known, err := a.f.Arguments(a.fn)
	if err != nil || arg.Index >= len(known) {
		return ""
	}
	return known[arg.Index].Name
}

// findLine adds the places of a line of source, with its copies that are inlined elsewhere.
func (b *builder) findLine(e *end, u userFile, target codeTarget) error {
	if e.isReturn || b.isSpan() && len(b.d.Legs) == 1 {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "a line has no return; a span between two lines is u:FILE:LINE ~~ u:FILE:LINE")
	}
	places, err := u.f.Line(target.name, target.line)
	if err != nil {
		return b.notFound(e, err)
	}
	if len(places) > MaxFunctions {
		return b.d.Errorf(e.leg.Target.At, len(e.leg.Target.Text), nil, "the line is in %d places, and the limit is %d", len(places), MaxFunctions)
	}
	for i := range places {
		p := &places[i]
		site := u.site(p.Offset)
		site.Function = b.numberOf(e, p.Function)
		at := usercode.Where{Address: p.Address}
		e.variants = append(e.variants, variant{
			context: probe.Registers, sites: []probe.Site{site},
			resolve: func(arg *probe.Arg) (resolved, error) {
				read, err := u.f.Resolve(at, arg)
				return resolved{read: read}, err
			},
			every: func() []probe.Arg { return variableArgs(u.f.Variables(at.Address)) },
		})
	}
	return nil
}

func (b *builder) findUSDT(e *end, u userFile) error {
	provider, name, _ := strings.Cut(e.leg.Target.Text, ":")
	sites, err := u.f.USDT(provider, name)
	if err != nil {
		return b.notFound(e, err)
	}
	for i := range sites {
		s := &sites[i]
		site := u.site(s.Offset)
		site.Semaphore, site.Function = s.Semaphore, b.numberOf(e, s.Provider+":"+s.Name)
		a := usdtArgs{s}
		e.variants = append(e.variants, variant{context: probe.Registers, sites: []probe.Site{site}, resolve: a.resolve, every: a.every})
	}
	return nil
}

// usdtArgs are the arguments of a static probe.
type usdtArgs struct{ *usercode.Site }

func (a usdtArgs) every() (all []probe.Arg) {
	for i := range a.Args {
		if a.Args[i].Err == nil {
			all = append(all, probe.Arg{Base: probe.BaseIndex, Index: i})
		}
	}
	return all
}

func (a usdtArgs) resolve(arg *probe.Arg) (resolved, error) {
	switch {
	case arg.Base != probe.BaseIndex:
		return resolved{}, fmt.Errorf("arguments of static probes have numbers only: %w", errNoNames)
	case len(arg.Access) > 0:
		return resolved{}, errors.New("arguments of static probes have no types whose fields could be read")
	case arg.Index >= len(a.Args):
		return resolved{}, fmt.Errorf("the probe has %d arguments, numbered from 0", len(a.Args))
	}
	of := &a.Args[arg.Index]
	if of.Err != nil {
		return resolved{}, of.Err
	}
	read, err := of.Read, error(nil)
	read.Leaf, err = read.Leaf.WithType(arg.Type, true)
	return resolved{read: read}, err
}
