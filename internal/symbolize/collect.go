package symbolize

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/newfile"
	"wprof/internal/symbol"
	"wprof/internal/symbolarchive"
)

const (
	// maxCollected bounds the build-ids of an archive, and maxPaths the paths of one that are tried.
	maxCollected = 32 << 10
	maxPaths     = 8
)

// collect writes the functions of the build-ids in captures to an archive, and the lines at the places where captures have frames.
func collect(inv *cli.Invocation) error {
	for _, other := range []string{"output", "compress", "again", "demangle", "fail-on-loss"} {
		if inv.IsSet(other) {
			return cli.Usagef("--collect writes an archive and no stream: leave out --%s", other)
		}
	}
	wanted := &collection{modules: make(map[string]*collected), unmarked: make(map[string]struct{}), lines: !inv.Bool("no-lines")}
	var damage error // of the first damaged capture
	for _, name := range named(inv.Args) {
		damaged, err := wanted.readFile(inv, name)
		if err != nil {
			return err
		}
		if damage == nil {
			damage = damaged
		}
	}
	finder, err := newFinder(inv, streamSources(inv, new(string)))
	if err != nil {
		return err
	}
	defer finder.Close()
	out, err := inv.CreateOutput(inv.String("collect"), true)
	if err != nil {
		return err
	}
	defer out.Abort()
	missing, err := wanted.write(out, finder.Resolver, inv.Progress("collecting symbols"))
	if err != nil {
		return cli.Failf("write %s: %w", inv.String("collect"), err)
	}
	if err := out.Commit(); err != nil {
		return err
	}
	finder.report()
	for _, unread := range wanted.unread {
		inv.Warnf("%s", unread)
	}
	if wanted.places > maxAhead {
		inv.Warnf("the archive lacks the source lines of %d places beyond the first %d", wanted.places-maxAhead, maxAhead)
	}
	if len(missing) > 0 {
		inv.Warnf("%d of %d files have no symbols here, and are not in the archive: %s", len(missing), wanted.files, listed(missing))
	}
	if len(wanted.unmarked) > 0 {
		paths := slices.Sorted(maps.Keys(wanted.unmarked))
		inv.Warnf("the archive lacks files without a build-id, which can name their frames on this machine only: %s", listed(paths))
	}
	if wanted.more {
		inv.Warnf("the archive lacks files beyond the first %d", maxCollected)
	}
	if inv.Bool("verbose") {
		inv.Warnf("the archive has the functions of %d files", wanted.files-len(missing))
	}
	return damage
}

// named returns the names of the captures that arguments stand for.
func named(args []string) []string {
	if len(args) == 0 {
		return []string{"-"}
	}
	return args
}

// collection is the files with a build-id in which captures have frames.
type collection struct {
	modules  map[string]*collected // by build-id
	unmarked map[string]struct{}   // paths of files without a build-id that have frames without a name, at most maxUnread
	files    int                   // of modules; the others are kernels
	more     bool                  // than maxCollected
	lines    bool                  // are collected too
	places   int                   // different ones, also those beyond maxAhead
	unread   []error               // why lines are missing
}

// collected is one file.
type collected struct {
	paths   []*format.Module    // with different paths
	offsets map[uint64]struct{} // where lines are needed
}

// readFile reads the definitions of one capture: several need not share a timeline.
func (c *collection) readFile(inv *cli.Invocation, name string) (damaged, err error) {
	in, err := inv.OpenCapture("read", "the archive has what the rest needs", name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if spoolFile(in.In) != nil {
		return nil, cli.Failf("read %s: it is a spool; finish it first, with %s %[1]s -o FILE", in.Name, inv.Tool.Name)
	}
	r, err := in.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.SkipEvents()
	r.OnSectionDone(func() { c.addSection(r) })
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return nil, in.Error(err)
	}
	return in.Outcome(cli.CaptureResult{Damage: r.Damage()}, nil), nil
}

// addSection adds the modules of a section in which stacks have frames.
func (c *collection) addSection(r *format.Reader) {
	frames, modules := make(map[uint32]struct{}), make(map[uint32]*collected)
	for id := range r.StackIDs() {
		stack := r.Stack(format.StackID(id))
		if stack == nil {
			continue
		}
		for _, f := range stack.Frames {
			c.addFrame(r, f, frames, modules)
			if loop := r.Frame(f).GetLoop(); loop != 0 {
				c.addFrame(r, loop, frames, modules)
			}
		}
	}
}

// addFrame adds a frame that is not in frames yet, to which modules has the files.
func (c *collection) addFrame(r *format.Reader, id uint32, frames map[uint32]struct{}, modules map[uint32]*collected) {
	if _, seen := frames[id]; seen {
		return
	}
	frames[id] = struct{}{}
	frame := r.Frame(id)
	if frame == nil {
		return
	}
	in, seen := modules[frame.Module]
	m := r.Module(frame.Module)
	if m == nil || frame.Problem(m) != "" {
		return
	}
	if !seen {
		in = c.add(m)
		modules[frame.Module] = in
	}
	if len(frame.Lines) == 0 {
		c.addUnmarked(m)
	}
	c.addPlace(in, frame)
}

// add adds a file; nil: it is not collected.
func (c *collection) add(m *format.Module) *collected {
	isFile := format.ModuleKind(m.Kind) == format.ModuleKind_MODULE_FILE
	if len(m.BuildId) == 0 || !isFile && (!c.lines || !symbol.CanHaveLines(m)) {
		return nil
	}
	same := c.modules[string(m.BuildId)]
	if same == nil && len(c.modules) >= maxCollected {
		c.more = true
		return nil
	}
	if same == nil {
		same = &collected{offsets: make(map[uint64]struct{})}
		c.modules[string(m.BuildId)] = same
		if isFile {
			c.files++
		}
	}
	samePath := func(o *format.Module) bool { return string(o.Path) == string(m.Path) }
	if len(same.paths) < maxPaths && !slices.ContainsFunc(same.paths, samePath) {
		same.paths = append(same.paths, proto.Clone(m).(*format.Module))
	}
	return same
}

// addUnmarked adds the path of a file without a build-id.
func (c *collection) addUnmarked(m *format.Module) {
	if format.ModuleKind(m.Kind) == format.ModuleKind_MODULE_FILE && len(m.BuildId) == 0 && len(c.unmarked) < maxUnread {
		c.unmarked[string(m.Path)] = struct{}{}
	}
}

// addPlace adds the place of a frame in a file that may be nil.
func (c *collection) addPlace(in *collected, f *format.Frame) {
	if in == nil || !c.lines || f.Caller && f.Offset == 0 {
		return
	}
	offset := f.Offset
	if f.Caller {
		offset--
	}
	if _, known := in.offsets[offset]; known {
		return
	}
	if c.places++; c.places <= maxAhead {
		in.offsets[offset] = struct{}{}
	}
}

// write writes the archive. It returns the paths of files that it lacks.
func (c *collection) write(w io.Writer, r *symbol.Resolver, bar *cli.Progress) (missing []string, err error) {
	defer bar.Done()
	scratch, err := newfile.Temporary("wprof-symbols")
	if err != nil {
		return nil, err
	}
	defer newfile.Discard(scratch)
	defer scratch.Close()
	archive, err := symbolarchive.NewWriter(w, scratch)
	if err != nil {
		return nil, err
	}
	for i, id := range slices.Sorted(maps.Keys(c.modules)) {
		bar.Set(int64(i), int64(len(c.modules)))
		if err := c.writeOne(archive, r, c.modules[id], &missing); err != nil {
			return nil, err
		}
	}
	return missing, archive.Close()
}

// writeOne writes the functions and lines of one build-id, found by the first of its paths that leads to functions. Of the kernel it
// writes lines: captures have its functions.
func (c *collection) writeOne(archive *symbolarchive.Writer, r *symbol.Resolver, in *collected, missing *[]string) error {
	if m := in.paths[0]; format.ModuleKind(m.Kind) == format.ModuleKind_MODULE_KERNEL {
		return c.writeLines(archive, r, m, in)
	}
	for _, m := range in.paths {
		why, err := archive.Add(r, m)
		if err != nil {
			return err
		}
		if why == nil {
			return c.writeLines(archive, r, m, in)
		}
	}
	*missing = append(*missing, string(in.paths[0].Path))
	return nil
}

func (c *collection) writeLines(archive *symbolarchive.Writer, r *symbol.Resolver, m *format.Module, in *collected) error {
	offsets := slices.Sorted(maps.Keys(in.offsets))
	in.offsets = nil
	why, err := archive.AddLines(r, m, offsets)
	if why != nil && len(c.unread) < maxUnread {
		c.unread = append(c.unread, missingLines(m, why))
	}
	return err
}

// listed quotes the first of some paths.
func listed(paths []string) string {
	const shown = 3
	var quoted []string
	for _, p := range paths[:min(len(paths), shown)] {
		quoted = append(quoted, fmt.Sprintf("%q", p))
	}
	list := strings.Join(quoted, ", ")
	if len(paths) > shown {
		list += fmt.Sprintf(" and %d more", len(paths)-shown)
	}
	return list
}

// openArchives opens the archives that --symbol-archive names.
func openArchives(inv *cli.Invocation) (list []*symbolarchive.Archive, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close()
		}
	}
	for _, name := range inv.Strings("symbol-archive") {
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, nil, cli.Failf("read %s: %w", name, reasonOf(err))
		}
		files = append(files, f)
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = errNotRegular
		}
		var a *symbolarchive.Archive
		if err == nil {
			a, err = symbolarchive.Open(name, f, info.Size())
		}
		if err != nil {
			closeAll()
			return nil, nil, cli.Failf("read %s: %w", name, err)
		}
		list = append(list, a)
	}
	return list, closeAll, nil
}

// functionsIn returns a source of functions: the first archive that has a build-id.
func functionsIn(archives []*symbolarchive.Archive) func(buildID []byte) (*symbol.Table, error) {
	return func(buildID []byte) (table *symbol.Table, err error) {
		err = os.ErrNotExist
		for _, a := range archives {
			if table, err = a.Functions(buildID); err == nil {
				break
			}
		}
		return table, err
	}
}

// linesIn returns a source of lines: the first archive that has those of a build-id.
func linesIn(archives []*symbolarchive.Archive) func(buildID []byte) (io.Reader, error) {
	return func(buildID []byte) (io.Reader, error) {
		for _, a := range archives {
			if lines, err := a.Lines(buildID); err == nil {
				return lines, nil
			}
		}
		return nil, os.ErrNotExist
	}
}

var errNotRegular = errors.New("it is not a regular file")

// reasonOf is an error without the path, which messages name themselves.
func reasonOf(err error) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}
