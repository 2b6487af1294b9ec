package format

// ModuleKindInfo describes a kind of module.
type ModuleKindInfo struct {
	Kind   ModuleKind
	Name   string // in the text form
	Doc    string
	Path   string // what Module.path is
	Offset string // what Frame.offset is
	Kernel bool   // its frames are the kernel's
	User   bool   // its frames are a process's
}

// ModuleKinds is the table of the kinds of modules, in the order of their numbers.
func ModuleKinds() []ModuleKindInfo {
	return []ModuleKindInfo{
		{
			Kind: ModuleKind_MODULE_UNKNOWN, Name: "unknown", Doc: "nothing is known of it: its definition was lost",
			Path: "(lost)", Offset: "as the lost module had it",
		},
		{
			Kind: ModuleKind_MODULE_FILE, Name: "file", User: true, Doc: "a file that was mapped",
			Path: "of the file, as seen by its process, without \" (deleted)\"", Offset: "bytes from the beginning of the file",
		},
		{
			Kind: ModuleKind_MODULE_KERNEL, Name: "kernel", Kernel: true, Doc: "the kernel's own code",
			Path: "[kernel]", Offset: "address minus base",
		},
		{
			Kind: ModuleKind_MODULE_KERNEL_MODULE, Name: "kernel_module", Kernel: true, Doc: "a module of the kernel",
			Path: "its name in brackets: [ext4]", Offset: "address minus base",
		},
		{
			Kind: ModuleKind_MODULE_VDSO, Name: "vdso", User: true, Doc: "code that the kernel maps into every process",
			Path: "[vdso]", Offset: "bytes from the beginning of its image",
		},
		{
			Kind: ModuleKind_MODULE_JIT, Name: "jit", User: true, Doc: "code generated at run time, with names in a map file; each program that a process executes has its own module, with its own generation",
			Path: "of the map file: /tmp/perf-PID.map", Offset: "the address",
		},
		{
			Kind: ModuleKind_MODULE_ANON, Name: "anon", User: true, Doc: "code generated at run time, about which nothing is known",
			Path: "//anon", Offset: "the address",
		},
		{
			Kind: ModuleKind_MODULE_PYTHON, Name: "python", User: true, Doc: "functions of Python, which an interpreter executes",
			Path: "[python]", Offset: "a number that only the same line of the same function has",
		},
		{
			Kind: ModuleKind_MODULE_PYTHON_AWAITING, Name: "python_awaiting", User: true,
			Doc:  "coroutines of Python that do not run: their tasks await that of the frames inside of them; and, in brackets, where the frames of a task begin",
			Path: "[python awaiting]", Offset: "as of python",
		},
		{
			Kind: ModuleKind_MODULE_RUBY, Name: "ruby", User: true, Doc: "methods and blocks of Ruby, which its virtual machine executes",
			Path: "[ruby]", Offset: "a number that only the same line of the same method has",
		},
	}
}
