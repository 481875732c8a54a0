package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextsOfWhatIsLinkedAreWritten(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"std/LICENSE": "of Go", "std/src/LICENSE": "of what it uses to build", "one/LICENSE.md": "MIT of one", "one/NOTICE": "one is by many",
		"one/inner/license.txt": "BSD of inner", "one/again/LICENSE": "MIT of one", "one/license.go": "package one",
		"one/testdata/LICENSE": "of no part", "two/COPYING": "MPL of two", "none/README": "nothing",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	dirs := func(m *debug.Module) (string, error) { return filepath.Join(root, m.Path), nil }
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{
		{Path: "one", Version: "v1.2.3"}, {Path: "three", Version: "v1.0.0", Replace: &debug.Module{Path: "two", Version: "v2.0.0-RC1"}},
		{Path: "ours", Version: "v0.1.0", Replace: &debug.Module{Path: "../../", Version: "(devel)"}},
	}}
	var out bytes.Buffer
	require.NoError(t, write(&out, info, dirs))
	for _, part := range []string{
		"of Go", "https://go.dev/dl/go1.26.8.src.tar.gz", "one v1.2.3\nhttps://proxy.golang.org/one/@v/v1.2.3.zip", "LICENSE.md:\n\nMIT of one", "one is by many",
		"inner/license.txt:\n\nBSD of inner", "https://proxy.golang.org/two/@v/v2.0.0-!r!c1.zip", "MPL of two",
	} {
		require.Contains(t, out.String(), part)
	}
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("MIT of one")))
	for _, part := range []string{"package one", "no part", "to build", "three", "ours", "../"} {
		require.NotContains(t, out.String(), part)
	}

	info.Deps = append(info.Deps, &debug.Module{Path: "none", Version: "v1.0.0"})
	require.ErrorContains(t, write(&out, info, dirs), "none: "+filepath.Join(root, "none")+" has no licence")
}
