package columns

import (
	"errors"
	"io"
	"slices"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/timeline"
)

// Options say what is written.
type Options struct {
	Kinds    []records.Kind // nil: all
	NoStacks bool           // no files of stacks and frames
	Numa     bool           // the NUMA node of each event's CPU
}

// Result is what writing came to.
type Result struct {
	Events  int64  // rows of files of events
	Lost    bool   // events are missing
	NotUTF8 string // the first text that held other bytes than UTF-8, as it is shown; "": none did
	Window  records.Window
}

// Bytes of a column's dictionary, beyond which a row group has texts as they are.
const (
	taskDictionary = 256 << 10
	nameDictionary = 1 << 20
)

// Write writes a stream as files, each into what create makes of its name. Whatever ends the stream, the files are
// complete; errors of the stream come back after all before them has been written.
func Write(r *format.Reader, create func(name string) (io.Writer, error), o Options) (Result, error) {
	w := &writer{r: r, create: create, options: o}
	if err := w.begin(); err != nil {
		w.end() // nobody wants what it says: the files will be thrown away
		return Result{}, err
	}
	err := timeline.Visit(r, w)
	if leaveErr := w.leaveLast(); err == nil {
		err = leaveErr
	}
	if endErr := w.end(); endErr != nil {
		err = endErr
	}
	return Result{Events: w.events, Lost: w.Lost(), NotUTF8: w.NotUTF8(), Window: w.Window()}, err
}

// writer is the [timeline.Visitor] that makes rows of what its Maker makes of a stream.
type writer struct {
	*records.Maker
	r       *format.Reader
	create  func(name string) (io.Writer, error)
	options Options

	kinds  [records.MaxKind + 1]kindFile
	stacks *stackFiles // nil: not wanted
	tasks  *file[taskRow]
	files  []ending

	nodes      map[uint32]int32 // of CPUs
	told       told
	left       int // sections whose stacks are written
	events     int64
	stackCount int64
	session    records.Session
	leaveErr   error
}

// kindFile is the file of a kind.
type kindFile struct {
	*file[event]
	tasks []taskField
}

// taskField is where a record of the kind has a task.
type taskField struct{ number, slot int }

// ending is how files of all kinds of rows end.
type ending interface {
	end()
	close() error
}

// begin begins all files, and has the section's stacks written before the Maker forgets them.
func (w *writer) begin() error {
	w.r.OnLeave(w.leave)
	w.Maker = records.NewMaker(w.r, w.options.Kinds, w.record)
	w.session = records.Describe(w.r.Session())
	for _, k := range records.Kinds() {
		if k.Source == 0 || w.options.Kinds != nil && !slices.Contains(w.options.Kinds, k.Kind) {
			continue
		}
		out, err := w.create(k.Name + Extension)
		if err != nil {
			return err
		}
		f := newFile(out, k.Name, taskDictionary, eventFields(&k, w.options.Numa)...)
		w.kinds[k.Kind] = kindFile{f, taskFieldsOf(k.Fields)}
		w.files = append(w.files, f)
	}
	return w.beginOthers()
}

// Extension ends the names of files.
const Extension = ".parquet"

func taskFieldsOf(fields []records.Field) (all []taskField) {
	for i, f := range fields {
		if f.Type == records.TypeTask || f.Type == records.TypeRenamed {
			all = append(all, taskField{i, f.Slot})
		}
	}
	return all
}

func (w *writer) beginOthers() error {
	if !w.options.NoStacks {
		stacks, err := w.create("stacks" + Extension)
		if err != nil {
			return err
		}
		frames, err := w.create("frames" + Extension)
		if err != nil {
			return err
		}
		w.stacks = newStackFiles(stacks, frames)
		w.files = append(w.files, w.stacks.stacks, w.stacks.frames)
	}
	tasks, err := w.create("tasks" + Extension)
	if err != nil {
		return err
	}
	w.tasks = newFile(tasks, "tasks", taskDictionary, taskFields()...)
	w.files = append(w.files, w.tasks)
	return nil
}

// NewSection implements [timeline.Visitor].
func (w *writer) NewSection(s *format.Session) error {
	if w.leaveErr != nil {
		return w.leaveErr
	}
	if w.options.Numa {
		w.nodes = make(map[uint32]int32)
		for _, c := range s.Cpus {
			w.nodes[c.GetId()] = c.GetNode()
		}
	}
	return w.Maker.NewSection(s)
}

// record makes a row of a record.
func (w *writer) record(r *records.Record) error {
	k := &w.kinds[r.Kind]
	if err := w.tell(k, r); err != nil {
		return err
	}
	row, err := k.add(textsOf(r, len(k.tasks)))
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

// tell makes rows of the tasks that a record is the first to name.
func (w *writer) tell(k *kindFile, r *records.Record) error {
	for _, f := range k.tasks {
		if r.Lacks(f.number) {
			continue
		}
		t := r.Tasks[f.slot]
		if !w.told.add(t.Number) {
			continue
		}
		row, err := w.tasks.add(len(t.JSON) + len(t.Command))
		if err != nil {
			return err
		}
		*row = taskRow{t, r.Time}
	}
	return nil
}

// leave writes the stacks of the section that ends.
func (w *writer) leave() {
	w.left = w.r.Sections()
	if w.stacks == nil || w.leaveErr != nil {
		return
	}
	var n int64
	n, w.leaveErr = w.stacks.write(w.Stacks())
	w.stackCount += n
}

// leaveLast writes the stacks of a section that the reader could not read to its end.
func (w *writer) leaveLast() error {
	if w.left != w.r.Sections() {
		w.leave()
	}
	return w.leaveErr
}

// end completes all files.
func (w *writer) end() error {
	for _, f := range w.files {
		f.end()
	}
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}
