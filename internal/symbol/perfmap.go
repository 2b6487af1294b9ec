package symbol

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

const (
	maxPerfMapLines = 2 << 20
	maxPerfMapNames = 128 << 20
	maxPerfMapBytes = 128 << 20 // a sparse file may be of any size
)

// errBudget ends the reading of a map whose [mapBudget] is used up.
var errBudget = errors.New("map files of generated code are too large or too many: not all were read")

// mapBudget bounds the cost of reading map files: any user of the recorded machine can have one per process. It is refilled
// slowly, for live recordings.
type mapBudget struct {
	bytes         int64
	time          time.Duration
	refilled      time.Time       // when it was last refilled
	signalled     <-chan struct{} // see [Options.Signalled]
	signalledTime time.Duration
	isSignalled   bool
	cut           int // map files that were not read to their end
}

const (
	mapsBytes       = 512 << 20
	mapsTime        = 10 * time.Second
	mapsBytesRefill = 8 << 20 // bytes per second
	mapsTimeRefill  = 0.1     // seconds per second
)

// shorten reduces the time at the first call after the signal, and returns true for that call only.
func (b *mapBudget) shorten() bool {
	if b.isSignalled {
		return false
	}
	select {
	case <-b.signalled:
		b.isSignalled, b.time = true, min(b.time, b.signalledTime)
		return true
	default:
		return false
	}
}

func (b *mapBudget) refill() {
	if b.shorten(); b.isSignalled {
		return
	}
	seconds := time.Since(b.refilled).Seconds()
	b.refilled = time.Now()
	b.bytes = int64(min(mapsBytes, float64(b.bytes)+seconds*mapsBytesRefill))
	b.time = time.Duration(min(float64(mapsTime), float64(b.time)+seconds*mapsTimeRefill*float64(time.Second)))
}

// read parses a map within the budget. If the budget runs out, the lines read so far are used.
func (b *mapBudget) read(in io.Reader) (*Table, error) {
	b.refill()
	limited := &budgetReader{budget: b, in: in, left: min(b.bytes, maxPerfMapBytes), deadline: time.Now().Add(b.time)}
	before, started := limited.left, time.Now()
	table, err := parsePerfMap(limited)
	b.bytes -= before - limited.left
	b.time = max(0, b.time-time.Since(started))
	if !limited.cut {
		return table, err
	}
	b.cut++
	if table == nil {
		return nil, errBudget
	}
	return table, nil
}

// budgetReader ends when its bytes or its time are used up.
type budgetReader struct {
	budget   *mapBudget
	in       io.Reader
	left     int64
	deadline time.Time
	cut      bool
}

func (r *budgetReader) Read(b []byte) (int, error) {
	if r.budget.shorten() {
		r.deadline = time.Now().Add(r.budget.time)
	}
	if r.left <= 0 || time.Now().After(r.deadline) {
		var more [1]byte
		if n, _ := r.in.Read(more[:]); n > 0 {
			r.cut = true
		}
		return 0, io.EOF
	}
	n, err := r.in.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}

// parsePerfMap reads the map that a JIT compiler keeps of its code (Linux, tools/perf/Documentation/jit-interface.txt):
// one line per function, "START SIZE NAME" with hexadecimal numbers and a name that may contain spaces. Memory is reused, so
// where lines overlap the last one counts. A malformed line, such as the last one of a file that is still being written, is
// skipped. Beyond two million lines or 128 MiB of names the rest is skipped.
func parsePerfMap(r io.Reader) (*Table, error) {
	var spans []span
	var text []byte
	err := eachLine(r, func(line []byte) error {
		start, size, name, ok := perfMapLine(line)
		if !ok || len(spans) >= maxPerfMapLines || len(text)+len(name)+1 > maxPerfMapNames {
			return nil
		}
		spans = append(spans, span{start: start, end: start + size, rank: uint32(len(spans)), name: uint32(len(text))})
		text = append(append(text, name...), 0)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read a map file of generated code: %w", err)
	}
	if len(spans) == 0 {
		return nil, errNoSymbols
	}
	var n names
	n.addBytes(text)
	return newTable(spans, latest, n), nil
}

func perfMapLine(line []byte) (start, size uint64, name []byte, ok bool) {
	word, rest := cutWord(line)
	start, ok = parseHex(word)
	if !ok {
		return 0, 0, nil, false
	}
	word, name = cutWord(rest)
	size, ok = parseHex(word)
	if !ok || size == 0 || size > math.MaxUint32 || start+size < start || len(name) == 0 {
		return 0, 0, nil, false
	}
	for _, c := range name {
		if c == 0 {
			return 0, 0, nil, false
		}
	}
	return start, size, name, true
}
