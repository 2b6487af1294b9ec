package sideband

import (
	"bytes"
	"os"
	"testing"
)

func FuzzReadBuildID(f *testing.F) {
	for _, name := range []string{"mini.elf", "go.elf"} {
		seed, err := os.ReadFile("../symbol/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		id, err := readBuildID(bytes.NewReader(image))
		if err != nil && id != nil || len(id) > maxBuild {
			t.Fatalf("got %d bytes and %v", len(id), err)
		}
	})
}
