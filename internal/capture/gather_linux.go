package capture

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"wprof/bpf"
	"wprof/format"
	"wprof/internal/ringdata"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/tracepoint"
)

// gather reads what exists already, and reports from then on what changes: threads, code and modules. It is as late as possible: what it
// reports takes memory until the window opens.
func (r *recorder) gather() (err error) {
	if r.hotplug.isStarted() {
		r.watchAnew()
	}
	if r.code == nil && r.cfg.Stacks.Any() {
		r.code = beginCode()
	}
	if r.tasks, err = r.taskLists(); err != nil {
		return err
	}
	if r.code != nil {
		if err := r.code.watch(r.tracer, filesNeeded(r.cfg)+maxWanted); err != nil {
			return err
		}
		r.unwind.useFiles(r.code.watcher.Files())
		r.drain.side = r.code.watcher.Drain
		if err := r.code.gather(r.tracer, !r.cfg.isScheduled()); err != nil {
			return err
		}
	}
	if r.cfg.isScheduled() {
		r.unwind.walkBlocked()
		if r.threads, err = countThreads(r.tracer); err != nil {
			return err
		}
	}
	r.hotplug.start(r.cameOnline, r.modulesChanged)
	r.gathered = true
	return nil
}

// forget undoes gather, when the window is to open much later than before.
func (r *recorder) forget() {
	r.watchAnew()
	if r.code != nil {
		r.unwind.useFiles(nil)
		r.drain.side = nil
		r.code.Close()
		r.code = nil
	}
	r.tasks = nil
	r.hotplug.start(r.addCPU, nil)
	r.gathered = false
}

// watchAnew replaces the reader of the kernel's messages; it may report one twice, and misses none.
func (r *recorder) watchAnew() {
	next, _ := openHotplug()
	r.hotplug.close()
	r.hotplug = next
}

// begin begins the spool, with what was gathered. The command lines of processes are read now where the window opens some time after gather:
// later ones are in the rings.
func (r *recorder) begin(session *format.Session) error {
	cfg := r.cfg
	header := spool.Header{
		Session: session, Rings: len(r.drain.rings), RecorderPID: os.Getpid(), NoSched: cfg.Kernel.Off&format.GroupSched != 0, Sources: cfg.Stacks.sources(),
		Stacks: cfg.Stacks.Any(), OffCPUMin: cfg.OffCPUMin.Nanoseconds(),
	}
	if err := r.writer.Begin(header); err != nil {
		return err
	}
	layouts, err := tracepoint.AppendLayouts(nil, slices.Concat(cfg.Kernel.Tracepoints, cfg.ProbeTypes, cfg.PMUTypes))
	if err != nil {
		return err
	}
	if err := r.writer.Layouts(layouts); err != nil {
		return err
	}
	if err := r.beginSide(); err != nil {
		return err
	}
	return r.flight.start(r.writer, r.files())
}

// beginSide begins the side-band with what is mapped and with the command lines, which [recorder.gather] may have read.
func (r *recorder) beginSide() error {
	if r.code != nil {
		mapped, err := r.code.write(r.writer)
		if err != nil {
			return err
		}
		if err := r.drain.sink.Sideband(mapped); err != nil || !r.cfg.isScheduled() {
			return err
		}
	}
	var commands []byte
	commands, r.unread = sideband.CommandLines()
	if r.code == nil {
		return r.writer.Sideband(commands)
	}
	return r.drain.sink.Sideband(commands)
}

// files are the files of code; nil: no code is recorded.
func (r *recorder) files() *sideband.Files {
	if r.code == nil {
		return nil
	}
	return r.code.watcher.Files()
}

// modulesChanged reports the functions of kernel modules that were loaded, and the modules that were unloaded.
func (r *recorder) modulesChanged() {
	if r.code != nil {
		r.code.modulesChanged()
	}
}

// cameOnline opens the events of a CPU that was offline when the recording began, or has been since. Its switches and wakeups are
// recorded in any case.
func (r *recorder) cameOnline(cpu int) {
	if r.code != nil {
		if err := r.code.watcher.AddCPU(cpu); err != nil {
			r.couldNotAdd(cpu, err)
			return
		}
	}
	r.addCPU(cpu)
}

func (r *recorder) addCPU(cpu int) {
	if err := r.tracer.AddCPU(cpu); err != nil {
		r.couldNotAdd(cpu, err)
	}
}

func (r *recorder) couldNotAdd(cpu int, err error) {
	r.notAdded = errors.Join(r.notAdded, fmt.Errorf("CPU %d came online: %w", cpu, err))
}

// countThreads counts the threads that a list has.
func countThreads(tracer *bpf.Tracer) (int, error) {
	var bytes byteCount
	err := tracer.ReadTasks(&bytes)
	return int(bytes) / ringdata.TaskSize, err
}

type byteCount int

func (n *byteCount) Write(b []byte) (int, error) {
	*n += byteCount(len(b))
	return len(b), nil
}
