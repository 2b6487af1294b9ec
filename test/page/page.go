package page

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Page is a file that is open in a browser, which no other test uses meanwhile.
type Page struct {
	t      testing.TB
	bridge *bridge
	url    string

	mu       sync.Mutex
	loaded   int
	errors   []string
	requests []string
}

// Size is how large a page is, in CSS pixels.
type Size struct{ Width, Height int }

// Open opens a file in a window of 1280 by 800 and waits until it is loaded. It closes with the test.
func Open(t testing.TB, path string) *Page {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return OpenURL(t, (&url.URL{Scheme: "file", Path: path}).String())
}

// OpenURL opens what a server on this machine has, in the same way.
func OpenURL(t testing.TB, address string) *Page {
	t.Helper()
	p := &Page{t: t, url: address}
	p.bridge = takeBridge(t, p.onEvent)
	return p.open()
}

// OpenWith opens a page in a browser of its own, with flags of Chromium.
func OpenWith(t testing.TB, address string, flags ...string) *Page {
	t.Helper()
	p := &Page{t: t, url: address}
	p.bridge = startBridge(t, p.onEvent, flags...)
	t.Cleanup(func() { _ = p.bridge.stdin.Close() })
	return p.open()
}

func (p *Page) open() *Page {
	p.t.Helper()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.call(domain+".enable", struct{}{}, nil)
	}
	p.Reload()
	return p
}

// Reload opens the page's file again and waits until it is loaded.
func (p *Page) Reload() {
	p.t.Helper()
	p.mu.Lock()
	before := p.loaded
	p.mu.Unlock()
	var opened struct{ ErrorText string }
	p.call("Page.navigate", map[string]any{"url": p.url}, &opened)
	if opened.ErrorText != "" {
		p.t.Fatalf("open %s: %s", p.url, opened.ErrorText)
	}
	p.until("the page is loaded", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.loaded > before
	})
}

// Resize makes the page's window another size, and waits until the page has its new size; scale is how many of the screen's
// pixels a CSS pixel has.
func (p *Page) Resize(size Size, scale float64) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": size.Width, "height": size.Height, "deviceScaleFactor": scale, "mobile": false,
	}, nil)
	p.Wait(fmt.Sprintf("innerWidth === %d && innerHeight === %d && devicePixelRatio === %v", size.Width, size.Height, scale))
	p.Eval("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(0))))", nil)
}

// Prefer sets what the user prefers: ("color-scheme", "dark"), ("reduced-motion", "reduce"). It replaces what was set
// before.
func (p *Page) Prefer(feature, value string) {
	p.t.Helper()
	p.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-" + feature, "value": value}},
	}, nil)
}

// Eval evaluates a JavaScript expression in the page, awaits it if it is a promise, and puts its value in to, as
// encoding/json does; to may be nil.
func (p *Page) Eval(expression string, to any) {
	p.t.Helper()
	var out struct {
		Result struct {
			Value json.RawMessage
		}
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if e := out.ExceptionDetails; e != nil {
		p.t.Fatalf("evaluate %s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if to == nil {
		return
	}
	if len(out.Result.Value) == 0 {
		p.t.Fatalf("evaluate %s: it has no value", expression)
	}
	if err := json.Unmarshal(out.Result.Value, to); err != nil {
		p.t.Fatalf("evaluate %s: %s is no %T: %v", expression, out.Result.Value, to, err)
	}
}

// Text evaluates an expression that is a string.
func (p *Page) Text(expression string) string {
	p.t.Helper()
	var s string
	p.Eval(expression, &s)
	return s
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	p.until(expression, func() bool {
		var is bool
		p.Eval("!!("+expression+")", &is)
		return is
	})
}

// Screenshot writes a PNG of what the window shows.
func (p *Page) Screenshot(file string) {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// ConsoleErrors are the errors and warnings so far: exceptions, refused resources, what the page itself logs as such.
func (p *Page) ConsoleErrors() []string {
	p.t.Helper()
	p.Eval("0", nil) // what was logged before arrives before
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.errors...)
}

// Requests are the addresses of all that the page has requested so far, but its own and those within it (data:, blob:).
func (p *Page) Requests() []string {
	p.t.Helper()
	p.Eval("0", nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...)
}

func (p *Page) call(method string, params, to any) {
	p.t.Helper()
	result, err := p.bridge.call(method, params)
	if err == nil && to != nil {
		err = json.Unmarshal(result, to)
	}
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

func (p *Page) until(what string, is func() bool) {
	p.t.Helper()
	for begin := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > hang {
			p.t.Fatalf("waited %v until %s", hang, what)
		}
	}
}

// onEvent keeps events of the browser.
func (p *Page) onEvent(method string, params json.RawMessage) {
	var event struct {
		Type             string // of a console call
		Args             []struct{ Value, Description any }
		ExceptionDetails json.RawMessage
		Entry            struct{ Level, Text, URL string }
		Request          struct{ URL string }
	}
	if json.Unmarshal(params, &event) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Page.loadEventFired":
		p.loaded++
	case "Runtime.exceptionThrown":
		p.errors = append(p.errors, string(event.ExceptionDetails))
	case "Runtime.consoleAPICalled":
		if event.Type == "error" || event.Type == "warning" || event.Type == "assert" {
			text, _ := json.Marshal(event.Args)
			p.errors = append(p.errors, event.Type+": "+string(text))
		}
	case "Log.entryAdded":
		if event.Entry.Level == "error" || event.Entry.Level == "warning" {
			p.errors = append(p.errors, event.Entry.Text+" "+event.Entry.URL)
		}
	case "Network.requestWillBeSent":
		own, _, _ := strings.Cut(p.url, "#") // a fragment is not requested
		if u := event.Request.URL; u != own && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "blob:") {
			p.requests = append(p.requests, u)
		}
	}
}
