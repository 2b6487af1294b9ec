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
		d, err := f.openOther(path, "")
		if err != nil {
			continue
		}
		if bytes.Equal(d.image.BuildID, id) {
			if err = d.scan(); err == nil {
				f.main.alt = d
				f.work = f.budget
				return nil
			}
		}
		d.release()
	}
	return errNoAlt
}

// altLink returns the name and the build-id in .gnu_debugaltlink.
func (f *File) altLink() (name string, id []byte, ok bool) {
	s := f.main.image.ELF.Section(".gnu_debugaltlink")
	if s == nil || s.FileSize > maxLinkBytes {
		return "", nil, false
	}
	b := make([]byte, s.FileSize)
	if n, _ := f.main.image.R.ReadAt(b, int64(s.Offset)); n < len(b) {
		return "", nil, false
	}
	path, id, ok := bytes.Cut(b, []byte{0})
	return string(path), id, ok && len(path) > 0 && len(id) > 1
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
