package columns

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunk is what is stored of a column in the open row group.
type chunk struct {
	pages  [][]byte // with their headers
	stored int64    // their size
	size   int64    // ... before compression
	values int64    // with nulls
	nulls  int64
	bounds bounds
}

// bounds are the smallest and the largest number in a chunk.
type bounds struct{ min, max int64 }

func noBounds() bounds { return bounds{math.MaxInt64, math.MinInt64} }

func (b *bounds) add(min64, max64 int64) { b.min, b.max = min(b.min, min64), max(b.max, max64) }

// encoder encodes pages.
type encoder struct {
	codec                  *codec
	repeats, levels, plain []byte
	packed                 []byte
}

// store encodes the open page of a column.
func (k *chunk) store(c *column, e *encoder) (err error) {
	rows, values, nulls := c.counts()
	if values == 0 {
		return nil
	}
	levels := rle.Encoding{BitWidth: 1}
	e.repeats, e.levels = e.repeats[:0], e.levels[:0]
	if c.isList {
		if e.repeats, err = levels.EncodeLevels(e.repeats, c.repeats); err != nil {
			return err
		}
	}
	if c.isLeveled {
		if e.levels, err = levels.EncodeLevels(e.levels, c.levels); err != nil {
			return err
		}
	}
	plain, encoding, err := e.values(c)
	if err != nil {
		return err
	}
	if e.packed, err = e.codec.Encode(e.packed, plain); err != nil {
		return err
	}
	k.values += int64(values)
	k.nulls += int64(nulls)
	k.addBounds(c)
	header := format.PageHeader{
		Type: format.DataPageV2,
		DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{
			NumValues: int32(values), NumNulls: int32(nulls), NumRows: int32(rows), Encoding: encoding,
			RepetitionLevelsByteLength: int32(len(e.repeats)), DefinitionLevelsByteLength: int32(len(e.levels)),
			IsCompressed: thrift.New(true), Statistics: format.Statistics{NullCount: int64(nulls)},
		}),
	}
	page, err := k.page(&header, len(plain), e.repeats, e.levels, e.packed)
	k.pages = append(k.pages, page)
	return err
}

// page returns a page with its header. size is that of its values before they were compressed.
func (k *chunk) page(h *format.PageHeader, size int, repeats, levels, packed []byte) ([]byte, error) {
	levelBytes := len(repeats) + len(levels)
	h.UncompressedPageSize, h.CompressedPageSize = int32(levelBytes+size), int32(levelBytes+len(packed))
	sum := crc32.Update(crc32.Update(crc32.ChecksumIEEE(repeats), crc32.IEEETable, levels), crc32.IEEETable, packed)
	h.CRC = int32(sum)
	header, err := thrift.Marshal(new(thrift.CompactProtocol), *h)
	if err != nil {
		return nil, err
	}
	page := slices.Concat(header, repeats, levels, packed)
	k.stored += int64(len(page))
	k.size += int64(len(header) + levelBytes + size)
	return page, nil
}

// dictionaryPage returns the page before all others of a column that has a dictionary.
func (k *chunk) dictionaryPage(c *column, e *encoder) (page []byte, err error) {
	plain, values := c.dictionary()
	if e.packed, err = e.codec.Encode(e.packed, plain); err != nil {
		return nil, err
	}
	header := format.PageHeader{
		Type:                 format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(values), Encoding: format.Plain}),
	}
	return k.page(&header, len(plain), nil, nil, e.packed)
}

// values encodes the values of the open page, without nulls.
func (e *encoder) values(c *column) (to []byte, encoding format.Encoding, err error) {
	switch {
	case c.hasDictionary() && !c.isPlain:
		encoding = format.RLEDictionary
		e.plain, err = (&rle.DictionaryEncoding{}).EncodeInt32(e.plain, c.shorts)
	case c.kind == parquet.ByteArray:
		return c.plain, format.Plain, nil
	case c.kind == parquet.Int32:
		e.plain = e.plain[:0]
		for _, n := range c.shorts {
			e.plain = binary.LittleEndian.AppendUint32(e.plain, uint32(n))
		}
	case c.isDelta:
		encoding = format.DeltaBinaryPacked
		e.plain, err = (&delta.BinaryPackedEncoding{}).EncodeInt64(e.plain, c.longs)
	case c.kind == parquet.Boolean:
		e.plain = e.plain[:0]
		for i, b := range c.flags {
			if i%8 == 0 {
				e.plain = append(e.plain, 0)
			}
			e.plain[i/8] |= b << (i % 8)
		}
	default:
		e.plain = e.plain[:0]
		for _, n := range c.longs {
			e.plain = binary.LittleEndian.AppendUint64(e.plain, uint64(n))
		}
	}
	return e.plain, encoding, err
}

// addBounds adds the bounds of the open page: those of signed numbers.
func (k *chunk) addBounds(c *column) {
	switch {
	case c.isDelta && len(c.longs) > 0:
		k.bounds.add(slices.Min(c.longs), slices.Max(c.longs))
	case c.kind == parquet.Int32 && c.isPlain && len(c.shorts) > 0:
		k.bounds.add(int64(slices.Min(c.shorts)), int64(slices.Max(c.shorts)))
	}
}

// metadata returns the description of the chunk, whose first page is at an offset of the file.
func (k *chunk) metadata(c *column, at int64, dictionary int) format.ColumnMetaData {
	m := format.ColumnMetaData{
		Type: format.Type(c.kind), Encoding: []format.Encoding{format.RLE, format.Plain}, PathInSchema: c.leaf.Path, Codec: format.Zstd,
		NumValues: k.values, TotalUncompressedSize: k.size, TotalCompressedSize: k.stored, DataPageOffset: at + int64(dictionary),
		Statistics: format.Statistics{NullCount: k.nulls},
	}
	if c.hasDictionary() {
		m.DictionaryPageOffset = at
		m.Encoding = append(m.Encoding, format.RLEDictionary)
	}
	if c.isDelta {
		m.Encoding = append(m.Encoding, format.DeltaBinaryPacked)
	}
	if keys := c.ofNumbers.keys; len(keys) > 0 {
		k.bounds.add(int64(slices.Min(keys)), int64(slices.Max(keys)))
	}
	if b := k.bounds; b.min <= b.max {
		size := 8
		if c.kind == parquet.Int32 {
			size = 4
		}
		m.Statistics.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(b.min))[:size]
		m.Statistics.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(b.max))[:size]
	}
	return m
}
