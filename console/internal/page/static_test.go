package page

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVendoredFilesAreThoseOfTheirVersions(t *testing.T) {
	list, err := embedded.ReadFile("vendor/VERSION")
	require.NoError(t, err)
	described := 0
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		body, err := embedded.ReadFile("vendor/" + fields[0])
		require.NoError(t, err)
		sum := sha256.Sum256(body)
		assert.Equal(t, fields[len(fields)-1], hex.EncodeToString(sum[:]), fields[0])
		_, err = embedded.ReadFile("vendor/" + fields[5])
		require.NoError(t, err, "the licence of %s", fields[0])
		described++
	}
	entries, err := embedded.ReadDir("vendor")
	require.NoError(t, err)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".js") {
			described--
		}
		assert.False(t, entry.IsDir(), "the zip of a module leaves %s out", entry.Name())
	}
	assert.Zero(t, described)
}

func get(t *testing.T, path, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	Static().ServeHTTP(w, r)
	return w
}

func TestStaticFileIsCachedByItsHash(t *testing.T) {
	f := &frame{Context: Context{Prefix: "/cron"}}
	at := f.Asset("console.css")
	assert.Regexp(t, `^/cron/static/console\.[0-9a-f]{12}\.css$`, at)
	plain, packed := get(t, at, "gzip;q=0"), get(t, at, "br, gzip")
	assert.Equal(t, "text/css; charset=utf-8", plain.Header().Get("Content-Type"))
	assert.Contains(t, plain.Header().Get("Cache-Control"), "immutable")
	assert.Empty(t, plain.Header().Get("Content-Encoding"))
	unpacked, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	body, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	assert.Equal(t, plain.Body.String(), string(body))
	for _, other := range []string{"/static/console.css", "/static/console.000000000000.css", "/static/VERSION", "/static/", "/static/../page.go"} {
		assert.Equal(t, http.StatusNotFound, get(t, other, "").Code, other)
	}
}

func TestLanguageIsChosenOrTheBrowsers(t *testing.T) {
	for header, want := range map[string]string{
		"": English, "zh-CN,zh;q=0.9,en;q=0.8": Chinese, "en-GB, zh;q=0.5": English, "de, fr": English, "de, zh;q=0.1": Chinese,
		"zh;q=0, en;q=0.1": English, "zh;q=x": English, "ZH": Chinese, ",;;q=": English,
	} {
		assert.Equal(t, want, Language(header), header)
	}
	assert.Equal(t, Chinese, Language("en", "", "zh"))
	assert.Equal(t, English, Language("zh", "en"))
	assert.Equal(t, Chinese, Language("zh", "tlh"))
}
