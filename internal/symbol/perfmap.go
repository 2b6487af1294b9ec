package symbol

import (
	"fmt"
	"io"
	"math"
)

const (
	maxPerfMapLines = 2 << 20
	maxPerfMapNames = 128 << 20
	maxPerfMapBytes = 1 << 30 // a file with a hole may be of any size
)

// ParsePerfMap reads the map that a JIT compiler keeps of its code (Linux, tools/perf/Documentation/jit-interface.txt):
// a line a function, "START SIZE NAME" with hexadecimal numbers and a name that may contain spaces. Memory is reused, so
// where lines overlap the last one is meant. A line that is none, as the last one of a file that is still written, is
// passed over. Beyond two million lines, 128 MiB of names or 1 GiB the rest is passed over.
func ParsePerfMap(r io.Reader) (*Table, error) {
	var spans []span
	var text []byte
	err := eachLine(io.LimitReader(r, maxPerfMapBytes), func(line []byte) error {
		start, size, name, ok := perfMapLine(line)
		if !ok || len(spans) >= maxPerfMapLines || len(text)+len(name)+1 > maxPerfMapNames {
			return nil
		}
		spans = append(spans, span{start: start, end: start + size, rank: uint32(len(spans)), name: uint32(len(text))})
		text = append(append(text, name...), 0)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read a map of compiled code: %w", err)
	}
	if len(spans) == 0 {
		return nil, ErrNoSymbols
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
