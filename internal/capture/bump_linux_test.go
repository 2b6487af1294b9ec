package capture

import "testing"

func TestGenerationEndsARoundAfterItsLastProgram(t *testing.T) {
	running := make(chan struct{})
	b := newBump(func() { <-running })
	for range 3 {
		if b.drained() {
			t.Fatal("drained while a program of the old generation runs")
		}
	}
	close(running)
	<-b.finished
	if b.drained() {
		t.Error("drained by a round that may have begun before the program ended")
	}
	if !b.drained() {
		t.Error("not drained by the round after that")
	}
}
