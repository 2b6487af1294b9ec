package symbol

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"path/filepath"
)

// maxDebugLinkBytes bounds .gnu_debuglink: a file's name and a checksum.
const maxDebugLinkBytes = 4096 + 8

// systemDebug is where distributions put debug files (GDB manual, Debugging Information in Separate Files).
const systemDebug = "/usr/lib/debug"

var errChecksum = errors.New("its checksum differs")

// debugLink returns the name of the separate debug file and the CRC-32 of its content.
func (f *File) debugLink() (name string, crc uint32, ok bool) {
	b, ok := f.section(".gnu_debuglink", maxDebugLinkBytes)
	if !ok {
		return "", 0, false
	}
	end := bytes.IndexByte(b, 0)
	if end <= 0 || (end+4)&^3+4 > len(b) {
		return "", 0, false
	}
	name = string(b[:end])
	if name != path.Base(name) || name == "." || name == ".." {
		return "", 0, false
	}
	return name, f.elf.ByteOrder.Uint32(b[(end+4)&^3:]), true
}

// debugFiles returns the paths where the debug file of a file may be, most reliable first. The paths by .gnu_debuglink
// depend on the path of the file itself. beside: its own directory may be searched.
func (f *File) debugFiles(filePath string, beside bool, dirs []string) []string {
	var list []string
	for _, dir := range dirs {
		list = append(list, byBuildID(dir, f.buildID)...)
	}
	name, _, ok := f.debugLink()
	if !ok {
		return list
	}
	own := filepath.Dir(filePath)
	if filePath != "" && beside {
		list = append(list, filepath.Join(own, name), filepath.Join(own, ".debug", name))
	}
	for _, dir := range dirs {
		if filePath != "" {
			list = append(list, filepath.Join(dir, own, name))
		}
		list = append(list, filepath.Join(dir, name))
	}
	return list
}

// byBuildID returns the paths of a build-id's debug file, and of the file itself, in a directory of debug files.
func byBuildID(dir string, id []byte) []string {
	if len(id) < 2 {
		return nil
	}
	own := filepath.Join(dir, ".build-id", fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x", id[1:]))
	return []string{own + ".debug", own}
}

// useDebug takes the symbols from a separate debug file if it belongs to this one. The debug file must stay open as long as
// this one.
func (f *File) useDebug(debug *File) error {
	if !debug.hasSymbols() {
		return errNoSymbols
	}
	if err := f.checkDebug(debug); err != nil {
		return err
	}
	f.debug = debug
	return nil
}

// OpenDebug opens the separate debug file of a file that is at a path: from beside it, or from folders of debug files, of which the
// system's is the last. It is nil if there is none.
func (f *File) OpenDebug(filePath string, dirs ...string) (*File, io.Closer) {
	for _, name := range f.debugFiles(filePath, true, append(dirs, systemDebug)) {
		in, size, err := OpenRegular(name)
		if err != nil {
			continue
		}
		debug, err := Open(in, size)
		if err == nil && (debug.hasSymbols() || debug.elf.Section(".debug_info") != nil) && f.checkDebug(debug) == nil {
			return debug, in
		}
		in.Close()
	}
	return nil, nil
}

// checkDebug checks that a debug file belongs to this file: by its build-id, or, if one of the two has none, by the checksum in
// .gnu_debuglink.
func (f *File) checkDebug(debug *File) error {
	if f.buildID != nil && debug.buildID != nil {
		if !bytes.Equal(f.buildID, debug.buildID) {
			return errBuildID
		}
		return nil
	}
	_, want, ok := f.debugLink()
	if !ok {
		return errors.New("it has no build-id")
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(debug.r, 0, int64(debug.size))); err != nil {
		return fmt.Errorf("read a debug file: %w", err)
	}
	if sum.Sum32() != want {
		return errChecksum
	}
	return nil
}
