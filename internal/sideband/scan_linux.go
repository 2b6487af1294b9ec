package sideband

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"wprof/internal/proc"
)

// scan reports the processes that exist already: executable mappings and map files, and command lines if requested.
func (w *Watcher) scan(commands bool) error {
	pids, err := proc.PIDs("/proc")
	if err != nil {
		return fmt.Errorf("list the processes: %w", err)
	}
	w.visits.visit(pids, func(pid int, missed bool) {
		began := time.Now()
		commands := commands || missed
		out := w.scanProcess(uint32(pid), commands)
		if time.Since(began) > visitDeadline {
			// It may have changed between the time in the records and the reading.
			out = w.scanProcess(uint32(pid), commands)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.stopped {
			w.scans = append(w.scans, out...)
		}
	})
	return nil
}

// Unread returns the processes that could not be read so far, because they hang.
func (w *Watcher) Unread() []int { return w.visits.unread() }

// scanProcess reports one process. For one that ends meanwhile it reports what it could read.
func (w *Watcher) scanProcess(pid uint32, commands bool) (out []byte) {
	// Before the file is read: perf reports later changes with a later time.
	now := proc.Monotonic()
	tid, buf := readOf(pid, "maps", nil)
	if len(buf) == 0 {
		return nil // a thread of the kernel
	}
	var wanted []request
	for line := range bytes.Lines(buf) {
		r := Record{Kind: KindMap, Time: now, PID: pid, tid: tid}
		if parseLine(bytes.TrimSuffix(line, []byte("\n")), &r) {
			out, wanted = w.take(&r, out, wanted)
		}
	}
	w.opener.add(wanted)
	if commands {
		out = appendCommand(out, pid, now)
	}
	return out
}

// readOf reads a file of /proc about a process's memory, and returns the thread that it was read from: the first one until
// it ends, then any other. The text is empty for kernel threads.
func readOf(pid uint32, name string, buf []byte) (tid uint32, text []byte) {
	text, err := readAll(fmt.Sprintf("/proc/%d/%s", pid, name), buf)
	if err != nil || len(text) > 0 {
		return pid, text
	}
	others, err := proc.PIDs(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return pid, text
	}
	for _, other := range others {
		if other == int(pid) {
			continue
		}
		text, err = readAll(fmt.Sprintf("/proc/%d/%s", other, name), text)
		if err == nil && len(text) > 0 {
			return uint32(other), text
		}
	}
	return pid, text[:0]
}

// CommandLines returns the command lines of all processes, for a recording that needs nothing else of the side-band, and
// the processes that could not be read, because they hang.
func CommandLines() (records []byte, unread []int) {
	return CommandLinesAt(proc.Monotonic())
}

// CommandLinesAt is [CommandLines] with records of a given time.
func CommandLinesAt(at int64) (records []byte, unread []int) {
	pids, err := proc.PIDs("/proc")
	if err != nil {
		return nil, nil // without /proc they are unknown
	}
	var reader CommandReader
	records = reader.Read(pids, at)
	return records, reader.visits.unread()
}

// CommandReader reads the command lines of processes, without waiting for those that hang.
type CommandReader struct{ visits visitor }

// Read returns records of a time with the command lines of some processes.
func (c *CommandReader) Read(pids []int, at int64) (records []byte) {
	var mu sync.Mutex
	c.visits.visit(pids, func(pid int, _ bool) {
		record := appendCommand(nil, uint32(pid), at)
		mu.Lock()
		defer mu.Unlock()
		records = append(records, record...)
	})
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(records)
}

// WaitingName is argv[0] of a process of the recorder that waits to become a recorded command: it is no command line of anybody.
const WaitingName = "wprof-record: waiting to run"

// appendCommand appends the command line of a process, if it has one: threads of the kernel have none.
func appendCommand(b []byte, pid uint32, now int64) []byte {
	_, args := readOf(pid, "cmdline", nil)
	if len(args) == 0 || bytes.HasPrefix(args, []byte(WaitingName+"\x00")) {
		return b
	}
	r := Record{Kind: KindCommand, Time: now, PID: pid, Data: args[:min(len(args), maxData)], Cut: len(args) > maxData}
	return Append(b, &r)
}

// parseLine reads START-END PERMS OFFSET MAJOR:MINOR INODE PATH, see proc(5). False: the mapping is not executable.
func parseLine(line []byte, r *Record) bool {
	words := bytes.SplitN(line, []byte(" "), 6)
	if len(words) < 6 || len(words[1]) < 3 || words[1][2] != 'x' {
		return false
	}
	from, to, _ := bytes.Cut(words[0], []byte("-"))
	major, minor, _ := bytes.Cut(words[3], []byte(":"))
	var n [6]uint64
	for i, word := range [...][]byte{from, to, words[2], major, minor} {
		var err error
		if n[i], err = strconv.ParseUint(string(word), 16, 64); err != nil {
			return false
		}
	}
	inode, err := strconv.ParseUint(string(words[4]), 10, 64)
	if err != nil || n[1] <= n[0] {
		return false
	}
	r.Start, r.Length, r.Offset, r.Device, r.Inode = n[0], n[1]-n[0], n[2], n[3]<<32|n[4], inode
	r.Path = bytes.TrimLeft(words[5], " ")
	return string(r.Path) != "[vsyscall]"
}

// readAll reads a file of /proc into a buffer that is reused.
func readAll(path string, buf []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return buf[:0], err
	}
	defer f.Close()
	b := bytes.NewBuffer(buf[:0])
	_, err = b.ReadFrom(f)
	return b.Bytes(), err
}
