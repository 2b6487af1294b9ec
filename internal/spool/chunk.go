package spool

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A spool file is a sequence of chunks: a header of 32 bytes, the payload, and zeros up to a multiple of 8.
//
//	 0  4  magic "WSPL"
//	 4  1  type
//	 5  1  flags
//	 6  2  ring, or number of a copied file
//	 8  4  length of the payload
//	12  4  CRC-32C of the payload
//	16  8  ring, side-band, tasks: position of the first byte in the ring, in all side-band bytes or in all lists;
//	       round: its time; part of a file: where it stands in the file; end of a file: its size;
//	       kept: where the first generation that is kept begins, 0: nothing was dropped; base: number of the generation
//	24  4  recording: a random number, the same in all chunks of a file
//	28  4  CRC-32C of the 28 bytes before
const (
	chunkHeaderSize = 32
	chunkMagic      = "WSPL"
	// maxSmallChunk bounds the payload of every chunk but those of rings. A session message has no other bound.
	maxSmallChunk = 4 << 20
	taskChunk     = 64 << 10
	blockedChunk  = 64 << 10
	maxRings      = 1024
)

type ChunkType uint8

const (
	ChunkGeneration ChunkType = 1  // beginning of a generation
	ChunkRing       ChunkType = 2  // bytes of a ring
	ChunkTasks      ChunkType = 3  // whole rec_task structs
	ChunkRound      ChunkType = 4  // end of a round
	ChunkClocks     ChunkType = 5  // format.ClockSnapshot
	ChunkEnd        ChunkType = 6  // Tail
	ChunkSideband   ChunkType = 7  // records of internal/sideband
	chunkKallsyms   ChunkType = 8  // a piece of /proc/kallsyms, packed
	chunkModules    ChunkType = 9  // a piece of /proc/modules
	ChunkBlocked    ChunkType = 10 // whole rec_blocked structs
	chunkCopyPiece  ChunkType = 11 // a part of a file of code
	chunkCopyFile   ChunkType = 12 // end of the parts of a file, and its name
	chunkKernelID   ChunkType = 13 // the kernel's build-id
	chunkLayouts    ChunkType = 14 // a piece of the layouts of tracepoints' records
	chunkKept       ChunkType = 15 // of a flight recorder: where what is kept begins, and how long the window is
	ChunkBase       ChunkType = 16 // what the side-band reported before a generation, as far as it holds then
)

// maxPayload is the longest payload of any recorder's chunk of this type.
func (t ChunkType) maxPayload() uint32 {
	switch t {
	case ChunkRing:
		return maxPiece
	case ChunkTasks:
		return taskChunk
	}
	return maxSmallChunk
}

const (
	// ChunkWhole is set on bytes of a ring or of the side-band that begin with a record, not within one, and on the first
	// bytes of a list of tasks.
	ChunkWhole = 1
	// ChunkLast is set on a chunk without bytes that ends a list of tasks. A list without it is not complete.
	ChunkLast = 2
)

// PieceBytes is the most ring bytes in one chunk. A chunk is read as a whole, because nothing in it is trusted before
// its checksum was found to match; so with many rings chunks are smaller.
func PieceBytes(rings int) int {
	return min(max(8<<20/max(rings, 1), 16<<10), maxPiece/2) &^ 7
}

// maxPiece is the most ring bytes in one chunk of any version: older ones wrote pieces of this size.
const maxPiece = 128 << 10

type ChunkHeader struct {
	Type      ChunkType
	Flags     uint8
	Ring      uint16
	Length    uint32
	CRC       uint32
	Position  uint64
	recording uint32
}

func (h *ChunkHeader) put(b []byte) {
	_ = b[chunkHeaderSize-1]
	le := binary.LittleEndian
	copy(b, chunkMagic)
	b[4], b[5] = byte(h.Type), h.Flags
	le.PutUint16(b[6:], h.Ring)
	le.PutUint32(b[8:], h.Length)
	le.PutUint32(b[12:], h.CRC)
	le.PutUint64(b[16:], h.Position)
	le.PutUint32(b[24:], h.recording)
	le.PutUint32(b[28:], checksum(b[:28]))
}

var errNoChunk = errors.New("no chunk begins here")

func parseChunkHeader(b []byte) (ChunkHeader, error) {
	le := binary.LittleEndian
	if len(b) < chunkHeaderSize || string(b[:4]) != chunkMagic || checksum(b[:28]) != le.Uint32(b[28:]) {
		return ChunkHeader{}, errNoChunk
	}
	return ChunkHeader{
		Type: ChunkType(b[4]), Flags: b[5], Ring: le.Uint16(b[6:]), Length: le.Uint32(b[8:]), CRC: le.Uint32(b[12:]),
		Position: le.Uint64(b[16:]), recording: le.Uint32(b[24:]),
	}, nil
}

// padded is the length of a payload in the file.
func padded(length int) int { return (length + 7) &^ 7 }

// checksum is CRC-32C, for which processors have an instruction.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
