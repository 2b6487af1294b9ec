package symbol

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

const (
	maxFileOffset = 1 << 62
	// maxStoredPieces and maxStoredNames bound a stored table in memory, of 20 bytes a piece and its names.
	maxStoredPieces = 4 << 20
	maxStoredNames  = 128 << 20
	// maxStoredBytes bounds what is inflated for one.
	maxStoredBytes = 256 << 20
)

var errStored = errors.New("a table of functions is malformed")

// inflated reads a stored table, of which at most maxStoredBytes are inflated.
func inflated(packed io.Reader) (*bufio.Reader, *io.LimitedReader, error) {
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return nil, nil, err
	}
	unpacked.Multistream(false)
	limited := &io.LimitedReader{R: unpacked, N: maxStoredBytes}
	return bufio.NewReader(limited), limited, nil
}

// ReadFunctions reads a table that [Resolver.WriteFunctions] wrote. Its addresses are offsets in the file.
func ReadFunctions(packed io.Reader) (*Table, error) {
	in, limited, err := inflated(packed)
	if err != nil {
		return nil, errStored
	}
	t := &Table{}
	var text []byte
	for start := uint64(0); ; {
		var field [4]uint64 // distance from the piece before, size of the function, distance from its start, bytes of its name
		for i := range field {
			if field[i], err = binary.ReadUvarint(in); err != nil {
				if i == 0 && errors.Is(err, io.EOF) && limited.N > 0 {
					return storedTable(t, text)
				}
				return nil, errStored
			}
		}
		next, size, into, length := start+field[0], field[1], field[2], field[3]
		isFirst := len(t.starts) == 0
		if next >= maxFileOffset || next < start || next == start && !isFirst || size == 0 || size > math.MaxUint32 || into >= size ||
			length > maxNameBytes || len(t.starts) >= maxStoredPieces || uint64(len(text))+length+1 > maxStoredNames {
			return nil, errStored
		}
		at := uint32(len(text))
		text = append(text, make([]byte, length)...)
		if _, err := io.ReadFull(in, text[at:]); err != nil {
			return nil, errStored
		}
		text = append(text, 0)
		t.starts, t.pieces = append(t.starts, next), append(t.pieces, piece{size: uint32(size), into: uint32(into), name: at})
		start = next
	}
}

func storedTable(t *Table, text []byte) (*Table, error) {
	if len(t.starts) == 0 {
		return nil, errNoSymbols
	}
	t.names.addBytes(text)
	return t, nil
}
