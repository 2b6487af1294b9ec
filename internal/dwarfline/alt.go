package dwarfline

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
)

const maxLinkBytes = 4096 + 64

var errNoAlt = errors.New("its supplementary debug file is missing, or has changed")

// openAlt opens the supplementary file that dwz has moved common parts of several files to.
func (f *File) openAlt() error {
	name, id, ok := f.altLink()
	if !ok {
		return nil
	}
	if f.options.Open == nil {
		return errNoAlt
	}
	for _, path := range f.altPaths(name, id) {
		if d, err := f.openOther(path, ""); err == nil && f.useAlt(d, id) {
			return nil
		}
	}
	if f.options.Fetch != nil {
		image, done, err := f.options.Fetch(id)
		if err != nil {
			return errNoAlt
		}
		if d, err := f.openImage(image, "", done); err == nil && f.useAlt(d, id) {
			return nil
		}
	}
	return errNoAlt
}

// useAlt takes over a supplementary file, or closes it if it is another one.
func (f *File) useAlt(d *data, id []byte) bool {
	if !bytes.Equal(identity(d.image), id) || d.scan() != nil {
		d.release()
		return false
	}
	f.main.alt = d
	f.work = f.budget
	return true
}

// altLink returns the name and the identity of the supplementary file: those in .gnu_debugaltlink, or in .debug_sup (DWARF 5,
// section 7.3.6).
func (f *File) altLink() (name string, id []byte, ok bool) {
	if b := smallSection(f.main.image, ".gnu_debugaltlink"); b != nil {
		path, id, ok := bytes.Cut(b, []byte{0})
		return string(path), id, ok && len(path) > 0 && len(id) > 1
	}
	name, id, supplementary := debugSup(f.main.image)
	return name, id, !supplementary && name != "" && len(id) > 1
}

// identity is what files refer to a supplementary file by.
func identity(image *Image) []byte {
	if _, id, supplementary := debugSup(image); supplementary {
		return id
	}
	return image.BuildID
}

// debugSup reads .debug_sup. A supplementary file has no name there.
func debugSup(image *Image) (name string, id []byte, supplementary bool) {
	c := cursor{b: smallSection(image, ".debug_sup"), order: image.ELF.ByteOrder}
	c.skip(2) // version
	supplementary = c.u8() == 1
	name = string(c.text())
	id = c.take(c.uleb())
	if c.bad {
		return "", nil, false
	}
	return name, id, supplementary
}

// smallSection returns the contents of a section that has a path and an identity; nil: there is none.
func smallSection(image *Image, name string) []byte {
	s := image.ELF.Section(name)
	if s == nil || s.FileSize > maxLinkBytes {
		return nil
	}
	b := make([]byte, s.FileSize)
	if n, _ := image.R.ReadAt(b, int64(s.Offset)); n < len(b) {
		return nil
	}
	return b
}

func (f *File) altPaths(name string, id []byte) (paths []string) {
	if filepath.IsAbs(name) {
		paths = append(paths, name)
	} else if own := f.main.image.Path; own != "" {
		paths = append(paths, filepath.Join(filepath.Dir(own), name))
	}
	for _, dir := range f.options.DebugDirs {
		paths = append(paths, filepath.Join(dir, ".build-id", fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x.debug", id[1:])),
			filepath.Join(dir, ".dwz", filepath.Base(name)))
	}
	return paths
}
