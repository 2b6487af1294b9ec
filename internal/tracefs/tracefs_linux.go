package tracefs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// FS is an open tracefs.
type FS struct{ root int }

// Open opens tracefs where it is mounted, or mounts it.
func Open() (*FS, error) {
	for _, path := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var stat unix.Statfs_t
		if unix.Fstatfs(fd, &stat) == nil && stat.Type == unix.TRACEFS_MAGIC {
			return &FS{fd}, nil
		}
		_ = unix.Close(fd)
	}
	fd, err := mount()
	if err != nil {
		return nil, fmt.Errorf("mount tracefs: %w", err)
	}
	return &FS{fd}, nil
}

// mount mounts tracefs without a path: nobody else sees it, and it goes with its descriptor.
func mount() (int, error) {
	config, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(config)
	if err := unix.FsconfigCreate(config); err != nil {
		return -1, err
	}
	return unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, 0)
}

// Close closes it.
func (f *FS) Close() error { return unix.Close(f.root) }

// Events returns the names of all events, as GROUP:NAME, sorted.
func (f *FS) Events() ([]string, error) {
	text, err := f.read("available_events", maxList)
	if err != nil {
		return nil, err
	}
	names := strings.Fields(string(text))
	slices.Sort(names)
	return names, nil
}

// Functions returns the names of the functions of the kernel that can be traced, sorted.
func (f *FS) Functions() (names []string, err error) {
	text, err := f.read("available_filter_functions", maxList)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ") // the module follows
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

const (
	maxList   = 16 << 20
	maxFormat = 1 << 20
)

// Format returns the text that describes the records of an event.
func (f *FS) Format(event string) ([]byte, error) {
	group, name, _ := strings.Cut(event, ":")
	if strings.Contains(event, "/") || group == "" || name == "" {
		return nil, fmt.Errorf("read the format of %q: %w", event, os.ErrNotExist)
	}
	return f.read("events/"+group+"/"+name+"/format", maxFormat)
}

func (f *FS) read(name string, limit int64) ([]byte, error) {
	fd, err := unix.Openat(f.root, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s of tracefs: %w", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s of tracefs: %w", name, err)
	}
	if int64(len(text)) > limit {
		return nil, errors.New(name + " of tracefs is too long")
	}
	return text, nil
}
