package page

import (
	"fmt"
	"strconv"
	"strings"
)

// At is the middle of the first element that a CSS selector matches, in CSS pixels of the window.
func (p *Page) At(selector string) (x, y float64) {
	p.t.Helper()
	var box *struct{ X, Y float64 }
	p.Eval(fmt.Sprintf(`(() => {
		const e = document.querySelector(%s);
		if (!e) return null;
		const b = e.getBoundingClientRect();
		return {x: b.x + b.width / 2, y: b.y + b.height / 2};
	})()`, strconv.Quote(selector)), &box)
	if box == nil {
		p.t.Fatalf("nothing in the page is %s", selector)
	}
	return box.X, box.Y
}

// Hover moves the mouse.
func (p *Page) Hover(x, y float64) {
	p.t.Helper()
	p.mouse("mouseMoved", x, y, map[string]any{})
}

// Click presses and lets go the left button of the mouse.
func (p *Page) Click(x, y float64) {
	p.t.Helper()
	p.Drag(x, y, x, y)
}

// ClickOn clicks in the middle of an element.
func (p *Page) ClickOn(selector string) {
	p.t.Helper()
	x, y := p.At(selector)
	p.Click(x, y)
}

// Drag moves the mouse from one place to another with its left button pressed.
func (p *Page) Drag(fromX, fromY, toX, toY float64) {
	p.t.Helper()
	left := map[string]any{"button": "left", "clickCount": 1}
	p.Hover(fromX, fromY)
	p.mouse("mousePressed", fromX, fromY, left)
	if fromX != toX || fromY != toY {
		p.mouse("mouseMoved", (fromX+toX)/2, (fromY+toY)/2, map[string]any{"button": "left", "buttons": 1})
		p.mouse("mouseMoved", toX, toY, map[string]any{"button": "left", "buttons": 1})
	}
	p.mouse("mouseReleased", toX, toY, left)
}

func (p *Page) mouse(kind string, x, y float64, more map[string]any) {
	p.t.Helper()
	more["type"], more["x"], more["y"] = kind, x, y
	p.call("Input.dispatchMouseEvent", more, nil)
}

// modifiers are the protocol's bits for keys that are held.
func modifiers() map[string]int {
	return map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
}

// Key presses a key by its name in KeyboardEvent.key, with others held: "Enter", "/", "Control+f".
func (p *Page) Key(name string) {
	p.t.Helper()
	held := 0
	for {
		modifier, rest, more := strings.Cut(name, "+")
		if !more || rest == "" {
			break
		}
		held |= modifiers()[modifier]
		name = rest
	}
	press := map[string]any{"type": "keyDown", "key": name, "modifiers": held, "windowsVirtualKeyCode": virtualKeys()[name]}
	switch {
	case name == "Enter":
		press["text"] = "\r"
	case len(name) == 1 && held&^modifiers()["Shift"] == 0:
		press["text"] = name
	}
	p.call("Input.dispatchKeyEvent", press, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{
		"type": "keyUp", "key": name, "modifiers": held, "windowsVirtualKeyCode": virtualKeys()[name],
	}, nil)
}

// virtualKeys are the codes of keys that do something in the browser itself.
func virtualKeys() map[string]int {
	return map[string]int{
		"Backspace": 8, "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
		"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Delete": 46,
	}
}

// Type types a text where the keyboard's focus is.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.call("Input.insertText", map[string]any{"text": text}, nil)
}
