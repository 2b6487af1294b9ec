package assemble

import (
	"bytes"
	"encoding/binary"
	encodedhex "encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wprof/format"
	"wprof/internal/merge"
	"wprof/internal/ringdata"
	"wprof/internal/spool"
)

// Spools are written as text, one action of the recorder a line, in the order of the file:
//
//	spool rings=2 recorder=9       begins it; also nosched=1, cpus=2, stacks=1, offcpumin=1000; packed=1: records are
//	                               packed as the programs pack them
//	task at=900 tid=10 comm=a ...  a thread of a list; lists end with any other line
//	clocks 950                     a snapshot
//	open 1000                      the window opens
//	0: 1010 switch cpu=0 prev=10 next=11 state=1
//	                               a record goes into ring 0
//	busy 0                         records from here on stay in ring 0, behind one that is being written
//	commit 0                       until here
//	round 1100                     a round: all but what is busy goes into the file
//	bump 1, cut 1300               generations
//	slice                          the list of tasks goes on after the rounds that follow
//	begin                          a list of tasks begins; the one before it may have no end
//	source 1 1000000               before spool: samples are taken every ms
//	kallsyms 0xffffffff81000000    the address of _text; at +0x100 stands what calls a kernel program, at +0x300 what is
//	                               probed by one
//	module x 0x1000 0xffffffffc0000000
//	                               a kernel module: name, size and address
//	kernelid aa                    the kernel's build-id
//	side 1005 map pid=10 from=0x400000 to=0x500000 off=0x1000 path=/bin/a build=aa
//	                               a side-band record; also fork, exec, exit, lost, throttled, unthrottled,
//	                               command, kept, jit, function and gone
//	blocked tid=10 pid=10 kernel=0xffffffff81000510 user=0x400456
//	                               a thread of the list that is made when the window has closed; python=... are words of frames
//	listedcode pid=10 id=0x1 ...   a code object of that list, as a record "code"
//	lost cpu=0 kind=1 count=3 from=1200 cause=tail
//	end 2000                       with these losses
//
// and then what happens to the file:
//
//	drop generations 1             the first one is taken away
//	flip 0 2                       a bit of the 3rd chunk of ring 0 changes
//	lose 0 2                       that chunk is not there; ring -1 is the side-band
//	truncate 20                    so many bytes are missing at the end
type spoolText struct {
	w       *spool.Writer
	rings   []textRing
	listing []byte
	tail    spool.Tail
	sources []*format.Source
	blocked []byte
	packed  bool
	side    []byte             // records of the round
	step    func(after string) // called after each line that writes, for live tests
}

type textRing struct {
	pending  []byte
	drained  uint64
	produced uint64
	busyAt   int // in pending; -1: not
	running  uint32
	base     int64 // time of the last whole switch or waking; 0: the next one is whole
}

// writeSpool makes the spool and returns the path of its file.
func writeSpool(text, path string) error {
	w, err := spool.Create(path)
	if err != nil {
		return err
	}
	defer w.Close()
	p := &spoolText{w: w}
	return p.run(text, path)
}

func (p *spoolText) run(text, path string) error {
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := p.line(words, path); err != nil {
			return fmt.Errorf("line %d: %s: %w", n+1, line, err)
		}
		if p.step != nil {
			p.step(words[0])
		}
	}
	return nil
}

func (p *spoolText) line(words []string, path string) error {
	if words[0] != "task" {
		if err := p.writeList(words[0] != "slice"); err != nil {
			return err
		}
	}
	number := func(i int) int64 {
		if i >= len(words) {
			return 0
		}
		v, _ := strconv.ParseInt(words[i], 0, 64)
		return v
	}
	f := fieldsOf(words)
	switch words[0] {
	case "spool":
		p.rings = make([]textRing, f.number("rings"))
		for i := range p.rings {
			p.rings[i].busyAt = -1
		}
		p.packed = f.number("packed") != 0
		s := &format.Session{Id: 0x1234567890, BootId: "boot", Host: "box", Machine: f["machine"]}
		for i := range f.number("cpus") {
			s.Cpus = append(s.Cpus, &format.Cpu{Id: uint32(i)})
		}
		return p.w.Begin(spool.Header{Session: s, Rings: len(p.rings), RecorderPID: int(f.number("recorder")), NoSched: f.number("nosched") != 0, Sources: p.sources,
			Stacks: f.number("stacks") != 0, OffCPUMin: f.number("offcpumin")})
	case "source":
		p.sources = append(p.sources, &format.Source{Id: uint32(number(1)), Name: "timer", Period: number(2)})
	case "kallsyms":
		base := hex(words[1])
		packed, err := spool.PackKallsyms(strings.NewReader(fmt.Sprintf("0000000000000000 A fixed_percpu_data\n%016x T _text\n"+
			"%016x t __traceiter_sched_exit_tp\n%016x T other\n%016x t finish_task_switch.isra.0\n%016x T another\n",
			base, base+0x100, base+0x200, base+0x300, base+0x400)))
		if err != nil {
			return err
		}
		return p.w.Kallsyms(packed)
	case "module":
		return p.w.Modules(fmt.Appendf(nil, "%s %d 0 - Live 0x%016x\n", words[1], number(2), hex(words[3])))
	case "kernelid":
		id, err := strconv.ParseUint(words[1], 16, 8)
		if err != nil {
			return err
		}
		return p.w.KernelBuildID([]byte{byte(id)})
	case "side":
		p.side = appendSide(p.side, number(1), words[2], f)
	case "slice": // what it means was done above
	case "begin":
		p.w.BeginTasks()
	case "task":
		p.listing = append(p.listing, f.task()...)
	case "clocks":
		return p.w.Clocks(&format.ClockSnapshot{Monotonic: number(1), Boottime: number(1) + 5, Realtime: number(1) + 1e9})
	case "open":
		return p.w.Open(number(1))
	case "busy":
		p.rings[number(1)].busyAt = len(p.rings[number(1)].pending)
	case "commit":
		p.rings[number(1)].busyAt = -1
	case "round":
		return p.round(number(1))
	case "bump":
		for i := range p.rings {
			p.rings[i].base = 0
		}
		return p.w.BumpGeneration(uint32(number(1)))
	case "cut":
		at := number(1)
		return p.w.Cut(&format.ClockSnapshot{Monotonic: at, Boottime: at + 5, Realtime: at + 1e9})
	case "lost":
		p.tail.Losses = append(p.tail.Losses, spool.Loss{
			CPU: uint32(f.number("cpu")), Kind: format.Kind(f.number("kind")), Count: uint64(f.number("count")),
			Cause: format.CauseTail, From: f.number("from"),
		})
	case "blocked":
		p.blocked = append(p.blocked, f.blocked()...)
	case "listedcode":
		code, err := recordOf("code", 0, f)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(code[ringdata.HdrTID:], uint32(len(code)))
		p.blocked = append(p.blocked, code...)
	case "end":
		if err := p.w.Blocked(p.blocked); err != nil {
			return err
		}
		p.tail.Close = number(1)
		return p.w.End(p.tail)
	case "drop", "flip", "lose", "truncate":
		return injure(path, words[0], int(number(1)), int(number(2)))
	default:
		ring, err := strconv.Atoi(strings.TrimSuffix(words[0], ":"))
		if err != nil || ring >= len(p.rings) || len(words) < 3 {
			return errors.New("no such action")
		}
		r := &p.rings[ring]
		record, err := recordOf(words[2], number(1), f)
		if err != nil {
			return err
		}
		before := len(r.pending)
		if p.packed && r.packs(ring, record) {
			r.pending = appendPacked(r.pending, record)
		} else {
			r.pending = appendRecord(r.pending, record)
		}
		r.produced += uint64(len(r.pending) - before)
	}
	return nil
}

// packs reports whether the programs would pack a record, see bpf/pack.h, and keeps the state that the next one is packed by.
func (r *textRing) packs(ring int, record []byte) bool {
	const within = 1 << 26 // PACKED_WITHIN_NS
	le := binary.LittleEndian
	kind, tid, time := record[ringdata.HdrKind], le.Uint32(record[ringdata.HdrTID:]), merge.RecordTime(record)
	if kind != ringdata.KindSwitch && kind != ringdata.KindWaking && kind != ringdata.KindWakeupNew && kind != ringdata.KindReturn {
		return false
	}
	if int(le.Uint16(record[ringdata.HdrCPU:])) != ring {
		return false
	}
	packs := r.base != 0 && time-r.base < within && tid == r.running
	if kind == ringdata.KindReturn {
		return packs
	}
	if !packs {
		r.base, r.running = time, tid
	}
	if kind == ringdata.KindSwitch {
		r.running = le.Uint32(record[ringdata.SwitchNextTID:])
	}
	return packs
}

// writeList writes the tasks of the lines before, and ends their list if no more of it follows.
func (p *spoolText) writeList(ends bool) error {
	list := p.listing
	if len(list) == 0 {
		return nil
	}
	p.listing = nil
	if err := p.w.Tasks(list); err != nil || !ends {
		return err
	}
	return p.w.EndTasks()
}

func (p *spoolText) round(at int64) error {
	if err := p.w.Sideband(p.side); err != nil {
		return err
	}
	p.side = p.side[:0]
	r := spool.Round{Time: at}
	for i := range p.rings {
		ring := &p.rings[i]
		n := len(ring.pending)
		if ring.busyAt >= 0 {
			n = ring.busyAt
			ring.busyAt = 0
		}
		if err := p.w.Ring(i, ring.drained, ring.pending[:n]); err != nil {
			return err
		}
		ring.drained += uint64(n)
		ring.pending = ring.pending[n:]
		r.Producer, r.Drained = append(r.Producer, ring.produced), append(r.Drained, ring.drained)
	}
	return p.w.Round(r)
}

// injure does to the file what a crash or a bad disk would.
func injure(path, how string, a, b int) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	scan := spool.NewScanner(bytes.NewReader(raw), int64(len(raw)), new(spool.Damage))
	if how == "truncate" {
		return os.WriteFile(path, raw[:len(raw)-a], 0o600)
	}
	generations, pieces := 0, 0
	for {
		c, err := scan.Next()
		if err != nil {
			return fmt.Errorf("%s %d %d: there is no such chunk", how, a, b)
		}
		start := c.Payload - spool.BeginningBytes
		switch {
		case c.Type == spool.ChunkGeneration:
			if generations++; how == "drop" && generations > b {
				return os.WriteFile(path, raw[start:], 0o600)
			}
		case how != "drop" && (c.Type == spool.ChunkRing && int(c.Ring) == a || c.Type == spool.ChunkSideband && a == -1):
			if pieces++; pieces <= b {
				continue
			}
			if how == "flip" {
				raw[c.Payload+9] ^= 4
			} else {
				raw = append(raw[:start], raw[c.End():]...)
			}
			return os.WriteFile(path, raw, 0o600)
		}
	}
}

// fields are the words of the form NAME=VALUE.
type fields map[string]string

func fieldsOf(words []string) fields {
	f := make(fields)
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			f[name] = value
		}
	}
	return f
}

func (f fields) number(name string) int64 {
	v, _ := strconv.ParseInt(f[name], 0, 64)
	return v
}

// hex reads a number of 64 bits.
func hex(text string) uint64 {
	v, _ := strconv.ParseUint(text, 0, 64)
	return v
}

// addresses are those of a list at commas.
func (f fields) addresses(name string) (all []uint64) {
	for text := range strings.SplitSeq(f[name], ",") {
		if text != "" {
			all = append(all, hex(text))
		}
	}
	return all
}

func (f fields) or(name string, otherwise int64) int64 {
	if _, ok := f[name]; ok {
		return f.number(name)
	}
	return otherwise
}

// flags are both sides unless sides= says 0, 1 (subject) or 2 (object), and what has a word of its own.
func (f fields) flags() uint8 {
	flags := uint8(f.or("sides", sides))
	for name, bit := range map[string]uint8{"last": ringdata.FlagLast, "cutname": ringdata.FlagCut, "preempted": ringdata.FlagPreempted, "running": ringdata.FlagOnCPU, "queued": ringdata.FlagQueued,
		"announced": ringdata.FlagAnnounced, "tracer": ringdata.FlagTracer, "stacked": ringdata.FlagParts, "interrupt": ringdata.FlagInterrupt, "yielded": ringdata.FlagYielded} {
		if f.number(name) != 0 {
			flags |= bit
		}
	}
	if f["since"] != "" {
		flags |= ringdata.FlagSince
	}
	return flags
}

func (f fields) putIdentity(b []byte) {
	le := binary.LittleEndian
	tid := f.number("tid")
	le.PutUint32(b[ringdata.IdentTID:], uint32(tid))
	le.PutUint32(b[ringdata.IdentPID:], uint32(f.or("pid", tid)))
	le.PutUint32(b[ringdata.IdentPPID:], uint32(f.or("ppid", 1)))
	le.PutUint32(b[ringdata.IdentTaskFlags:], uint32(f.number("pf")))
	le.PutUint64(b[ringdata.IdentStartNS:], uint64(f.or("start", 10*tid)))
	le.PutUint32(b[ringdata.IdentNSTID:], uint32(f.number("nstid")))
	le.PutUint32(b[ringdata.IdentNSPID:], uint32(f.number("nspid")))
	copy(b[ringdata.IdentComm:ringdata.IdentComm+ringdata.IdentCommSize-1], f["comm"])
	process := f["process"]
	if process == "" {
		process = f["comm"]
	}
	copy(b[ringdata.IdentProcessComm:ringdata.IdentProcessComm+ringdata.IdentCommSize-1], process)
}

func (f fields) task() []byte {
	b := make([]byte, ringdata.TaskSize)
	header(b, f.number("at"), ringdata.KindTask, f.flags()&^ringdata.FlagObject, int(f.number("cpu")), uint32(f.number("tid")))
	f.putIdentity(b[ringdata.TaskIdent:])
	le := binary.LittleEndian
	le.PutUint32(b[ringdata.TaskState:], uint32(f.number("state")))
	le.PutUint16(b[ringdata.TaskPrio:], uint16(f.or("prio", 120)))
	le.PutUint64(b[ringdata.TaskSinceNS:], uint64(f.number("since")))
	le.PutUint64(b[ringdata.TaskCgroup:], hex(f["cgroup"]))
	return b
}

func (f fields) blocked() []byte {
	le := binary.LittleEndian
	kernel, user, python := f.addresses("kernel"), f.addresses("user"), f.addresses("python")
	b := make([]byte, ringdata.BlockedSize)
	header(b, f.number("at"), ringdata.KindBlocked, ringdata.FlagSubject, 0, uint32(f.number("tid")))
	le.PutUint64(b[ringdata.BlockedStartNS:], uint64(f.or("start", 10*f.number("tid"))))
	le.PutUint32(b[ringdata.BlockedPID:], uint32(f.or("pid", f.number("tid"))))
	b[ringdata.BlockedCut] = uint8(f.number("cut"))
	b[ringdata.BlockedEnded] = uint8(f.number("ended"))
	le.PutUint16(b[ringdata.BlockedPythonCount:], uint16(len(python)))
	le.PutUint32(b[ringdata.BlockedKernelCount:], uint32(len(kernel)))
	le.PutUint32(b[ringdata.BlockedUserCount:], uint32(len(user)))
	le.PutUint32(b[ringdata.BlockedState:], uint32(f.or("state", 1)))
	le.PutUint32(b[ringdata.BlockedPrio:], uint32(f.or("prio", 120)))
	if since := f.number("since"); since != 0 {
		b[ringdata.HdrFlags] |= ringdata.FlagSince
		le.PutUint64(b[ringdata.BlockedSinceNS:], uint64(since))
	}
	for _, address := range slices.Concat(kernel, user, python) {
		b = le.AppendUint64(b, address)
	}
	return b
}

// putStacks appends the ids of stacks to a record that has them.
func (f fields) putStacks(b []byte, at int) []byte {
	if f.number("stacked") == 0 {
		return b
	}
	le := binary.LittleEndian
	b = le.AppendUint64(le.AppendUint64(b[:at], hex(f["user"])), hex(f["kernel"]))
	return le.AppendUint64(le.AppendUint64(b, hex(f["wait"])), uint64(f.number("owner")))
}

func recordOf(kind string, at int64, f fields) ([]byte, error) {
	b := make([]byte, 4096+ringdata.ExecSize)
	head := func(kind uint8, tid string, size int) {
		header(b, at, kind, f.flags(), int(f.number("cpu")), uint32(f.number(tid)))
		b = b[:size]
	}
	le := binary.LittleEndian
	switch kind {
	case "switch":
		head(ringdata.KindSwitch, "prev", ringdata.SwitchSize)
		le.PutUint32(b[ringdata.SwitchNextTID:], uint32(f.number("next")))
		le.PutUint32(b[ringdata.SwitchPrevState:], uint32(f.number("state")))
		le.PutUint16(b[ringdata.SwitchPrevPrio:], uint16(f.or("prio", 120)))
		le.PutUint16(b[ringdata.SwitchNextPrio:], uint16(f.or("nextprio", 120)))
		b = f.putStacks(b, ringdata.SwitchSize)
	case "return":
		head(ringdata.KindReturn, "tid", ringdata.ReturnSize)
		le.PutUint64(b[ringdata.ReturnStacks+ringdata.StacksUser:], hex(f["user"]))
		le.PutUint64(b[ringdata.ReturnStacks+ringdata.StacksKernel:], hex(f["kernel"]))
		le.PutUint64(b[ringdata.ReturnWait:], hex(f["wait"]))
	case "waking", "wakeup_new":
		k := uint8(ringdata.KindWaking)
		if kind == "wakeup_new" {
			k = ringdata.KindWakeupNew
		}
		head(k, "waker", ringdata.WakingSize)
		le.PutUint32(b[ringdata.WakingWakeeTID:], uint32(f.number("wakee")))
		le.PutUint16(b[ringdata.WakingPrio:], uint16(f.or("prio", 120)))
		le.PutUint16(b[ringdata.WakingTargetCPU:], uint16(f.number("target")))
		b = f.putStacks(b, ringdata.WakingSize)
	case "fork":
		head(ringdata.KindFork, "parent", ringdata.ForkSize)
		f.putIdentity(b[ringdata.ForkChild:])
		le.PutUint64(b[ringdata.ForkCgroup:], hex(f["cgroup"]))
		b = b[:f.or("size", ringdata.ForkSize)]
	case "cgroup":
		head(ringdata.KindCgroup, "none", ringdata.CgroupSize+len(f["path"]))
		le.PutUint64(b[ringdata.CgroupID:], hex(f["id"]))
		copy(b[ringdata.CgroupPath:], f["path"])
	case "move":
		head(ringdata.KindMove, "tid", ringdata.MoveSize)
		b[ringdata.HdrFlags] |= uint8(f.number("whole")) * ringdata.FlagLast
		le.PutUint64(b[ringdata.MoveStartNS:], uint64(f.or("start", 10*f.number("tid"))))
		le.PutUint64(b[ringdata.MoveCgroup:], hex(f["cgroup"]))
	case "exec":
		head(ringdata.KindExec, "tid", ringdata.ExecSize+len(f["file"]))
		f.putIdentity(b[ringdata.ExecIdent:])
		le.PutUint32(b[ringdata.ExecOldTID:], uint32(f.or("old", f.number("tid"))))
		le.PutUint32(b[ringdata.ExecFilenameLen:], uint32(len(f["file"])))
		copy(b[ringdata.ExecFilename:], f["file"])
	case "rename":
		head(ringdata.KindRename, "tid", ringdata.RenameSize)
		f.putIdentity(b[ringdata.RenameIdent:])
		copy(b[ringdata.RenameOldComm:], f["old"])
	case "exit":
		head(ringdata.KindExit, "tid", ringdata.ExitSize)
		le.PutUint32(b[ringdata.ExitPID:], uint32(f.or("pid", f.number("tid"))))
		le.PutUint32(b[ringdata.ExitCode:], uint32(f.number("code")))
	case "free":
		size := merge.FirstFreeSize
		if f["comm"] != "" {
			size = ringdata.FreeSize
		}
		head(ringdata.KindFree, "tid", size)
		le.PutUint64(b[ringdata.FreeStartNS:], uint64(f.or("start", 10*f.number("tid"))))
		if size == ringdata.FreeSize {
			le.PutUint32(b[ringdata.FreePID:], uint32(f.or("pid", f.number("tid"))))
			le.PutUint32(b[ringdata.FreeTaskFlags:], uint32(f.number("pf")))
			copy(b[ringdata.FreeComm:], f["comm"])
			copy(b[ringdata.FreeProcessComm:], f["process"])
		}
	case "stack":
		addresses, python := f.addresses("at"), f.addresses("python")
		head(ringdata.KindStack, "tid", ringdata.StackSize+8*(len(addresses)+len(python)))
		b[ringdata.StackEnded] = byte(f.number("ended"))
		b[ringdata.StackPython] = byte(f.number("whole"))
		for i, word := range python {
			le.PutUint64(b[ringdata.StackAddrs+8*(len(addresses)+i):], word)
		}
		le.PutUint64(b[ringdata.StackID:], hex(f["id"]))
		le.PutUint32(b[ringdata.StackPID:], uint32(f.number("pid")))
		le.PutUint16(b[ringdata.StackCount:], uint16(len(addresses)))
		for i, address := range addresses {
			le.PutUint64(b[ringdata.StackAddrs+8*i:], address)
		}
	case "code":
		head(ringdata.KindCode, "tid", ringdata.CodeSize+len(f["name"])+len(f["file"])+len(f["lines"])/2)
		le.PutUint64(b[ringdata.CodeID:], hex(f["id"]))
		le.PutUint32(b[ringdata.CodePID:], uint32(f.number("pid")))
		le.PutUint32(b[ringdata.CodeFirstLine:], uint32(f.number("first")))
		b[ringdata.CodeMinor] = byte(f.number("minor"))
		b[ringdata.CodeNameKind], b[ringdata.CodeFileKind] = 1|ringdata.CodeTextAscii, 1|ringdata.CodeTextAscii
		le.PutUint16(b[ringdata.CodeNameBytes:], uint16(len(f["name"])))
		le.PutUint16(b[ringdata.CodeFileBytes:], uint16(len(f["file"])))
		copy(b[ringdata.CodeText:], f["name"]+f["file"]+string(encodedLines(f["lines"])))
	case "wait":
		head(ringdata.KindWait, "tid", ringdata.WaitSize)
		le.PutUint64(b[ringdata.WaitID:], hex(f["id"]))
		le.PutUint32(b[ringdata.WaitPID:], uint32(f.number("pid")))
		le.PutUint32(b[ringdata.WaitNumber:], uint32(f.number("call")))
		for i, arg := range f.addresses("args") {
			le.PutUint64(b[ringdata.WaitArgs+8*i:], arg)
		}
		le.PutUint32(b[ringdata.WaitFlags:], uint32(f.number("flags")))
		le.PutUint32(b[ringdata.WaitFd:], uint32(f.number("fd")))
		le.PutUint16(b[ringdata.WaitMode:], uint16(hex(f["mode"])))
		copy(b[ringdata.WaitNames:], f["name"])
		le.PutUint16(b[ringdata.WaitFamily:], uint16(f.number("family")))
		le.PutUint16(b[ringdata.WaitRemotePort:], uint16(f.number("port")))
		le.PutUint32(b[ringdata.WaitRemote:], uint32(hex(f["remote"])))
	case "sample":
		head(ringdata.KindSample, "tid", ringdata.SampleSize)
		le.PutUint64(b[ringdata.SampleUser:], hex(f["user"]))
		le.PutUint64(b[ringdata.SampleKernel:], hex(f["kernel"]))
		le.PutUint32(b[ringdata.SamplePID:], uint32(f.or("pid", f.number("tid"))))
		le.PutUint32(b[ringdata.SampleSource:], uint32(f.or("source", 1)))
	case "args":
		words := strings.ReplaceAll(f["words"], ",", "\x00") + "\x00"
		head(ringdata.KindArgs, "tid", ringdata.ArgsSize+len(words))
		le.PutUint32(b[ringdata.ArgsPID:], uint32(f.or("pid", f.number("tid"))))
		le.PutUint32(b[ringdata.ArgsLen:], uint32(len(words)))
		copy(b[ringdata.ArgsArgs:], words)
	case "lost":
		head(ringdata.KindLost, "none", int(f.or("size", ringdata.LostSize)))
		le.PutUint64(b[ringdata.LostFrom:], uint64(f.number("from")))
		if n := f.number("highest"); n != 0 {
			le.PutUint32(b[ringdata.LostSize-4:], uint32(n))
		}
		le.PutUint32(b[ringdata.LostCounts+4*ringdata.KindSwitch:], uint32(f.number("switch")))
		le.PutUint32(b[ringdata.LostCounts+4*ringdata.KindFork:], uint32(f.number("fork")))
		le.PutUint32(b[ringdata.LostCounts:], uint32(f.number("stacks")))
	default:
		return nil, errors.New("no such record")
	}
	return b, nil
}

// spoolFile writes a spool from its text into a temporary file.
func spoolFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "host.wprof.part")
	if err := writeSpool(text, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func encodedLines(text string) []byte {
	b, err := encodedhex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}
