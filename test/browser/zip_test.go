package browser

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// TestModuleZipKeepsEmbeddedFiles makes the zip that the go command downloads: it leaves out most
// of what lies in a folder named vendor.
func TestModuleZipKeepsEmbeddedFiles(t *testing.T) {
	root := t.TempDir()
	tracked, err := exec.Command("git", "-C", filepath.Join("..", ".."), "ls-files", "-z", "go.mod", "LICENSE", "console").Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(tracked), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), text, 0o600))
	}
	var b bytes.Buffer
	version := module.Version{Path: "github.com/solotick/solotick", Version: "v1.0.0"}
	require.NoError(t, modzip.CreateFromDir(&b, version, root))
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	var kept []string
	for _, file := range z.File {
		kept = append(kept, strings.TrimPrefix(file.Name, version.String()+"/console/internal/page/"))
	}
	for _, name := range []string{
		"vendor/htmx.min.js", "vendor/sse.min.js", "vendor/idiomorph-ext.min.js", "vendor/LICENSE-htmx", "vendor/LICENSE-sse", "vendor/LICENSE-idiomorph",
		"vendor/VERSION", "static/console.css", "templates/frame.html",
	} {
		require.True(t, slices.Contains(kept, name), "%s is missing", name)
	}
}
