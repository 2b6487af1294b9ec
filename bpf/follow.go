//go:build linux

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"wprof/internal/ringdata"
)

// process is a process as the task iterator lists it.
type process struct {
	pid, ppid int32
	start     int64 // task_struct.start_time
	name      string
}

// processKey mirrors struct process_key in filter.h.
type processKey struct {
	Start int64
	PID   uint64
}

func (p process) key() processKey { return processKey{p.start, uint64(p.pid)} }

// FollowChildrenOf lets a process and its descendants, existing and later ones, meet the process
// condition. It needs [Options.Follow] or [Filter.Children].
func (t *Tracer) FollowChildrenOf(pid int) error {
	p, err := t.toFollow(pid)
	if err != nil {
		return err
	}
	if err := t.follow(p); err != nil {
		return err
	}
	return t.seedFollowed()
}

// FollowFromExec is FollowChildrenOf from the next exec of a process on, that included. Threads that the exec ends are left out. It is
// for one process, without children. After the exec [Tracer.Executed] is to be called.
func (t *Tracer) FollowFromExec(pid int) error {
	p, err := t.toFollow(pid)
	if err != nil {
		return err
	}
	t.awaited = p
	if err := t.collection.Variables["awaited"].Set(p.key()); err != nil {
		return fmt.Errorf("follow process %d from its exec on: %w", pid, err)
	}
	return nil
}

// Executed lets the process of FollowFromExec be followed if the kernel has skipped the program at its exec, which it does while another
// exec is in that program on the same CPU.
func (t *Tracer) Executed() error {
	var at uint64
	if err := t.collection.Variables["awaited_exec_ns"].Get(&at); err != nil || at != 0 {
		return err
	}
	if p, err := t.toFollow(int(t.awaited.pid)); err != nil || p.key() != t.awaited.key() {
		return nil // it has ended
	}
	return t.FollowChildrenOf(int(t.awaited.pid))
}

func (t *Tracer) toFollow(pid int) (process, error) {
	if t.options.Filter.children(t.options.Follow) != childrenMeetProcess {
		return process{}, errors.New("follow the children of a process: there is no process condition that they could meet")
	}
	processes, err := t.processes()
	if err != nil {
		return process{}, err
	}
	i := slices.IndexFunc(processes, func(p process) bool { return p.pid == int32(pid) })
	if i < 0 {
		return process{}, fmt.Errorf("follow the children of process %d: it does not exist", pid)
	}
	return processes[i], nil
}

// seedFollowed adds the existing descendants. The programs follow forks already, and as long as seeding
// is set they look up all ancestors, so that no process is missed because its parent is added after its fork.
func (t *Tracer) seedFollowed() error {
	if t.options.Filter.children(t.options.Follow) == childrenNone {
		return nil
	}
	if err := t.setSeeding(true); err != nil {
		return err
	}
	processes, err := t.processes()
	if err != nil {
		return err
	}
	isRoot, err := t.roots()
	if err != nil {
		return err
	}
	for _, p := range descendants(processes, isRoot) {
		if err := t.follow(p); err != nil {
			return err
		}
	}
	return t.setSeeding(false)
}

func (t *Tracer) follow(p process) error {
	if err := t.collection.Maps["followed"].Put(p.key(), uint8(1)); err != nil {
		return fmt.Errorf("follow process %d: %w", p.pid, err)
	}
	return nil
}

// FollowFailures returns how many descendants are not followed because there were too many at a time (65,536).
func (t *Tracer) FollowFailures() (uint64, error) {
	var n uint64
	if err := t.collection.Variables["follow_failures"].Get(&n); err != nil {
		return 0, fmt.Errorf("read the number of processes that are not followed: %w", err)
	}
	return n, nil
}

func (t *Tracer) setSeeding(on bool) error {
	if err := t.collection.Variables["seeding"].Set(on); err != nil {
		return fmt.Errorf("follow the existing processes: %w", err)
	}
	return nil
}

// roots returns the processes whose descendants are followed.
func (t *Tracer) roots() (func(process) bool, error) {
	filter := &t.options.Filter
	followed, err := t.followed()
	if err != nil {
		return nil, err
	}
	byName := filter.children(t.options.Follow) == childrenMeetName
	return func(p process) bool {
		return followed[p.key()] || slices.Contains(filter.PIDs, p.pid) || byName && matchesAny(filter.Names, p.name)
	}, nil
}

func (t *Tracer) followed() (map[processKey]bool, error) {
	all := make(map[processKey]bool)
	var key processKey
	var one uint8
	entries := t.collection.Maps["followed"].Iterate()
	for entries.Next(&key, &one) {
		all[key] = true
	}
	if err := entries.Err(); err != nil {
		return nil, fmt.Errorf("read which processes are followed: %w", err)
	}
	return all, nil
}

// Followed is the set of existing descendants of processes that are recorded with them. It does not need the tracer.
type Followed struct{ processes *ebpf.Map }

// Followed returns nil if descendants are not recorded.
func (t *Tracer) Followed() *Followed {
	if t.options.Filter.children(t.options.Follow) == childrenNone {
		return nil
	}
	processes, err := t.collection.Maps["followed"].Clone()
	if err != nil {
		return nil
	}
	return &Followed{processes}
}

// Any reports whether a condition on the process id holds for any. Processes that have ended are in the set until they are waited for.
func (f *Followed) Any(holds func(pid int32) bool) bool {
	if f == nil {
		return false
	}
	var key processKey
	var one uint8
	for entries := f.processes.Iterate(); entries.Next(&key, &one); {
		if holds(int32(key.PID)) {
			return true
		}
	}
	return false
}

// Close releases the set.
func (f *Followed) Close() {
	if f != nil {
		_ = f.processes.Close()
	}
}

// descendants returns the descendants of the roots, without the roots.
func descendants(processes []process, isRoot func(process) bool) []process {
	children := make(map[int32][]process)
	var queue, found []process
	for _, p := range processes {
		children[p.ppid] = append(children[p.ppid], p)
		if isRoot(p) {
			queue = append(queue, p)
		}
	}
	seen := make(map[int32]bool)
	for len(queue) > 0 {
		next := children[queue[0].pid]
		queue = queue[1:]
		for _, p := range next {
			if !seen[p.pid] {
				seen[p.pid] = true
				found = append(found, p)
				queue = append(queue, p)
			}
		}
	}
	return found
}

// matchesAny compares as glob_matches in filter.h does: only * and ? are special.
func matchesAny(globs []string, name string) bool {
	special := strings.NewReplacer(`\`, `\\`, `[`, `\[`)
	return slices.ContainsFunc(globs, func(glob string) bool {
		// For path.Match, * and ? match no slash: slashes are replaced by another byte.
		flat := strings.NewReplacer("/", "\x01")
		ok, err := path.Match(flat.Replace(special.Replace(glob)), flat.Replace(name))
		return err == nil && ok
	})
}

func (t *Tracer) processes() ([]process, error) {
	var tasks bytes.Buffer
	if err := t.ReadTasks(&tasks); err != nil {
		return nil, err
	}
	var all []process
	for record := range slices.Chunk(tasks.Bytes(), ringdata.TaskSize) {
		ident := record[ringdata.TaskIdent:]
		number := func(at int) int32 { return int32(binary.NativeEndian.Uint32(ident[at:])) }
		pid := number(ringdata.IdentPID)
		if number(ringdata.IdentTID) != pid {
			continue
		}
		name, _, _ := bytes.Cut(ident[ringdata.IdentProcessComm:][:ringdata.IdentProcessCommSize], []byte{0})
		start := int64(binary.NativeEndian.Uint64(ident[ringdata.IdentStartNS:]))
		all = append(all, process{pid, number(ringdata.IdentPPID), start, string(name)})
	}
	return all, nil
}
