package usercode

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"slices"

	"wprof/internal/cli"
	"wprof/internal/glob"
	"wprof/internal/probe"
)

const (
	maxProbeNotes = 32 << 20 // bytes of a section
	maxSites      = 100_000
	maxProbeName  = 256
	stapNote      = 3 // NT_STAPSDT in SystemTap's sys/sdt.h
)

// Site is one place of a static probe (USDT). A probe may have several: where the function with it is inlined, and where the source names it
// twice.
type Site struct {
	Provider, Name string
	Offset         uint64 // in the file
	Semaphore      uint64 // in the file, of the counter that switches the probe on; 0: it is always on
	Args           []USDTArg
	Spec           string // the arguments as the file has them
	address        uint64
}

// USDTArg is an argument of a static probe.
type USDTArg struct {
	Read probe.Read
	Type probe.Type
	Spec string // as the file has it
	Err  error  // why it cannot be read; nil: it can
}

// USDT returns the places of the static probes whose names two globs match, by name and offset. A probe that has arguments which cannot be
// understood is returned without any.
func (f *File) USDT(provider, name string) ([]Site, error) {
	all, err := f.sites()
	if err != nil {
		return nil, fmt.Errorf("find static probes of %s: %w", f.path, err)
	}
	var list []Site
	for _, s := range all {
		if glob.Match(provider, []byte(s.Provider)) && glob.Match(name, []byte(s.Name)) {
			s.Args, _ = f.usdtArgs(&s)
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil, &NotFound{What: "static probe", Name: provider + ":" + name, Near: nearSites(all, provider, name)}
	}
	return list, nil
}

func nearSites(all []Site, provider, name string) []string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, s.Provider+":"+s.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if near := cli.Nearest(provider+":"+name, names); len(near) > 0 {
		return near
	}
	var near []string
	for _, n := range names {
		if bytes.HasPrefix([]byte(n), []byte(provider+":")) && len(near) < 3 {
			near = append(near, n)
		}
	}
	return near
}

// sites reads the notes of all static probes.
func (f *File) sites() ([]Site, error) {
	section := f.elf.Section(".note.stapsdt")
	if section == nil || section.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	if section.Size > maxProbeNotes || section.FileSize > maxProbeNotes {
		return nil, fmt.Errorf("their descriptions have %d bytes, and the limit is %d", section.Size, maxProbeNotes)
	}
	notes, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", section.Name, err)
	}
	base := uint64(0)
	if s := f.elf.Section(".stapsdt.base"); s != nil {
		base = s.Addr
	}
	var list []Site
	seen := map[siteKey]bool{}
	for len(notes) > 0 {
		desc, rest, err := f.note(notes)
		if err != nil {
			return nil, err
		}
		notes = rest
		s, ok := f.site(desc, base)
		if key := (siteKey{s.Provider, s.Name, s.Offset}); ok && !seen[key] {
			seen[key] = true
			list = append(list, s)
		}
		if len(list) > maxSites {
			return nil, fmt.Errorf("there are more than %d", maxSites)
		}
	}
	slices.SortStableFunc(list, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Offset, b.Offset))
	})
	return list, nil
}

type siteKey struct {
	provider, name string
	offset         uint64
}

var errNotes = errors.New("their descriptions are malformed")

// note splits the first note off. desc is nil if it is none of a static probe.
func (f *File) note(b []byte) (desc, rest []byte, err error) {
	if len(b) < 12 {
		return nil, nil, errNotes
	}
	o := f.elf.ByteOrder
	name, size := (uint64(o.Uint32(b))+3)&^3, uint64(o.Uint32(b[4:]))
	kind := o.Uint32(b[8:])
	b = b[12:]
	if name > uint64(len(b)) || size > uint64(len(b))-name {
		return nil, nil, errNotes
	}
	if kind == stapNote && string(b[:name]) == "stapsdt\x00" {
		desc = b[name : name+size]
	}
	return desc, b[min(name+(size+3)&^3, uint64(len(b))):], nil
}

// site reads the description of a probe: three addresses and three strings. Addresses are those that the code had before a tool moved it,
// which is known by the base that is moved too.
func (f *File) site(desc []byte, base uint64) (Site, bool) {
	if len(desc) < 24 {
		return Site{}, false
	}
	o := f.elf.ByteOrder
	at, linked, semaphore := o.Uint64(desc), o.Uint64(desc[8:]), o.Uint64(desc[16:])
	texts := bytes.SplitN(desc[24:], []byte{0}, 4)
	if len(texts) < 4 || len(texts[0]) > maxProbeName || len(texts[1]) > maxProbeName {
		return Site{}, false
	}
	if base != 0 && linked != 0 {
		at += base - linked
		if semaphore != 0 {
			semaphore += base - linked
		}
	}
	s := Site{Provider: string(texts[0]), Name: string(texts[1]), Spec: string(texts[2]), address: at}
	ok := false
	if s.Offset, ok = f.offset(at); !ok {
		return Site{}, false
	}
	if semaphore != 0 {
		if s.Semaphore, ok = f.offsetIn(semaphore, elf.PF_W); !ok {
			return Site{}, false
		}
	}
	return s, true
}

func (f *File) usdtArgs(s *Site) ([]USDTArg, error) {
	return parseUSDTArgs(&argScope{machine: f.machine, at: s.address, data: f.symbols.Data}, s.Spec)
}
