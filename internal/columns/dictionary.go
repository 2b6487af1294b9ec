package columns

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

// dictionary assigns indices to the values of a column within a row group.
type dictionary[K comparable] struct {
	keys   []K
	index  map[K]int32
	recent [256]int32 // index + 1 of a value; 0: none
	page   []byte     // the values, PLAIN
}

// find returns the index of a value; -1: it is not in the dictionary. slot is the same for equal values as a rule.
func (d *dictionary[K]) find(key K, slot uint8) int32 {
	if n := d.recent[slot]; n != 0 && d.keys[n-1] == key {
		return n - 1
	}
	index, found := d.index[key]
	if !found {
		return -1
	}
	d.recent[slot] = index + 1
	return index
}

// add adds a value, whose bytes have been added to the page.
func (d *dictionary[K]) add(key K) int32 {
	if d.index == nil {
		d.index = make(map[K]int32)
	}
	index := int32(len(d.keys))
	d.keys, d.index[key] = append(d.keys, key), index
	return index
}

func (d *dictionary[K]) clear() {
	clear(d.keys)
	clear(d.index)
	clear(d.recent[:])
	d.keys, d.page = d.keys[:0], d.page[:0]
}

// textDictionary is a dictionary of texts. It keeps copies: a text may be a part of much larger memory, or of memory that is used again.
type textDictionary struct{ dictionary[string] }

// of returns the index of a text. The slot depends on where the text is: that is faster than its bytes, and the same for most
// equal texts.
func (d *textDictionary) of(s string) int32 {
	if index := d.find(s, uint8(uintptr(unsafe.Pointer(unsafe.StringData(s)))>>4)); index >= 0 {
		return index
	}
	d.page = appendText(d.page, s)
	return d.add(strings.Clone(s))
}

// numberDictionary is a dictionary of numbers of 32 bits.
type numberDictionary struct{ dictionary[int32] }

func (d *numberDictionary) of(n int32) int32 {
	if index := d.find(n, uint8(n)); index >= 0 {
		return index
	}
	d.page = binary.LittleEndian.AppendUint32(d.page, uint32(n))
	return d.add(n)
}

// appendText appends a text, PLAIN.
func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}
