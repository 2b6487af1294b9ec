package report

import (
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/byid"
	"wprof/internal/stacks"
)

// callTree holds call stacks as functions, across sections. It is bounded.
type callTree struct {
	r         *format.Reader
	ids       map[function]uint32
	functions []function
	children  map[node]uint32
	nodes     []node
	byWait    byid.Table[place]
	bySample  byid.Table[place]
}

// function is a function of a stack.
type function struct {
	name   string
	kernel bool
	rank   rank
}

// rank is how much a function says about what a program does.
type rank uint8

const (
	ofLibrary rank = iota // the C library, where threads start, or code without a name
	ofRuntime             // the C++ library, or a runtime
	ofProgram
)

type node struct{ parent, function uint32 }

// place is a call stack and what reports say of it.
type place struct {
	node       uint32 // 0: no stack
	site       uint32 // the function that waits: the innermost one of the highest rank
	caller     uint32 // that calls it
	kernelSite uint32 // the innermost function of the kernel that takes no lock itself
	fault      bool   // in a page fault
	interrupt  bool   // in an interrupt
	monitor    bool   // it enters a monitor of Java
	mutex      bool   // it locks a mutex of the C library
	pair       bool   // in a lock or a condition variable of the C library that has two futexes next to each other
	known      bool
}

const (
	maxNodes     = 1 << 18
	maxFunctions = 1 << 17
	moreStacks   = "[more stacks]"
)

func newCallTree(r *format.Reader) *callTree {
	return &callTree{
		r: r, ids: make(map[function]uint32), functions: make([]function, 1), children: make(map[node]uint32), nodes: make([]node, 1),
	}
}

func (c *callTree) newSection() {
	c.byWait.Clear()
	c.bySample.Clear()
}

// wait returns the place of the stack of an off-CPU interval, without the scheduler's functions at its end: those of a thread that is
// still off-CPU when the window closes do not have them.
func (c *callTree) wait(id format.StackID) place { return c.lookup(&c.byWait, id, true) }

func (c *callTree) sample(id format.StackID) place { return c.lookup(&c.bySample, id, false) }

func (c *callTree) lookup(in *byid.Table[place], id format.StackID, isWait bool) place {
	if id == 0 {
		return place{known: true}
	}
	if p := in.Get(uint32(id)); p.known {
		return p
	}
	p := c.resolve(c.r.Stack(id), isWait)
	in.Put(uint32(id), p)
	return p
}

func (c *callTree) resolve(s *format.Stack, isWait bool) place {
	p := place{known: true}
	if s == nil {
		return p
	}
	frames := s.Frames[max(0, len(s.Frames)-stacks.MaxFrames):]
	split := len(frames) - min(int(s.KernelFrames), len(frames))
	for _, id := range frames[:split] {
		f := c.programFunction(id)
		p.node = c.child(p.node, f)
		p.markLock(c.functions[f].name)
		switch site := &c.functions[p.site]; {
		case p.site == 0 || c.functions[f].rank > site.rank:
			p.caller, p.site = 0, f
		case c.functions[f].rank == site.rank:
			p.caller, p.site = p.site, f
		}
	}
	c.addKernel(&p, frames[split:], isWait)
	if p.site == 0 {
		p.site = p.kernelSite
	}
	return p
}

// markLock notes what kind of lock a function belongs to. Names of glibc may begin with underscores or __GI_.
func (p *place) markLock(name string) {
	p.monitor = p.monitor || strings.HasPrefix(name, "ObjectMonitor::enter")
	p.mutex = p.mutex || strings.Contains(name, "pthread_mutex_") || strings.Contains(name, "lll_lock_wait")
	p.pair = p.pair || strings.Contains(name, "pthread_rwlock_") || strings.Contains(name, "pthread_cond_")
}

// addKernel adds the kernel's part of a stack, with one function for the entry of each system call.
func (c *callTree) addKernel(p *place, frames []uint32, isWait bool) {
	if isWait { // before what is folded is decided: the stack of a thread that is still off-CPU does not have the scheduler's functions
		frames = slices.DeleteFunc(slices.Clone(frames), func(id uint32) bool { return stacks.IsScheduler(c.kernelName(id)) })
	}
	var scaffolding stacks.Scaffolding
	for i, id := range frames {
		name, above := c.kernelName(id), ""
		if i+1 < len(frames) {
			above = c.kernelName(frames[i+1])
		}
		p.fault = p.fault || strings.HasSuffix(name, "exc_page_fault") || name == "do_user_addr_fault" || name == "do_mem_abort"
		p.interrupt = p.interrupt || stacks.IsInterrupt(name)
		call, folded := scaffolding.Next(name, above)
		switch {
		case call != "":
			name = call
		case folded:
			continue
		}
		f := c.function(function{name: name, kernel: true})
		p.node = c.child(p.node, f)
		if !takesLock(name) {
			p.kernelSite = f
		}
	}
}

// takesLock reports whether a function of the kernel is one of those that wait for locks.
func takesLock(name string) bool {
	for _, word := range [...]string{"mutex_lock", "rwsem_", "down_read", "down_write", "__down", "percpu_", "rt_spin_lock", "bit_wait", "__wait_on_bit"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func (c *callTree) kernelName(id uint32) string {
	f := c.r.Frame(id)
	if f == nil {
		return stacks.LostFrame
	}
	return c.name(f)
}

// name returns the function that the code of a frame belongs to.
func (c *callTree) name(f *format.Frame) string {
	var name []byte
	if n := len(f.Lines); n > 0 {
		name = f.Lines[n-1].GetFunction()
	}
	return stacks.FunctionName(name, c.r.Module(f.Module))
}

func (c *callTree) programFunction(id uint32) uint32 {
	f := c.r.Frame(id)
	if f == nil {
		return c.function(function{name: stacks.LostFrame})
	}
	name := c.name(f)
	return c.function(function{name: name, rank: rankOf(name, string(c.r.Module(f.Module).GetPath()))})
}

// rankOf returns the rank of a function of a module.
func rankOf(name, module string) rank {
	base := module[strings.LastIndexByte(module, '/')+1:]
	switch {
	case beginsWith(base, "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl", "libgcc", "librt", "[vdso]"),
		beginsWith(name, "_start", "start_thread", "__libc_", "pthread_", "__pthread", "futex", "__futex", "syscall", "Syscall", "runtime.goexit", "runtime.mstart", "[",
			"os::Platform", "ObjectMonitor::", "ObjectSynchronizer::", "Parker::park", "Unsafe_Park", "Monitor::wait", "Monitor::lock", "Mutex::lock"):
		return ofLibrary
	case beginsWith(base, "libstdc++", "libc++", "libjvm.so"),
		beginsWith(name, "runtime.", "runtime/", "internal/", "sync.", "std::", "core::", "alloc::", "parking_lot", "__gthread", "take_gil", "PyThread_", "PyEval_RestoreThread",
			"JavaMain", "ThreadJavaMain", "jdk.internal.", "java.lang.Object.wait"):
		return ofRuntime
	}
	return ofProgram
}

func beginsWith(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

func (c *callTree) function(f function) uint32 {
	if id, found := c.ids[f]; found {
		return id
	}
	if len(c.functions) >= maxFunctions && f.name != moreStacks {
		return c.function(function{name: moreStacks})
	}
	id := uint32(len(c.functions))
	c.functions = append(c.functions, f)
	c.ids[f] = id
	return id
}

func (c *callTree) child(parent, of uint32) uint32 {
	n := node{parent, of}
	if id, found := c.children[n]; found {
		return id
	}
	if len(c.nodes) >= maxNodes {
		return parent
	}
	id := uint32(len(c.nodes))
	c.nodes = append(c.nodes, n)
	c.children[n] = id
	return id
}

// isInner reports whether the functions of a stack are the innermost ones of another stack, which has more.
func (c *callTree) isInner(stack, of uint32) bool {
	if stack == 0 {
		return false
	}
	for stack != 0 && of != 0 && c.nodes[stack].function == c.nodes[of].function {
		stack, of = c.nodes[stack].parent, c.nodes[of].parent
	}
	return stack == 0 && of != 0
}

// nameOf returns a function's name; "" for none.
func (c *callTree) nameOf(id uint32) string {
	if id == 0 {
		return ""
	}
	return c.functions[id].name
}
