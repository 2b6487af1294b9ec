package capture

import (
	"slices"
	"testing"

	"wprof/internal/unwind"
)

// The numbers of files in images do not identify them beyond one recording.
func TestFilesOnLoopDevicesAreNotKept(t *testing.T) {
	onDisk, inImage := unwind.Stored{Device: 8<<20 | 1, Name: "a"}, unwind.Stored{Device: loopMajor<<20 | 1, Name: "b"}
	u := &unwinder{}
	u.keepStored(onDisk)
	u.keepStored(inImage)
	if !slices.Equal(u.stored, []unwind.Stored{onDisk}) {
		t.Errorf("kept %v", u.stored)
	}
}
