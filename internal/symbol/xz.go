package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// maxXZDictionary is the largest dictionary that is accepted: that of xz -9.
const maxXZDictionary = 64 << 20

var errXZ = errors.New("the xz stream is malformed")

// inflateXZ inflates an xz stream of LZMA2 blocks into at most limit bytes. The library's own reader allocates whatever
// dictionary a block requests, up to 4 GiB, so only its LZMA2 decoder is used, and the frame is read here (The .xz File
// Format, 1.2.1).
func inflateXZ(packed []byte, limit int) ([]byte, error) {
	if len(packed) < 12 || string(packed[:6]) != "\xfd7zXZ\x00" {
		return nil, errXZ
	}
	check := packed[7] & 0xf
	checkBytes := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[check]
	in := bytes.NewReader(packed[12:])
	var out []byte
	for {
		header, err := in.ReadByte()
		if err != nil {
			return nil, errXZ
		}
		if header == 0 { // the index: no more blocks
			return out, nil
		}
		dictionary, err := xzBlockHeader(in, header)
		if err != nil {
			return nil, err
		}
		begin := in.Len()
		blockAt := len(out)
		if out, err = inflateLZMA2(in, out, dictionary, limit); err != nil {
			return nil, err
		}
		padding := (4 - (begin-in.Len())%4) % 4
		if _, err := in.Seek(int64(padding), io.SeekCurrent); err != nil || in.Len() < checkBytes {
			return nil, errXZ
		}
		sum := make([]byte, checkBytes)
		_, _ = io.ReadFull(in, sum)
		if !xzSumAgrees(check, sum, out[blockAt:]) {
			return nil, errors.New("the xz stream's checksum is wrong")
		}
	}
}

// xzBlockHeader reads the header of a block with LZMA2 as its only filter and returns the size of its dictionary.
func xzBlockHeader(in *bytes.Reader, size byte) (int, error) {
	header := make([]byte, int(size)*4+3)
	if _, err := io.ReadFull(in, header); err != nil {
		return 0, errXZ
	}
	flags, fields := header[0], header[1:len(header)-4]
	if flags&0x3f != 0 {
		return 0, errors.New("the xz stream uses filters other than LZMA2")
	}
	for _, present := range []bool{flags&0x40 != 0, flags&0x80 != 0} { // compressed and uncompressed size
		if !present {
			continue
		}
		_, n := binary.Uvarint(fields)
		if n <= 0 {
			return 0, errXZ
		}
		fields = fields[n:]
	}
	if len(fields) < 3 || fields[0] != 0x21 || fields[1] != 1 {
		return 0, errors.New("the xz stream uses filters other than LZMA2")
	}
	dictionary, err := lzma.DecodeDictCap(fields[2])
	if err != nil || dictionary > maxXZDictionary {
		return 0, fmt.Errorf("the xz stream needs a dictionary of more than %d MiB", maxXZDictionary>>20)
	}
	return max(int(dictionary), lzma.MinDictCap), nil
}

// inflateLZMA2 appends a block. It inflates it twice, first for its size: a growing buffer would take three times the memory.
func inflateLZMA2(in *bytes.Reader, out []byte, dictionary, limit int) ([]byte, error) {
	begin := in.Len()
	block, err := lzma.Reader2Config{DictCap: dictionary}.NewReader2(in)
	if err != nil {
		return nil, fmt.Errorf("inflate xz: %w", err)
	}
	size, err := io.Copy(io.Discard, io.LimitReader(block, int64(limit-len(out))+1))
	if err != nil {
		return nil, fmt.Errorf("inflate xz: %w", err)
	}
	if size > int64(limit-len(out)) {
		return nil, fmt.Errorf("the xz stream holds more than %d MiB", limit>>20)
	}
	if _, err := in.Seek(-int64(begin-in.Len()), io.SeekCurrent); err != nil {
		return nil, fmt.Errorf("inflate xz: %w", err)
	}
	block, err = lzma.Reader2Config{DictCap: max(min(dictionary, int(size)), lzma.MinDictCap)}.NewReader2(in)
	if err != nil {
		return nil, fmt.Errorf("inflate xz: %w", err)
	}
	at := len(out)
	out = append(out, make([]byte, size)...)
	if _, err := io.ReadFull(block, out[at:]); err != nil {
		return nil, fmt.Errorf("inflate xz: %w", err)
	}
	// The block's trailer follows its last byte.
	if _, err := io.Copy(io.Discard, block); err != nil {
		return nil, fmt.Errorf("inflate xz: %w", err)
	}
	return out, nil
}

// xzSumAgrees checks CRC-32 and CRC-64. Checksums of other kinds are not checked, as the format allows.
func xzSumAgrees(check byte, sum, block []byte) bool {
	switch check {
	case 1:
		return binary.LittleEndian.Uint32(sum) == crc32.ChecksumIEEE(block)
	case 4:
		return binary.LittleEndian.Uint64(sum) == crc64.Checksum(block, crc64.MakeTable(crc64.ECMA))
	}
	return true
}
