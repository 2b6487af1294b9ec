package dwarfline

import (
	"errors"
	"fmt"
	"path/filepath"
)

// split opens the unit that a skeleton stands for, and returns what closes it.
func (f *File) split(skeleton *scope) (*scope, func(), error) {
	if f.options.Open == nil {
		return nil, nil, errNoSplit
	}
	d, err := f.packed(skeleton.id)
	if d == nil && err == nil {
		d, err = f.loose(skeleton)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := d.split(skeleton)
	if err != nil {
		d.release()
		return nil, nil, err
	}
	return s, d.release, nil
}

// split returns the scope of a skeleton's unit, if it is in this file.
func (d *data) split(skeleton *scope) (*scope, error) {
	for i := range d.units {
		s, err := d.scope(&d.units[i], skeleton)
		if err != nil {
			return nil, err
		}
		if s.id == skeleton.id {
			return s, nil
		}
	}
	return nil, errNoSplit
}

var errNoSplit = errors.New("a .dwo file of it is missing, or has changed")

// loose opens the .dwo file of a skeleton.
func (f *File) loose(skeleton *scope) (*data, error) {
	name := skeleton.text(skeleton.dwoName)
	if name == "" {
		return nil, errNoSplit
	}
	var paths []string
	if filepath.IsAbs(name) {
		paths = append(paths, name)
	} else if folder := skeleton.text(skeleton.compDir); filepath.IsAbs(folder) {
		paths = append(paths, filepath.Join(folder, name))
	}
	if own := f.main.image.Path; own != "" {
		paths = append(paths, filepath.Join(filepath.Dir(own), filepath.Base(name)))
	}
	for _, path := range paths {
		d, err := f.openOther(path, ".dwo")
		if err != nil {
			continue
		}
		if err := d.scan(); err == nil {
			if _, err = d.split(skeleton); err == nil {
				return d, nil
			}
		}
		d.release()
	}
	return nil, errNoSplit
}

// openOther opens the DWARF of another file.
func (f *File) openOther(path, suffix string) (*data, error) {
	image, done, err := f.options.Open(path)
	if err != nil {
		return nil, err
	}
	return f.openImage(image, suffix, done)
}

func (f *File) openImage(image *Image, suffix string, done func()) (*data, error) {
	d, err := openData(image, suffix, &f.budget)
	if err != nil {
		done()
		return nil, err
	}
	d.close = append(d.close, done)
	return d, nil
}

// Sections in the index of a package: DWARF 5, section 7.3.5.3, and GNU's of version 4.
const (
	packInfo       = 1
	packAbbrev     = 3
	packStrOffsets = 6
	packRnglists   = 8 // in version 4 another, which is not used
)

// pack is a .dwp file: the split units of a program.
type pack struct {
	data                    *data
	index                   section
	columns                 []uint32
	units, slots            uint64
	slotsAt, rowsAt, cellAt uint64
	version                 uint32
}

// packed returns a split unit from the program's package; nil: it is not there.
func (f *File) packed(id uint64) (*data, error) {
	if f.pack == nil && !f.noPack {
		f.noPack = true
		for _, beside := range []string{f.main.image.Path, f.options.Program} {
			if beside == "" || f.pack != nil {
				continue
			}
			var err error
			if f.pack, err = f.openPack(beside + ".dwp"); err != nil {
				return nil, err
			}
		}
	}
	if f.pack == nil {
		return nil, nil
	}
	return f.pack.unit(id)
}

func (f *File) openPack(path string) (*pack, error) {
	d, err := f.openOther(path, ".dwo")
	if err != nil {
		return nil, nil // most programs have none
	}
	p := &pack{data: d}
	if err = p.readIndex(); err != nil {
		d.release()
		return nil, fmt.Errorf("read its .dwp file: %w", err)
	}
	return p, nil
}

// readIndex reads the header of the index of units.
func (p *pack) readIndex() (err error) {
	if p.index, err = p.data.section("cu_index"); err != nil {
		return err
	}
	c := cursor{b: p.index.near(0, 16), order: p.data.order}
	if p.version = c.u32(); p.version != 2 {
		c.at = 0
		p.version = uint32(c.u16())
		c.u16()
	}
	columns, units, slots := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	if c.bad || p.version != 2 && p.version != 5 || columns > 16 || slots&(slots-1) != 0 {
		return errMalformed
	}
	p.units, p.slots = units, slots
	p.slotsAt = 16
	p.rowsAt = p.slotsAt + 8*slots
	ids := p.rowsAt + 4*slots
	p.cellAt = ids + 4*columns
	if p.cellAt+8*columns*units > p.index.size {
		return errMalformed
	}
	c = cursor{b: p.index.near(ids, 4*columns), order: p.data.order}
	for range columns {
		p.columns = append(p.columns, c.u32())
	}
	return nil
}

// row returns the number of a unit's row; 0: it is not in the package.
func (p *pack) row(id uint64) uint64 {
	if p.slots == 0 {
		return 0
	}
	mask := p.slots - 1
	slot, step := id&mask, id>>32&mask|1
	for range p.slots {
		at := p.number(p.slotsAt+8*slot, 8)
		row := p.number(p.rowsAt+4*slot, 4)
		if row == 0 || at == id {
			return row
		}
		slot = (slot + step) & mask
	}
	return 0
}

func (p *pack) number(at uint64, size uint8) uint64 {
	c := cursor{b: p.index.near(at, uint64(size)), order: p.data.order}
	return c.uint(size)
}

// unit returns a unit's own parts of the sections; nil: it is not in the package.
func (p *pack) unit(id uint64) (*data, error) {
	row := p.row(id)
	if row == 0 {
		return nil, nil
	}
	if row > p.units {
		return nil, errMalformed
	}
	from := p.data
	d := newData(from.image, from.budget)
	d.str, d.lineStr = from.str.part(0, from.str.size), from.lineStr.part(0, from.lineStr.size)
	width := 4 * uint64(len(p.columns))
	for i, column := range p.columns {
		cell := p.cellAt + (row-1)*width + 4*uint64(i)
		at, size := p.number(cell, 4), p.number(cell+p.units*width, 4)
		switch {
		case column == packInfo:
			d.info = from.info.part(at, size)
		case column == packAbbrev:
			d.abbrev = from.abbrev.part(at, size)
		case column == packStrOffsets:
			d.strOffsets = from.strOffsets.part(at, size)
		case column == packRnglists && p.version == 5:
			d.rnglists = from.rnglists.part(at, size)
		}
	}
	return d, d.scan()
}
