//go:build linux

package profiles

import (
	"net/http"
	"testing"
	"time"
)

// answering waits for a server, which prints its address a little before it listens.
func answering(t *testing.T, at string) string {
	t.Helper()
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var r *http.Response
		if r, err = http.Get(at); err == nil {
			r.Body.Close()
			return at
		}
	}
	t.Fatal(err)
	return ""
}
