package flamehtml

import (
	"fmt"
	"testing"

	"wprof/format"
	"wprof/internal/flame/flametest"
	"wprof/internal/flame/profile"
	"wprof/test/page"
)

// lanesProfile has a thread that runs, waits for a CPU and is blocked, for a slot of ten each, and one that waits for work in all of them.
func lanesProfile() *profile.Profile {
	b := flametest.New()
	b.Slot, b.Slots, b.About.Window, b.About.Span = 100e6, 10, 1e9, 1e9
	cell := func(class profile.Class, slots ...uint32) profile.Cell {
		c := flametest.Cell(class, format.StateInterruptible, b.Calls("main", "work"), int64(len(slots))*100e6, 1)
		for _, slot := range slots {
			c.Slots = append(c.Slots, profile.SlotTime{Slot: slot, Ns: 100e6})
		}
		return c
	}
	b.Thread(10, 10, "pool", cell(profile.ClassIdle, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9))
	b.Thread(20, 20, "busy", cell(profile.ClassOnCPU, 0, 3), cell(profile.ClassRunnable, 1, 4), cell(profile.ClassBlocked, 2, 5, 6, 7), cell(profile.ClassUnknown, 8))
	return b.Profile
}

// laneColours are the bands in which the slots of a lane are drawn, each by its middle; -1 for the page's own colour.
func laneColours(pg *page.Page, row int) (bands []int) {
	pg.Eval(fmt.Sprintf(`(() => {
		const {lanes, strip} = wprof;
		lanes.drawNow();
		const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)).join();
		const copy = document.createElement('canvas');
		[copy.width, copy.height] = [lanes.canvas.width, lanes.canvas.height];
		const context = copy.getContext('2d', {willReadFrequently: true});
		context.drawImage(lanes.canvas, 0, 0);
		const all = strip.palette.times.map(rgb);
		return Array.from({length: 10}, (_, slot) => {
			const x = (strip.x(slot) + strip.x(slot + 1)) / 2;
			return all.indexOf([...context.getImageData(x * devicePixelRatio, (%d * 17 + 7) * devicePixelRatio, 1, 1).data].slice(0, 3).join());
		});
	})()`, row), &bands)
	return bands
}

func TestLanesShowWhatThreadsDid(t *testing.T) {
	t.Parallel()
	pg := open(t, lanesProfile())
	pg.ClickOn("#lanes-button")
	if got, want := fmt.Sprint(laneColours(pg, 0)[1:]), "[1 2 0 1 2 2 2 4 -1]"; got != want { // the name is in the first slot
		t.Errorf("the lane of the busy thread is %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(laneColours(pg, 1)[1:]), "[3 3 3 3 3 3 3 3 3]"; got != want {
		t.Errorf("the lane of the pool is %s, want %s", got, want)
	}
	x, y := pg.At("#lanes canvas")
	var width, top float64
	pg.Eval("document.querySelector('#lanes canvas').getBoundingClientRect().width", &width)
	pg.Eval("document.querySelector('#lanes canvas').getBoundingClientRect().top", &top)
	pg.Click(x, top+8)
	waitRendered(pg)
	if got := pg.Text("[...wprof.view.threads].map((i) => wprof.threads.nameOf(i)).join()"); got != "busy" {
		t.Errorf("a click on the first lane chooses %s", got)
	}
	left := x - width/2
	pg.Drag(left+0.32*width, y, left+0.58*width, y)
	waitRendered(pg)
	if got := pg.Text("`${wprof.view.from} ${wprof.view.to}`"); got != "3 6" {
		t.Errorf("slots %s are selected, want 3 to 6", got)
	}
	if got := laneColours(pg, 0); got[4] != 1 || got[7] != -1 {
		t.Errorf("with a range the lane is %v", got)
	}
	pg.Eval("wprof.threads.arrangeBy('pool', 'work')", nil)
	if got := laneColours(pg, 0); got[4] != 3 {
		t.Errorf("filtered, the first lane is %v, want that of the pool", got)
	}
	pg.Key("l")
	pg.Wait("document.querySelector('#lanes').hidden")
}
