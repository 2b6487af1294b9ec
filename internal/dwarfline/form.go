package dwarfline

// value is the value of an attribute. What it means depends on its form.
type value struct {
	form uint16 // 0: there is none
	u    uint64
	text []byte // of a string that stands in the entry
}

// fixedSize returns the bytes of a form; -1: they vary.
func (u *unit) fixedSize(form uint16) int {
	offset := 4
	if u.wide {
		offset = 8
	}
	switch form {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(u.addressSize)
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return offset
	case formRefAddr:
		if u.version <= 2 {
			return int(u.addressSize)
		}
		return offset
	}
	return -1
}

// read reads a value of an entry.
func (u *unit) read(c *cursor, s *attrSpec) value {
	form := s.form
	for form == formIndirect && !c.bad {
		form = uint16(min(c.uleb(), 0xffff))
	}
	v := value{form: form}
	switch form {
	case formFlagPresent:
		v.u = 1
	case formImplicitConst:
		v.u = uint64(s.implicit)
	case formString:
		v.text = c.text()
	case formSdata:
		v.u = uint64(c.sleb())
	case formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex, formGNUStrIndex:
		v.u = c.uleb()
	case formBlock1:
		c.skip(uint64(c.u8()))
	case formBlock2:
		c.skip(uint64(c.u16()))
	case formBlock4:
		c.skip(uint64(c.u32()))
	case formBlock, formExprloc:
		c.skip(c.uleb())
	case formData16:
		c.skip(16)
	default:
		v.u = c.uint(uint8(max(0, u.fixedSize(form)))) // an unknown form has size 0, which is bad
	}
	return v
}

// skipEntry passes the attributes of an entry.
func (u *unit) skipEntry(c *cursor, a *abbrev) {
	if a.fixed >= 0 {
		c.skip(uint64(a.fixed))
		return
	}
	for i := range a.attrs {
		u.read(c, &a.attrs[i])
	}
}

// isConstant reports whether a value is a number, not a place.
func (v value) isConstant() bool {
	switch v.form {
	case formData1, formData2, formData4, formData8, formSdata, formUdata, formImplicitConst:
		return true
	}
	return false
}

// reference returns the entry that a value refers to, and the file that has it.
func (s *scope) reference(v value) (d *data, entry uint64, ok bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		return s.d, s.u.offset + v.u, v.u < s.u.size
	case formRefAddr:
		return s.d, v.u, true
	case formGNURefAlt, formRefSup4, formRefSup8:
		return s.d.alt, v.u, s.d.alt != nil
	}
	return nil, 0, false
}

// text returns a string.
func (s *scope) text(v value) string {
	switch v.form {
	case formString:
		return string(v.text[:min(len(v.text), maxTextBytes)])
	case formLineStrp:
		return s.d.lineStr.text(v.u)
	}
	if d, at, ok := s.textAt(v); ok {
		return d.str.text(at)
	}
	return ""
}

// textAt returns where a string is in .debug_str of which file.
func (s *scope) textAt(v value) (d *data, at uint64, ok bool) {
	switch v.form {
	case formStrp:
		return s.d, v.u, true
	case formStrpSup, formGNUStrpAlt:
		return s.d.alt, v.u, s.d.alt != nil
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		width := s.u.offsetSize()
		if v.u < s.d.strOffsets.size {
			c := cursor{b: s.d.strOffsets.near(s.strOffsets+v.u*width, width), order: s.d.order, wide: s.u.wide}
			at = c.offset()
			return s.d, at, !c.bad
		}
	}
	return nil, 0, false
}

// address returns an address of the program.
func (s *scope) address(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.u, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return s.addressAt(v.u)
	}
	return 0, false
}

// addressAt returns an address by its index in .debug_addr.
func (s *scope) addressAt(i uint64) (uint64, bool) {
	from := &s.of.addr
	if i >= from.size {
		return 0, false
	}
	size := uint64(s.u.addressSize)
	c := cursor{b: from.near(s.addrBase+i*size, size), order: s.d.order}
	a := c.uint(s.u.addressSize)
	return a, !c.bad
}
