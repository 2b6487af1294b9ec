package pytrace

import (
	"encoding/binary"
	"fmt"
	"os"
)

func openMemory(pid, flag int) (*os.File, error) {
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), flag, 0)
	if err != nil {
		return nil, fmt.Errorf("open its memory: %w", err)
	}
	return f, nil
}

func readMemory(pid int, at uint64, b []byte) error {
	f, err := openMemory(pid, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.ReadAt(b, int64(at)); err != nil {
		return fmt.Errorf("read its memory at %#x: %w", at, err)
	}
	return nil
}

func writeMemory(pid int, at uint64, b []byte) error {
	f, err := openMemory(pid, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(b, int64(at)); err != nil {
		return fmt.Errorf("write its memory at %#x: %w", at, err)
	}
	return nil
}

func readWord(pid int, at uint64) (uint64, error) {
	var b [8]byte
	err := readMemory(pid, at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func readInt(pid int, at uint64) (uint32, error) {
	var b [4]byte
	err := readMemory(pid, at, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

func writeWord(pid int, at, n uint64) error {
	return writeMemory(pid, at, binary.LittleEndian.AppendUint64(nil, n))
}

func writeInt(pid int, at uint64, n uint32) error {
	return writeMemory(pid, at, binary.LittleEndian.AppendUint32(nil, n))
}
