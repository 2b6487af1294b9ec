package columns

import (
	"io"
	"math"

	"wprof/format"
	"wprof/internal/container"
	"wprof/internal/records"
	"wprof/internal/stacks"
	"wprof/internal/timeline"
)

// Options select what is written.
type Options struct {
	Kinds    []records.Kind // nil: all
	NoStacks bool           // no files of stacks and frames, and no column that refers to a stack
	NUMA     bool           // the NUMA node of each event's CPU
	Python   stacks.PythonView
}

// Result is the result of writing.
type Result struct {
	Events         int64  // rows of files of events
	DroppedThreads int64  // see [timeline.Timeline]
	Lost           bool   // events are missing
	NotUTF8        string // the first text that held other bytes than UTF-8, as it is shown; "": none did
	Window         records.Window
}

// Limits of files: for the most frequent kinds of events, for other events and tasks, and for stacks.
func frequentLimits() pageLimits { return pageLimits{page: 256 << 10, dictionary: 64 << 10} }
func otherLimits() pageLimits    { return pageLimits{page: 32 << 10, dictionary: 32 << 10} }
func stackLimits() pageLimits    { return pageLimits{page: 64 << 10, dictionary: 256 << 10} }

// Write writes a stream as files, each to the writer that create returns for its name. Whatever ends the stream, the files are
// complete; errors of the stream come back after all before them has been written.
func Write(r *format.Reader, create func(name string) (io.Writer, error), o Options) (Result, error) {
	w := &writer{r: r, create: create, options: o}
	if err := w.begin(); err != nil {
		_ = w.end() // the files will be discarded
		return Result{}, err
	}
	err := timeline.Visit(r, w)
	w.endLastSection()
	isWhole := err == nil && r.Damage() == nil
	if endErr := w.complete(isWhole); endErr != nil {
		err = endErr
	}
	return Result{Events: w.events, Lost: w.Lost(), DroppedThreads: w.DroppedThreads(), NotUTF8: w.NotUTF8(), Window: w.Window()}, err
}

// writer is the [timeline.Visitor] that makes rows from its Maker's records.
type writer struct {
	*records.Maker
	r       *format.Reader
	create  func(name string) (io.Writer, error)
	options Options

	kinds   []kindFile // by kind
	types   typeFiles
	stacks  *stackFiles // nil: not written
	tasks   *file[taskRow]
	session *file[sessionRow]
	files   []ending

	nodes  map[uint32]int32 // of CPUs; nil: not written
	named  taskSet          // tasks that have a row
	shared shared
	ended  int // sections whose stacks are written
	events int64
	about  sessionRow
	failed error // while stacks were written
}

// kindFile is the file of a kind.
type kindFile struct {
	*file[event]
	tasks []taskField
}

// taskField is a field of a task in the kind's records.
type taskField struct{ index, slot int }

// ending is what files of any row type have in common when they end.
type ending interface {
	end()
	close() error
}

// begin begins all files.
func (w *writer) begin() error {
	w.Maker = records.NewMaker(w.r, records.Options{Kinds: w.options.Kinds, Python: w.options.Python}, w.record)
	w.Stacks().OnSectionDone(w.endSection)
	w.r.OnSectionEnd(func(end *format.End) {
		for _, l := range end.Losses {
			if !l.IsFault() {
				continue
			}
			w.about.lost = format.Sum(w.about.lost, int64(min(l.Count, math.MaxInt64)))
		}
	})
	if w.options.NUMA {
		w.nodes = records.Nodes(w.r.Session())
	}
	kinds := records.Kinds()
	w.kinds = make([]kindFile, len(kinds)+1)
	for _, k := range kinds {
		if !w.options.has(&k) {
			continue
		}
		f, err := create(w, k.Name, limitsOf(k.Kind), eventFields(&k, w.options))
		if err != nil {
			return err
		}
		w.kinds[k.Kind] = kindFile{f, taskFieldsOf(k.Fields)}
	}
	return w.beginOthers()
}

func limitsOf(k records.Kind) pageLimits {
	if k == records.Switch || k == records.Waking {
		return frequentLimits()
	}
	return otherLimits()
}

// create begins a file.
func create[R any](w *writer, name string, s pageLimits, fields []field[R]) (*file[R], error) {
	out, err := w.create(name + Extension)
	if err != nil {
		return nil, err
	}
	f, err := newFile(out, name, s, &w.shared, fields)
	if err != nil {
		return nil, err
	}
	w.files = append(w.files, f)
	return f, nil
}

func taskFieldsOf(fields []records.Field) (all []taskField) {
	for i, f := range fields {
		if f.Type == records.TypeTask || f.Type == records.TypeRenamed {
			all = append(all, taskField{i, f.Slot})
		}
	}
	return all
}

func (w *writer) beginOthers() (err error) {
	if !w.options.NoStacks {
		w.stacks = new(stackFiles)
		if w.stacks.stacks, err = create(w, stacksName, stackLimits(), stackFields()); err != nil {
			return err
		}
		if w.stacks.frames, err = create(w, framesName, stackLimits(), frameFields()); err != nil {
			return err
		}
	}
	if w.tasks, err = create(w, tasksName, otherLimits(), taskFields()); err != nil {
		return err
	}
	w.session, err = create(w, sessionName, otherLimits(), sessionFields())
	return err
}

// record adds a row for a record.
func (w *writer) record(r *records.Record) error {
	k := &w.kinds[r.Kind]
	if err := w.nameTasks(k, r); err != nil {
		return err
	}
	into := k.file
	if r.Type != nil {
		of, err := w.types.of(w, r.Type)
		if err != nil {
			return err
		}
		if of != nil {
			into = of
		}
	}
	row, err := into.add(textsOf(r, len(k.tasks)))
	if err != nil {
		return err
	}
	node := int32(-1)
	if n, known := w.nodes[r.CPU]; known {
		node = n
	}
	row.keep(r, node)
	w.events++
	return nil
}

// nameTasks adds rows for the tasks that occur in a record for the first time.
func (w *writer) nameTasks(k *kindFile, r *records.Record) error {
	for _, f := range k.tasks {
		if r.Lacks(f.index) {
			continue
		}
		t := r.Tasks[f.slot]
		if !w.named.add(t.Number) {
			continue
		}
		command := w.Command(t)
		cgroup := w.Cgroup(t)
		row, err := w.tasks.add(len(t.Comm) + len(t.PComm) + len(command) + 2*len(cgroup))
		if err != nil {
			return err
		}
		*row = taskRow{t, r.Time, command, cgroup, container.Of(cgroup)}
	}
	return nil
}

// endSection writes the stacks of the section that ends.
func (w *writer) endSection() {
	w.ended = w.r.Sections()
	if w.stacks == nil || w.failed != nil {
		return
	}
	n, err := w.stacks.write(w.Stacks())
	w.about.stackCount += n
	w.failed = err
}

// endLastSection writes the stacks of a section that the reader could not read to its end.
func (w *writer) endLastSection() {
	if w.ended != w.r.Sections() {
		w.endSection()
	}
}

// complete writes the row of the session and completes all files. Errors are those of writing.
func (w *writer) complete(isWhole bool) error {
	row, err := w.session.add(0)
	if err == nil {
		w.about.Session, w.about.window, w.about.isWhole = w.Session(), w.Window(), isWhole
		if w.options.NoStacks {
			w.about.Stacks = nil
		}
		*row = w.about
	}
	if err := w.end(); err != nil {
		return err
	}
	return w.failed
}

// end completes all files.
func (w *writer) end() error {
	for _, f := range w.files {
		f.end()
	}
	var first error
	for _, f := range w.files {
		if err := f.close(); first == nil {
			first = err
		}
	}
	return first
}
