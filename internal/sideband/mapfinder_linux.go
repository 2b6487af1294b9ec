package sideband

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/proc"
)

const (
	// A map file is searched for, and later read further, firstMapRead after generated code was mapped, then after twice as
	// long each time.
	firstMapRead = 5 * time.Millisecond
	lastMapRead  = 5 * time.Second
	// longestCheck is the longest time between checks whether a process may be recorded now.
	longestCheck = 200 * time.Millisecond
	// growthRead is the least time between reads of a growing file.
	growthRead = 50 * time.Millisecond
	// slowGrowth is the time after which less than minMapRead is copied too.
	slowGrowth = 100 * time.Millisecond
	// keptTime is how long a map file that has grown is kept open, and maxKept bounds such files.
	keptTime = 5 * time.Second
	maxKept  = 32
	// eachMapRead is lastMapRead per program, if there are many: a read takes 50 us.
	eachMapRead = 10 * time.Millisecond
	// idleShare: after a read the finder sleeps for idleShare times its duration.
	idleShare = 4
	// mapNice is the low priority of the threads that read.
	mapNice = 10
	// maxStuckReads bounds the threads that wait for a file system; at the bound, no files are read until one responds.
	maxStuckReads = 16
)

// mapFinder finds the map files of programs that generate code and copies them as they grow, so that the names are known
// when the process has ended, runs another program, or has removed the file. Its callers never wait for a file.
type mapFinder struct {
	store    *mapStore
	files    *Files            // with the dumps
	found    func([]byte)      // called with records: one for each map file, and of functions in dumps
	recorded func(uint32) bool // see [Config.MayRecord]

	mu       sync.Mutex
	programs map[uint32]*mapProgram // by pid; the latest
	ignored  map[uint32]bool        // processes beyond maxPending, at most maxIgnored
	heads    map[uint32][]byte      // by pid: first bytes of the map file that the previous program left
	outdated []mapDrop              // still to be dropped from store
	wake     chan struct{}          // one element: another read may be due
	kept     int                    // map files that are open between reads
	stuck    int
	running  bool
	rush     bool // the recording ends: read without pauses
	closed   bool
}

// mapProgram is a program that generates code.
type mapProgram struct {
	source    mapSource   // while busy is set, it belongs to the reading thread
	dump      *dumpSource // its contents belong to the reading thread; nil: no dump was mapped
	busy      bool
	ended     bool      // no more reads
	left      bool      // it was removed from programs
	until     int64     // when another program began; 0: none has
	reported  bool      // found has been called
	mayRecord bool      // the process may be recorded
	head      []byte    // first bytes of its map file
	last      int64     // when generated code was mapped last
	next      time.Time // of its next read
	pause     time.Duration
	copied    time.Time // when text was copied last
}

// mapDrop is a copy whose part after a time may be another program's.
type mapDrop struct {
	key mapKey
	at  int64
}

func newMapFinder(files *Files, found func([]byte), recorded func(uint32) bool) *mapFinder {
	if recorded == nil {
		recorded = func(uint32) bool { return true }
	}
	return &mapFinder{store: files.maps, files: files, found: found, recorded: recorded, programs: make(map[uint32]*mapProgram), ignored: make(map[uint32]bool), heads: make(map[uint32][]byte), wake: make(chan struct{}, 1)}
}

// mapped records that a process mapped generated code.
func (m *mapFinder) mapped(r *Record, from origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.programs[r.PID]; p != nil {
		p.last = max(p.last, r.Time)
	} else if r.Time >= from.began {
		m.begin(r.PID, r.Time, from)
	}
}

// dumped records that a process has a jitdump.
func (m *mapFinder) dumped(r *Record, from origin) {
	m.mapped(r, from)
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.programs[r.PID]; p != nil && p.dump == nil && r.Time >= from.began {
		p.dump = newDumpSource(r)
	}
}

func (m *mapFinder) begin(pid uint32, since int64, from origin) {
	if m.closed {
		return
	}
	if len(m.programs) >= maxPending {
		if len(m.ignored) < maxIgnored {
			m.ignored[pid] = true
		}
		return
	}
	delete(m.ignored, pid)
	m.programs[pid] = &mapProgram{last: since, next: time.Now(), pause: firstMapRead,
		source: mapSource{key: mapKey{pid, since}, began: from.began, parent: from.parent, earlier: m.heads[pid]}}
	if !m.running {
		m.running = true
		go m.run()
	}
	m.signal()
}

// ignoredPrograms returns how many processes with generated code were left out, because there were too many at once.
func (m *mapFinder) ignoredPrograms() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ignored)
}

func (m *mapFinder) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// programBegan records that a process runs another program. Records of different CPUs are not ordered: that program may have
// mapped generated code already.
func (m *mapFinder) programBegan(pid uint32, from origin) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.programs[pid]
	if p == nil || p.source.key.since >= from.began {
		return
	}
	p.ended, p.until = true, from.began
	m.leave(p)
	if p.head != nil {
		if len(m.heads) >= maxPending {
			clear(m.heads)
		}
		m.heads[pid] = p.head
	}
	m.outdated = append(m.outdated, mapDrop{p.source.key, from.began})
	if !p.busy {
		m.release(p)
	}
	m.signal()
	if p.last > from.began {
		m.begin(pid, p.last, from)
	}
}

// exited schedules a read at once: the process may be about to end, or only its first thread has ended.
func (m *mapFinder) exited(pid uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.programs[pid]
	switch {
	case p == nil:
	case p.ended:
		m.leave(p)
	default:
		p.next, p.pause = time.Now(), firstMapRead
		m.signal()
	}
}

// leave removes a program that has ended. If it is being read, its functions are settled after that.
func (m *mapFinder) leave(p *mapProgram) {
	delete(m.programs, p.source.key.pid)
	p.left = true
	if !p.busy {
		m.settle(p)
	}
}

// settle counts a program's functions as those of one that has ended.
func (m *mapFinder) settle(p *mapProgram) {
	if p.dump != nil {
		m.files.codes.end(proc.Monotonic(), p.dump.count)
		p.dump.count = 0
	}
}

func (m *mapFinder) run() {
	var reader *mapReader
	for {
		p, wait, ok := m.due()
		if !ok {
			reader.end()
			return
		}
		if p == nil {
			select {
			case <-m.wake:
			case <-time.After(wait):
			}
			continue
		}
		if reader == nil {
			reader = newMapReader(m)
		}
		began := time.Now()
		if !reader.read(p) {
			m.abandon(reader)
			reader = nil
		}
		m.sleep(idleShare * time.Since(began))
	}
}

// sleep waits for a time, or until the recording ends.
func (m *mapFinder) sleep(pause time.Duration) {
	for end := time.Now().Add(pause); ; {
		m.mu.Lock()
		rush := m.rush
		m.mu.Unlock()
		left := time.Until(end)
		if rush || left <= 0 {
			return
		}
		time.Sleep(min(left, growthRead))
	}
}

// due returns the program to read next: of those that are due, the one of which the least was read; nil: none for a
// while. It is not ok when the finder is to end.
func (m *mapFinder) due() (next *mapProgram, wait time.Duration, ok bool) {
	m.mu.Lock()
	outdated := m.outdated
	m.outdated = nil
	m.mu.Unlock()
	for _, o := range outdated {
		m.store.dropAfter(o.key, o.at)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, 0, false
	}
	now, first := time.Now(), time.Now().Add(lastMapRead)
	for _, p := range m.programs {
		switch {
		case p.busy || p.ended:
		case p.next.After(now):
			if p.next.Before(first) {
				first = p.next
			}
		case next == nil || p.bytesRead() < next.bytesRead():
			next = p
		}
	}
	if next == nil || m.stuck >= maxStuckReads {
		return nil, first.Sub(now), true
	}
	next.busy = true
	if next.source.kept != nil {
		m.kept--
	}
	return next, 0, true
}

// bytesRead is how far the map file and the dump of a program were read, which must not be busy.
func (p *mapProgram) bytesRead() int64 {
	if p.dump == nil || p.dump.reader == nil {
		return p.source.end
	}
	return p.source.end + p.dump.reader.Position()
}

// readOne reads one program's map file. It may never return.
func (m *mapFinder) readOne(p *mapProgram, buf []byte) {
	m.mu.Lock()
	least, last, codes := int64(minMapRead), m.rush, m.files.codes.taken()
	dump := p.dump
	if last || time.Since(p.copied) > slowGrowth {
		least = 1
	}
	m.mu.Unlock()
	p.mayRecord = p.mayRecord || m.recorded(p.source.key.pid)
	var t *mapText
	err := errNotRecorded
	grown, more := false, false
	if p.mayRecord {
		grown, more = m.readDump(p, dump, codes)
	}
	if p.mayRecord && !more {
		t, err = p.source.readMore(buf, least)
	}
	read := proc.Monotonic()
	if err == nil && len(t.text) > 0 {
		err = m.store.add(p.source.key, p.source.process.UID, t.text, read)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.busy = false
	if p.until != 0 {
		m.outdated = append(m.outdated, mapDrop{p.source.key, p.until})
	}
	if !p.ended {
		m.handle(p, t, err, grown, more)
		p.ended = p.ended || last && p.pause > 0
	}
	if p.left {
		m.settle(p)
	}
	if p.source.kept != nil {
		m.kept++
	}
	if p.ended || time.Since(p.copied) > keptTime || m.kept > maxKept {
		m.release(p)
	}
	m.signal()
}

// release closes the map file of a program, which must not be busy, without waiting.
func (m *mapFinder) release(p *mapProgram) {
	if p.source.kept != nil {
		m.kept--
		go p.source.kept.Close()
		p.source.kept = nil
	}
}

// readDump reads what was added to a program's dump, which may have half of the functions that others leave; codes are those of all.
func (m *mapFinder) readDump(p *mapProgram, dump *dumpSource, codes int) (grown, more bool) {
	if dump == nil || dump.broken {
		return false, false
	}
	room := (maxCodes-(codes-dump.count))/2 - dump.count
	records, count, more := dump.readMore(m.files, p.source.began, nil, min(room, maxDumpRead))
	if count == 0 && !more {
		return false, false
	}
	if count == room {
		dump.broken, more = true, false
		m.store.cutShort(p.source.key)
	}
	m.found(records)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files.codes.take(count)
	dump.count += count
	return true, more
}

// isOpening reports whether the dump of a program may be opened soon.
func (d *dumpSource) isOpening() bool {
	if d == nil || d.reader != nil || d.tries >= dumpTries {
		return false
	}
	d.tries++
	return true
}

// handle processes the result of reading a map file, and whether a dump has grown and has more.
func (m *mapFinder) handle(p *mapProgram, t *mapText, err error, grown, more bool) {
	slowest := max(lastMapRead, time.Duration(len(m.programs))*eachMapRead)
	switch {
	case more:
		p.pause = 0
	case errors.Is(err, errProcessEnd) && p.dump.isOpening():
		p.pause = firstMapRead
	case errors.Is(err, errProcessEnd):
		p.ended = true
		m.leave(p)
		return
	case errors.Is(err, errOtherMap), errors.Is(err, errMapRoom):
		p.ended = true
		return
	case errors.Is(err, errNotRecorded):
		p.pause = min(2*p.pause, longestCheck+slowest-lastMapRead)
	case grown && (err != nil || len(t.text) == 0):
		p.pause = max(p.pause/2, growthRead)
	case err != nil || len(t.text) == 0:
		p.pause = min(2*p.pause, slowest)
	default:
		p.source.take(t)
		p.head, p.copied = p.source.head, time.Now()
		p.pause = max(p.pause/2, growthRead)
		if t.more {
			p.pause = 0
		}
		if !p.reported {
			p.reported = true
			m.found(Append(nil, &Record{Kind: KindJIT, Time: p.source.key.since, PID: p.source.key.pid}))
		}
	}
	p.next = time.Now().Add(p.pause)
	if m.rush {
		p.next = time.Now()
	}
}

// abandon stops using a thread that waits for a file system, until it is done.
func (m *mapFinder) abandon(reader *mapReader) {
	m.mu.Lock()
	m.stuck++
	m.mu.Unlock()
	go func() {
		<-reader.done
		reader.end()
		m.mu.Lock()
		m.stuck--
		m.mu.Unlock()
		m.signal()
	}()
}

// finish copies what was added to the files, until a deadline at the latest, and ends the finder.
func (m *mapFinder) finish(deadline time.Time) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.rush = true
	for _, p := range m.programs {
		p.next = time.Now()
	}
	m.mu.Unlock()
	m.signal()
	for !m.idle() && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	m.mu.Lock()
	m.closed = true
	var unread []mapKey
	for _, p := range m.programs {
		if !p.ended {
			unread = append(unread, p.source.key)
		}
	}
	m.mu.Unlock()
	m.signal()
	for _, key := range unread {
		m.store.cutShort(key)
	}
}

func (m *mapFinder) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.outdated) > 0 {
		return false
	}
	for _, p := range m.programs {
		if !p.ended {
			return false
		}
	}
	return true
}

// mapReader is a thread that reads map files.
type mapReader struct {
	next chan *mapProgram
	done chan struct{}
}

func newMapReader(m *mapFinder) *mapReader {
	l := &mapReader{next: make(chan *mapProgram), done: make(chan struct{}, 1)}
	go func() {
		runtime.LockOSThread() // never unlocked, so that its priority ends with it
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, mapNice)
		buf := make([]byte, 0, maxMapRead)
		for p := range l.next {
			m.readOne(p, buf)
			l.done <- struct{}{}
		}
	}()
	return l
}

// read returns false if reading takes too long: the thread is still busy then.
func (l *mapReader) read(p *mapProgram) bool {
	l.next <- p
	select {
	case <-l.done:
		return true
	case <-time.After(stuckAfter):
		return false
	}
}

func (l *mapReader) end() {
	if l != nil {
		close(l.next)
	}
}
