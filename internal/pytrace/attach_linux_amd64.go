package pytrace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

// morePlaces are for threads that begin later. A thread that ends leaves its place to another one.
const morePlaces = 4

// StartWithin is how long the agent may take to start: then its start does nothing.
const StartWithin = 2 * time.Second

// agentKind is an agent: how it is prepared for a process, and mapped into it.
type agentKind struct {
	examine func(*target) error
	mapAll  func(m *mapper, interpreter uint64) error
}

func callAgent(set *settings) agentKind {
	return agentKind{
		func(*target) error { return nil },
		func(m *mapper, interpreter uint64) error { return m.mapAll(interpreter, set) },
	}
}

// attach puts the agent into a process and its start into the queue of pending calls. hand gets the memory that is shared with it, before anything is
// written there: if it fails, nothing stays in the process. It is for a goroutine that is locked to its thread.
func attach(pid int, kind agentKind, hand func(memory int) error) error {
	t, err := examine(pid)
	if err == nil {
		err = kind.examine(t)
	}
	if err != nil {
		return err
	}
	s, err := stop(pid)
	if err != nil {
		return err
	}
	return s.attach(t, kind, hand)
}

// attach is that for a process that is stopped. It lets it go on.
func (s *stopped) attach(t *target, kind agentKind, hand func(memory int) error) error {
	defer func() { s.resume() }()
	q, thread, err := s.await(t)
	if err != nil {
		return err
	}
	c, err := newCaller(thread, t.syscall)
	if err != nil {
		return err
	}
	m := &mapper{t: t, c: c, threads: s.threads, memory: -1}
	if err = t.recheck(); err == nil {
		err = kind.mapAll(m, q.interpreter)
	}
	if err == nil {
		err = hand(m.memory)
	}
	if err == nil && t.parents != 0 { // it then removes itself, which leaves room for this one's hooks
		err = q.add(t.parents+t.image.start, 0)
	}
	if err == nil {
		err = q.add(m.agent+t.image.start, 0)
	}
	if err != nil {
		m.undo()
	}
	m.closeRemote()
	if ended := c.end(); err == nil {
		err = ended
	}
	s.resume()
	if c.stops {
		_ = unix.Kill(s.pid, unix.SIGSTOP)
	}
	return err
}

// await waits for a moment at which nobody changes the queue of pending calls and a thread can execute system calls. It lets the process run in
// between.
func (s *stopped) await(t *target) (*queue, *tracee, error) {
	for range maxRounds {
		q, err := t.queue()
		if err != nil && !errors.Is(err, errLocked) {
			return nil, nil, err
		}
		if thread := s.usable(); err == nil && thread != nil {
			return q, thread, nil
		}
		if err := s.again(); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errors.New("its queue of pending calls stays locked, or all its threads stay in restartable sequences")
}

// mapper maps the agent and the shared memory.
type mapper struct {
	t       *target
	c       *caller
	threads map[int]*tracee
	memory  int      // descriptor of the shared memory; -1: none
	remote  []uint64 // descriptors there
	agent   uint64
	maps    [][2]uint64 // what was mapped
	isSet   bool        // the agent is configured
}

func (m *mapper) call(what string, number uint64, args ...uint64) (uint64, error) {
	n, err := m.c.call(number, args...)
	if err != nil {
		return 0, fmt.Errorf("%s in it: %w", what, err)
	}
	return n, nil
}

func (m *mapper) mmap(at, bytes, protection, flags, fd uint64) (uint64, error) {
	address, err := m.call("map memory", unix.SYS_MMAP, at, bytes, protection, flags, fd, 0)
	if err == nil && at == 0 {
		m.maps = append(m.maps, [2]uint64{address, bytes})
	}
	return address, err
}

// undo removes what was mapped.
func (m *mapper) undo() {
	if m.isSet {
		_ = writeWord(m.t.pid, m.agent+m.t.image.config, 0)
	}
	for _, one := range m.maps {
		_, _ = m.c.call(unix.SYS_MUNMAP, one[0], one[1])
	}
}

func (m *mapper) closeRemote() {
	for _, fd := range m.remote {
		_, _ = m.c.call(unix.SYS_CLOSE, fd)
	}
}

const (
	readWrite = unix.PROT_READ | unix.PROT_WRITE
	anonymous = ^uint64(0)
)

// allocatePlaces allocates the memory of some places of threads. It counts as the recorder's: if there is none, it is no harm to the process.
func allocatePlaces(fd, places int) error {
	if err := unix.Fallocate(fd, 0, 0, int64(threadsAt+places*threadBytes)); err != nil {
		return fmt.Errorf("allocate memory for its calls: %w", err)
	}
	return nil
}

func (m *mapper) mapAll(interpreter uint64, set *settings) error {
	image := m.t.image
	fd, remote, err := m.makeMemory(sharedBytes)
	if err != nil {
		return err
	}
	m.memory = fd
	places := min(len(m.threads)+morePlaces, maxThreads)
	if err := allocatePlaces(fd, places); err != nil {
		return err
	}
	shared, err := m.mapShared(remote, sharedBytes)
	if err != nil {
		return err
	}
	alive, err := m.mmap(0, pageBytes, readWrite, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, anonymous)
	if err != nil {
		return err
	}
	if _, err := m.call("mark memory", unix.SYS_MADVISE, alive, pageBytes, unix.MADV_WIPEONFORK); err != nil {
		return err
	}
	if err := writeWord(m.t.pid, alive, 1); err != nil {
		return err
	}
	if m.agent = m.t.agent; m.agent == 0 {
		if err := m.mapAgent(&image); err != nil {
			return err
		}
	}
	return m.configure(&image, set, interpreter, shared, alive, places)
}

// mapShared maps the shared memory, of which a program that locks all its memory must not have every page at once, a core dump none, and a child of
// fork(2) neither.
func (m *mapper) mapShared(remote, bytes uint64) (shared uint64, err error) {
	if shared, err = m.mmap(0, bytes, unix.PROT_NONE, unix.MAP_SHARED, remote); err != nil {
		return 0, err
	}
	for _, c := range []struct {
		what         string
		number, last uint64
	}{
		{"unlock memory", unix.SYS_MUNLOCK, 0}, {"mark memory", unix.SYS_MADVISE, unix.MADV_DONTDUMP}, {"mark memory", unix.SYS_MADVISE, unix.MADV_DONTFORK},
		{"protect memory", unix.SYS_MPROTECT, readWrite},
	} {
		if _, err := m.call(c.what, c.number, shared, bytes, c.last); err != nil {
			return 0, err
		}
	}
	return shared, nil
}

// mapAgent maps the agent from memory of its own, which stays as long as the mapping.
func (m *mapper) mapAgent(image *agentImage) error {
	code := uint64(len(image.code))
	fd, remote, err := m.makeMemory(int64(code))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Pwrite(fd, image.code, 0); err != nil {
		return fmt.Errorf("write the agent: %w", err)
	}
	if m.agent, err = m.mmap(0, image.bytes, readWrite, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, anonymous); err != nil {
		return err
	}
	_, err = m.mmap(m.agent, code, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_FIXED, remote)
	return err
}

// makeMemory makes memory there, and takes a descriptor of it. Sealed, it cannot be made shorter, which would end with a signal whoever reads it.
func (m *mapper) makeMemory(size int64) (fd int, remote uint64, err error) {
	if remote, err = m.call("make memory", unix.SYS_MEMFD_CREATE, m.t.zeros, unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC); err != nil {
		return -1, 0, err
	}
	m.remote = append(m.remote, remote)
	process, err := unix.PidfdOpen(m.t.pid, 0)
	if err != nil {
		return -1, 0, fmt.Errorf("open it: %w", err)
	}
	defer unix.Close(process)
	if fd, err = unix.PidfdGetfd(process, int(remote), 0); err != nil {
		return -1, 0, fmt.Errorf("take a descriptor of it: %w", err)
	}
	if err = sizeMemory(fd, size); err != nil {
		_ = unix.Close(fd)
		return -1, 0, err
	}
	return fd, remote, nil
}

func sizeMemory(fd int, size int64) error {
	// Only memory has seals, and fresh memory none: this is no other file.
	if has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || has != 0 {
		return errors.New("its memory is not as it was made")
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		return fmt.Errorf("make memory: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("seal memory: %w", err)
	}
	return checkMemory(fd, size)
}

// checkMemory refuses memory that may become shorter.
func checkMemory(fd int, size int64) error {
	has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || has&unix.F_SEAL_SHRINK == 0 {
		return errors.New("its memory is not sealed")
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != size {
		return errors.New("its memory has another size")
	}
	return nil
}

func (m *mapper) configure(image *agentImage, set *settings, interpreter, shared, alive uint64, places int) error {
	t, now := m.t, uint64(proc.Monotonic())
	var first [controlBytes]byte
	binary.LittleEndian.PutUint64(first[controlHeartbeat:], now)
	binary.LittleEndian.PutUint64(first[controlPlaces:], uint64(places))
	binary.LittleEndian.PutUint64(first[controlBeat:], set.ticksNow(now))
	if _, err := unix.Pwrite(m.memory, first[:], 0); err != nil {
		return fmt.Errorf("write to its memory: %w", err)
	}
	l, in, f := &t.layout, t.in, t.functions
	c := config{
		InUse: 1, Deadline: now + uint64(StartWithin), Shared: shared, SharedBytes: sharedBytes, Alive: alive, Interpreter: interpreter,
		ClockGettime: t.clockGettime, ThreadGet: f["PyThreadState_Get"], Incref: f["Py_IncRef"], Decref: f["Py_DecRef"], SysGet: f["PySys_GetObject"],
		GetAttribute: f["PyObject_GetAttrString"], Call: f["PyObject_CallFunction"], NewFunction: f["PyCFunction_NewEx"], AsLong: f["PyLong_AsLong"],
		ClearError: f["PyErr_Clear"], None: f["_Py_NoneStruct"], Minor: uint64(in.Minor),
		Threads: in.Threads, NextThread: in.NextThread, ThreadID: l.threadNumber, Profile: l.profile, Trace: l.trace, Tracing: l.tracing,
		Cframe: l.cframe, UseTracing: l.useTracing, Frame: l.frame, FrameCode: l.frameCode,
		CodeName: in.Qualname, CodeFile: in.Filename, CodeLine: in.FirstLine, TextLength: in.TextLength, TextState: in.TextState, TextKind: in.TextKind,
		TextASCII: in.ASCII, TextCompact: in.Compact,
	}
	set.configure(&c)
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, &c); err != nil {
		return fmt.Errorf("encode the agent's configuration: %w", err)
	}
	m.isSet = true
	return writeMemory(t.pid, m.agent+image.config, b.Bytes())
}
