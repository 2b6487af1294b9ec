package symbol

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

const (
	// maxStoredPlaces bounds the places whose lines are stored for one file.
	maxStoredPlaces = 4 << 20
	// maxStoredLines and maxStoredTexts bound the lines and texts of one file in memory, of 48 and 16 bytes, and maxStoredTextBytes
	// what the texts have together.
	maxStoredLines     = 2 << 20
	maxStoredTexts     = 1 << 20
	maxStoredTextBytes = 64 << 20
	// maxStoredChain bounds the functions at one place.
	maxStoredChain = 256
)

var (
	errStoredLines = errors.New("a table of lines is malformed")
	errManyLines   = errors.New("they are too many to be stored")
)

// Lines of a file are stored as a gzip stream of numbers in LEB128. A place is its distance from the one before, in bytes of the
// file, then the line that is known already (0: none, 1: the latest, 2: the one before that), the number of lines that are inlined
// into that one, and these, the outer ones first: function, file and number of the line. A text is 0, its length and its bytes where
// it is new, else its number, from 1.

// storedLines are those that have been read so far.
type storedLines struct {
	in     *bufio.Reader
	form   Form
	blocks [][]Line // of storedBlock lines each
	depths []uint16 // functions of each line's chain
	texts  []string
	names  []string // texts as functions; "": not needed yet
	bytes  int
}

const storedBlock = 512

// readLines visits those of the offsets, which are sorted, whose lines [Resolver.WriteLines] wrote.
func readLines(packed io.Reader, form Form, offsets []uint64, visit func(i int, line *Line)) error {
	in, limited, err := inflated(packed)
	if err != nil {
		return errStoredLines
	}
	s := &storedLines{in: in, form: form}
	at, next := uint64(0), 0
	for places := 0; ; places++ {
		distance, err := binary.ReadUvarint(s.in)
		if errors.Is(err, io.EOF) && limited.N > 0 {
			return nil
		}
		if err != nil || distance >= maxFileOffset-at || distance == 0 && places > 0 || places >= maxStoredPlaces {
			return errStoredLines
		}
		at += distance
		line, err := s.place()
		if err != nil {
			return errStoredLines
		}
		for ; next < len(offsets) && offsets[next] <= at; next++ {
			if offsets[next] == at {
				visit(next, line)
			}
		}
	}
}

// place reads the innermost line of a place.
func (s *storedLines) place() (*Line, error) {
	known, err := s.number(uint64(len(s.depths)))
	if err != nil {
		return nil, err
	}
	var line *Line
	depth := 0
	if known > 0 {
		i := len(s.depths) - int(known)
		line, depth = &s.blocks[i/storedBlock][i%storedBlock], int(s.depths[i])
	}
	more, err := s.number(uint64(min(maxStoredChain-depth, maxStoredLines-len(s.depths))))
	if err != nil || known+more == 0 {
		return nil, errStoredLines
	}
	for range more {
		depth++
		if line, err = s.line(line, depth); err != nil {
			return nil, err
		}
	}
	return line, nil
}

// line reads a line that is inlined into another.
func (s *storedLines) line(outer *Line, depth int) (*Line, error) {
	function, err := s.text()
	if err != nil {
		return nil, err
	}
	file, err := s.text()
	if err != nil {
		return nil, err
	}
	number, err := s.number(math.MaxUint32)
	if err != nil {
		return nil, err
	}
	if s.names[function] == "" {
		s.names[function] = Demangle(s.texts[function], s.form)
	}
	i := len(s.depths)
	if i%storedBlock == 0 {
		s.blocks = append(s.blocks, make([]Line, storedBlock))
	}
	s.depths = append(s.depths, uint16(depth))
	line := &s.blocks[i/storedBlock][i%storedBlock]
	*line = Line{Function: s.names[function], File: s.texts[file], Line: uint32(number), Outer: outer}
	return line, nil
}

// text reads a text and returns its index.
func (s *storedLines) text() (int, error) {
	n, err := s.number(uint64(len(s.texts)))
	if err != nil || n > 0 {
		return int(n) - 1, err
	}
	size, err := s.number(uint64(min(maxNameBytes, maxStoredTextBytes-s.bytes)))
	if err != nil || len(s.texts) >= maxStoredTexts {
		return 0, errStoredLines
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(s.in, b); err != nil {
		return 0, err
	}
	s.bytes += len(b)
	s.texts, s.names = append(s.texts, string(b)), append(s.names, "")
	return len(s.texts) - 1, nil
}

// number reads a number that is at most limit.
func (s *storedLines) number(limit uint64) (uint64, error) {
	n, err := binary.ReadUvarint(s.in)
	if err == nil && n > limit {
		err = errStoredLines
	}
	return n, err
}
