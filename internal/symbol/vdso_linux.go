package symbol

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
)

// maxVDSOBytes bounds the image. It has two pages, on some machines four.
const maxVDSOBytes = 1 << 20

// ReadVDSO returns the image of the vDSO, which is the same in every process, from the memory of this one.
func ReadVDSO() ([]byte, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if !bytes.HasSuffix(lines.Bytes(), []byte(" [vdso]")) {
			continue
		}
		word, _ := cutWord(lines.Bytes())
		from, to, _ := bytes.Cut(word, []byte("-"))
		start, ok := parseHex(from)
		end, ok2 := parseHex(to)
		if !ok || !ok2 || end <= start || end-start > maxVDSOBytes {
			return nil, errors.New("read the vDSO: /proc/self/maps has no valid address range for it")
		}
		return readMemory(start, int(end-start))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	return nil, errors.New("read the vDSO: this process has none")
}

func readMemory(at uint64, size int) ([]byte, error) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	defer memory.Close()
	image := make([]byte, size)
	if _, err := memory.ReadAt(image, int64(at)); err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	return image, nil
}
