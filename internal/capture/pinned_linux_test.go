package capture

import (
	"strings"
	"testing"
	"time"
)

// A window that was pinned while the one before was being written is written too when the recording has ended meanwhile.
func TestPinnedWindowsAreWrittenAfterTheEnd(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	for range 50 {
		p := newPinning()
		p.taken <- pinned{closed: 7}
		if w, found := p.next(ended); !found || w.closed != 7 {
			t.Fatalf("the pinned window is dropped: %+v, %t", w, found)
		}
		if w, found := p.next(ended); found {
			t.Fatalf("there is another window: %+v", w)
		}
	}
}

// What is said of a snapshot that was not taken is true of the output.
func TestOutputHasOnlyTriggersOfItsWindow(t *testing.T) {
	r := &recorder{closedAt: 10e9, flight: &flight{config: &Flight{Window: time.Second}}}
	for at, want := range map[int64]string{95e8: "the output has", 8e9: "the trigger was 2.00 s before the end"} {
		if got := r.whereIs(at); !strings.HasPrefix(got, want) {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
	}
	r.flight.oldest.Store(98e8) // the size did not suffice for the window
	if got := r.whereIs(97e8); !strings.HasPrefix(got, "the trigger was") {
		t.Error(got)
	}
}
