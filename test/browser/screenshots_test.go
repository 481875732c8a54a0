//go:build screenshots

package browser

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTakeScreenshots lets the fleet to look at run for some 25 minutes, kills a replica, takes the
// store away for a moment, pauses a job, and takes the pictures of docs: see
// internal/scripts/screenshots.sh.
func TestTakeScreenshots(t *testing.T) {
	out := os.Getenv("SCREENSHOTS")
	require.NotEmpty(t, out)
	f := newFleet(t, demo(t))
	w, second := f.start("eu-1"), f.start("eu-2")
	third := f.start("eu-3")
	p := newTab(t, look{})
	w.signIn(p, "/jobs/daily-digest/pause")
	p.write("the mail provider is moving")
	p.expectLoad(func() { p.click("main form button") })
	// The pictures show the time that passes.
	time.Sleep(9 * time.Minute)
	second.kill()
	time.Sleep(4 * time.Minute)
	f.start("eu-4")
	f.redis.Freeze()
	time.Sleep(50 * time.Second)
	f.redis.Thaw()
	time.Sleep(8 * time.Minute)
	third.kill()
	time.Sleep(45 * time.Second)
	for _, shot := range []struct {
		name, path    string
		width, height int
		dark          bool
	}{
		{"jobs", "/", 1280, 800, false},
		{"jobs-dark", "/?sort=state", 1280, 800, true},
		{"timeline", "/timeline?span=1h", 1280, 800, false},
		{"job", "/jobs/currency-rates", 1280, 800, false},
		{"why", "/jobs/fraud-scores/why", 1280, 620, true},
		{"load", "/load?span=24h", 1280, 700, false},
		{"fleet", "/fleet", 1280, 700, false},
		{"phone", "/?sort=state", 390, 844, false},
	} {
		p := newTab(t, look{width: shot.width, dark: shot.dark})
		w.signIn(p, shot.path)
		p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": shot.width, "height": shot.height, "deviceScaleFactor": 1, "mobile": false})
		image, err := png.Decode(bytes.NewReader(p.screenshot()))
		require.NoError(t, err)
		var small bytes.Buffer
		require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, image))
		require.Less(t, small.Len(), 150<<10, shot.name)
		require.NoError(t, os.WriteFile(filepath.Join(out, shot.name+".png"), small.Bytes(), 0o644)) //nolint:gosec // a picture for everybody
	}
}

// screenshot returns a PNG of the window.
func (p *tab) screenshot() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	require.NoError(p.t, json.Unmarshal(p.do("Page.captureScreenshot", map[string]any{"format": "png"}), &shot))
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(p.t, err)
	return png
}
