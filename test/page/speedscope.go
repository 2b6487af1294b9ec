package page

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Speedscope opens a profile in speedscope, which scripts/fetch-speedscope has downloaded.
func Speedscope(t testing.TB, name string, profile []byte) *Page {
	t.Helper()
	index := filepath.Join(here(), "..", "..", "build", "speedscope", "index.html")
	if _, err := os.Stat(index); err != nil {
		missing := "speedscope is missing; scripts/fetch-speedscope downloads it"
		if os.Getenv("CI") != "" || os.Getenv("WPROF_TEST_ALL") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	p := Open(t, index)
	p.Wait(`document.querySelector('input[type=file]')`)
	p.Eval(fmt.Sprintf(`(() => {
		const bytes = Uint8Array.from(atob(%q), (c) => c.charCodeAt(0));
		const files = new DataTransfer();
		files.items.add(new File([bytes], %q));
		const input = document.querySelector('input[type=file]');
		input.files = files.files;
		input.dispatchEvent(new Event('change', {bubbles: true}));
	})()`, base64.StdEncoding.EncodeToString(profile), name), nil)
	p.Wait(`/\(\d+\/\d+\)/.test(document.body.innerText) || document.body.innerText.includes('Sandwich')`)
	return p
}

// SavedBySpeedscope is the profile that speedscope shows, as it saves it: what it has made of the file.
func (p *Page) SavedBySpeedscope() []byte {
	p.t.Helper()
	p.Eval(`window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; }`, nil)
	p.Key("Control+s")
	p.Wait(`window.saved !== null`)
	return []byte(p.Text(`window.saved`))
}
