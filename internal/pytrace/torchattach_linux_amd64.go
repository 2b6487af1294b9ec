package pytrace

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

//go:generate ./generate.sh ../torchagent_amd64.bin torchagent

//go:embed torchagent_amd64.bin
var torchImage []byte

// torchAgent is the agent for operators of PyTorch.
func torchAgent(shapes bool) agentKind {
	tt := &torchTarget{shapes: shapes}
	return agentKind{tt.examine, tt.mapAll}
}

func (tt *torchTarget) mapAll(m *mapper, _ uint64) error {
	fd, remote, err := m.makeMemory(torchSharedBytes)
	if err != nil {
		return err
	}
	m.memory = fd
	places := min(len(m.threads)+morePlaces, torchMaxThreads)
	// Here, so that it counts as the recorder's memory, as that for calls.
	if err := unix.Fallocate(fd, 0, 0, int64(torchThreadsAt+places*torchThreadBytes)); err != nil {
		return fmt.Errorf("allocate memory for its operators: %w", err)
	}
	shared, err := m.mapShared(remote, torchSharedBytes)
	if err != nil {
		return err
	}
	if m.t.own == 0 {
		if err := m.mapOwn(); err != nil {
			return err
		}
	}
	if m.agent = m.t.agent; m.agent == 0 {
		if err := m.mapAgent(&m.t.image); err != nil {
			return err
		}
	}
	if err := tt.configure(m, shared, uint64(places)); err != nil {
		return err
	}
	// In a child of fork(2), callbacks do nothing until here: what was configured then is not mapped there.
	return writeWord(m.t.pid, m.t.own, 1)
}

// mapOwn maps the page that children do not have.
func (m *mapper) mapOwn() (err error) {
	if m.t.own, err = m.mmap(0, pageBytes, readWrite, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, anonymous); err != nil {
		return err
	}
	_, err = m.call("mark memory", unix.SYS_MADVISE, m.t.own, pageBytes, unix.MADV_WIPEONFORK)
	return err
}

func (tt *torchTarget) configure(m *mapper, shared, places uint64) error {
	now := uint64(proc.Monotonic())
	var first [8]byte
	binary.LittleEndian.PutUint64(first[:], now)
	if _, err := unix.Pwrite(m.memory, first[:], controlHeartbeat); err != nil {
		return fmt.Errorf("write to its memory: %w", err)
	}
	l, f := &tt.layout, tt.functions
	c := torchConfig{
		InUse: 1, Deadline: now + uint64(StartWithin), Shared: shared, SharedBytes: torchSharedBytes, Own: m.t.own, Places: places,
		ClockGettime: m.t.clockGettime, AddPending: f[addPending], AddCallback: f[torchAdd], RemoveCallback: f[torchRemove],
		Name: f[torchName], Thread: f[torchThread], Async: f[torchIsAsync], Peek: f[torchPeek],
		Scope: l.scope, Sequence: l.sequence, Inputs: l.inputs, Forward: l.forward, Sizes: l.sizes, SizePolicy: l.sizePolicy, PolicyMask: l.policyMask,
	}
	if tt.shapes {
		c.Shapes = 1
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, &c); err != nil {
		return fmt.Errorf("encode the agent's configuration: %w", err)
	}
	m.isSet = true
	return writeMemory(m.t.pid, m.agent+m.t.image.config, b.Bytes())
}
