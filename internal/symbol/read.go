package symbol

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"wprof/format"
	"wprof/internal/jitdump"
)

var (
	errNoFile       = errors.New("no such file")
	errUnidentified = errors.New("it was not recorded which file it was")
	errOther        = errors.New("another file is at its path now, or it was changed since")
	errTouched      = errors.New("it may have been changed since")
	errUnknown      = errors.New("no file is mapped there")
	errNoSource     = errors.New("its symbols were not recorded")
	errNoOffset     = errors.New("only its debug file was found, which lacks the file offsets of functions")
)

// absentError is why there are no functions of a file that was not found anywhere. The reason may be that of a server.
type absentError struct{ error }

func (e absentError) Unwrap() error { return e.error }

// isAbsence reports whether an error of opening a file says that it is not there.
func isAbsence(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) || errors.Is(err, syscall.ENOTDIR)
}

// reason returns the text of an error for Why.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return errNoFile.Error()
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err.Error()
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// read reads the table of a module.
func (r *Resolver) read(m *format.Module) (*loaded, error) {
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_FILE:
		if jitdump.IsModule(m) {
			return r.readDump(m)
		}
		return r.readFile(m)
	case format.ModuleKind_MODULE_VDSO:
		return r.readVDSO(m)
	case format.ModuleKind_MODULE_JIT:
		return r.readPerfMap(m)
	}
	return nil, errUnknown
}

func (r *Resolver) readVDSO(m *format.Module) (*loaded, error) {
	if r.options.VDSO == nil {
		return nil, errNoSource
	}
	image, err := r.options.VDSO()
	if err != nil {
		return nil, err
	}
	f, err := Open(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return nil, err
	}
	if len(m.BuildId) > 0 && f.buildID != nil && !bytes.Equal(m.BuildId, f.buildID) {
		return nil, errBuildID
	}
	table, err := f.Table()
	if err != nil {
		return nil, err
	}
	return &loaded{table: table, file: f}, nil
}

// stored takes the functions of a module from where they are without the file; nil: there are none.
func (r *Resolver) stored(m *format.Module) *loaded {
	if r.options.Functions == nil || len(m.BuildId) == 0 {
		return nil
	}
	table, err := r.options.Functions(m.BuildId)
	if err != nil {
		return nil
	}
	return &loaded{table: table}
}

func (r *Resolver) readPerfMap(m *format.Module) (*loaded, error) {
	if r.options.PerfMap == nil {
		return nil, errNoSource
	}
	in, err := r.options.PerfMap(m)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	table, err := r.maps.read(in)
	if err != nil {
		return nil, err
	}
	return &loaded{table: table}, nil
}

// kernelPart returns the table of the kernel or of one of its modules; nil: there are no names.
func (r *Resolver) kernelPart(m *format.Module) *loaded {
	if r.kernel == nil && r.noKernel == "" {
		k, err := r.readKernel()
		if err != nil {
			r.noKernel = reason(err)
			return nil
		}
		r.kernel = k
	}
	if r.kernel == nil {
		return nil
	}
	table := r.kernel.Table(string(m.Path))
	if table == nil {
		return nil
	}
	return &loaded{table: table}
}

func (r *Resolver) readKernel() (*Kernel, error) {
	if r.options.Kallsyms == nil {
		return nil, errNoSource
	}
	var modules []KernelModule
	if r.options.Modules != nil {
		// A kernel without support for modules has no list of them.
		if in, err := r.options.Modules(); err == nil {
			modules, err = ParseModules(in)
			in.Close()
			if err != nil {
				return nil, err
			}
		}
	}
	in, err := r.options.Kallsyms()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return parseKallsyms(in, modules)
}

// candidate is a place where a module's file may be.
type candidate struct {
	open   func() (io.ReaderAt, int64, func(), error)
	check  func(*File) error // whether it is the right file
	path   string            // by which its debug file is searched; "": unknown
	beside bool              // the path's own directory may be searched for it

	debugDir bool // it is below a debug directory
	fetched  bool // it is on another machine
}

// readFile tries the candidates in turn, and prefers the first with a symbol table of its own or in its debug file. If none is
// usable, it returns an error other than "no such file" if there is one.
func (r *Resolver) readFile(m *format.Module) (*loaded, error) {
	s := &fileSearch{failed: errNoFile}
	for _, c := range r.candidates(m) {
		if s.stripped.hasTable() && !c.debugDir {
			continue
		}
		if l := r.try(&c, s); l != nil {
			return l, nil
		}
	}
	if s.stripped == nil {
		if l := r.tryFetched(m, s); l != nil {
			return l, nil
		}
	}
	if s.stripped != nil && r.fetchDebug(s.stripped) {
		return s.stripped, nil
	}
	if l := r.stored(m); l != nil {
		s.keep(nil)
		return l, nil
	}
	r.differing.add(s.differ)
	if s.stripped.hasTable() {
		return s.stripped, nil
	}
	s.keep(nil)
	if !s.found {
		return nil, absentError{s.failed}
	}
	return nil, s.failed
}

// fileSearch is the search for a module's file among several candidates.
type fileSearch struct {
	stripped *loaded  // the best file without a symbol table; its table is nil if it has no functions at all
	failed   error    // why there is nothing better
	differ   []string // paths of files of another build
	found    bool     // there is a file at one of the places, usable or not
}

func (s *fileSearch) fail(err error) {
	if reason(s.failed) == errNoFile.Error() {
		s.failed = err
	}
}

// keep replaces the stripped file.
func (s *fileSearch) keep(l *loaded) {
	if s.stripped != nil {
		s.stripped.release()
	}
	s.stripped = l
}

// candidates returns the places where a module's file may be, best first.
func (r *Resolver) candidates(m *format.Module) []candidate {
	var list []candidate
	buildID := sameBuildID(m)
	name := string(m.Path)
	if !path.IsAbs(name) || strings.IndexByte(name, 0) >= 0 {
		name = ""
	}
	// A module that was recorded without a build-id, because it could not be read then, may still have one.
	if r.options.Open != nil {
		list = append(list, candidate{path: name, beside: !r.options.NoPaths, check: buildID,
			open: func() (io.ReaderAt, int64, func(), error) { return r.options.Open(m) }})
	}
	if name == "" {
		return list
	}
	if !r.options.NoPaths {
		same := func(file *os.File) error {
			if len(m.BuildId) > 0 {
				return nil
			}
			return checkSame(file, m)
		}
		list = append(list, candidate{path: name, beside: true, check: buildID, open: openPath(name, same)})
	}
	known := func(f *File) error {
		if !bytes.Equal(m.BuildId, f.buildID) {
			return errBuildID
		}
		return nil
	}
	for _, dir := range r.debugDirs() {
		paths := []string{filepath.Join(dir, filepath.FromSlash(name))}
		if len(m.BuildId) > 0 {
			paths = append(paths, filepath.Join(dir, path.Base(name)))
			paths = append(paths, byBuildID(dir, m.BuildId)...)
		}
		for _, p := range paths {
			list = append(list, candidate{path: p, beside: true, debugDir: true, check: known, open: openPath(p, nil)})
		}
	}
	return list
}

// sameBuildID returns a check that a file has the build-id of a module, if that is known.
func sameBuildID(m *format.Module) func(*File) error {
	return func(f *File) error {
		if len(m.BuildId) > 0 && !bytes.Equal(m.BuildId, f.buildID) {
			return errBuildID
		}
		return nil
	}
}

// debugDirs returns the folders of debug files in the order in which they are searched.
func (r *Resolver) debugDirs() []string {
	dirs := r.options.DebugDirs
	if !r.options.NoPaths {
		dirs = append(dirs[:len(dirs):len(dirs)], systemDebug)
	}
	return dirs
}

// openPath opens a regular file, unless check, which may be nil, returns an error.
func openPath(name string, check func(*os.File) error) func() (io.ReaderAt, int64, func(), error) {
	return func() (io.ReaderAt, int64, func(), error) {
		file, size, err := OpenRegular(name)
		if err != nil {
			return nil, 0, nil, err
		}
		if check != nil {
			if err := check(file); err != nil {
				file.Close()
				return nil, 0, nil, err
			}
		}
		return file, size, func() { file.Close() }, nil
	}
}

// try reads the file at one place, with its debug file if it needs one. It returns nil if there is none with a symbol table.
func (r *Resolver) try(c *candidate, s *fileSearch) *loaded {
	l, err := r.open(c, s)
	if err != nil {
		s.fail(err)
		return nil
	}
	isStripped := l.isStripped()
	if !isStripped || !s.stripped.hasTable() {
		l.table, err = l.file.Table()
	}
	switch {
	case !isStripped && err == nil:
		s.keep(nil)
		return l
	case isStripped && (s.stripped == nil || !s.stripped.hasTable() && l.table != nil):
		s.keep(l)
	default:
		l.release()
	}
	if err != nil {
		s.fail(err)
	}
	return nil
}

// hasTable is false for no file.
func (l *loaded) hasTable() bool { return l != nil && l.table != nil }

// open opens the file at one place, and its debug file if it needs one.
func (r *Resolver) open(c *candidate, s *fileSearch) (_ *loaded, err error) {
	in, size, done, err := c.open()
	if err != nil {
		if errors.Is(err, errOther) {
			s.differ = append(s.differ, c.path)
		}
		// A server that cannot be reached does not have the file either.
		s.found = s.found || !c.fetched && !isAbsence(err)
		return nil, err
	}
	l := &loaded{from: c.path, beside: c.beside}
	if done != nil {
		l.close = append(l.close, done)
	}
	defer func() {
		if err != nil {
			l.release()
		}
	}()
	if in == nil {
		return nil, errNoFile
	}
	l.file, err = Open(in, size)
	// The debug file alone does not count: the program itself is not there.
	s.found = s.found || err != nil || l.file.mapsCode()
	if err != nil {
		return nil, err
	}
	if err = c.check(l.file); err != nil {
		s.differ = append(s.differ, c.path)
		return nil, err
	}
	if !l.file.mapsCode() {
		return nil, errNoOffset
	}
	if !l.file.hasSymbols() {
		s.differ = append(s.differ, r.findDebug(l, c)...)
	}
	return l, nil
}

// findDebug gives a stripped file its debug file if there is one. It returns the paths of those of other files.
func (r *Resolver) findDebug(l *loaded, c *candidate) (differ []string) {
	for _, name := range l.file.debugFiles(c.path, c.beside, r.debugDirs()) {
		in, size, err := OpenRegular(name)
		if err != nil {
			continue
		}
		debug, err := Open(in, size)
		if err == nil {
			err = l.file.useDebug(debug)
		}
		if err == nil {
			l.close = append(l.close, func() { in.Close() })
			return differ
		}
		if errors.Is(err, errBuildID) || errors.Is(err, errChecksum) {
			differ = append(differ, name)
		}
		in.Close()
	}
	return differ
}
