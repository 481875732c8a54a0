package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatOnlyBuildsOnLinuxIsNamed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/p\n\ngo 1.26.0\n")
	write("p.go", "package p\n\nimport \"syscall\"\n\nfunc f() int { return syscall.EPOLLIN }\n")
	write("q_linux.go", "package p\n\nfunc g() {}\n")
	write("r.go", "package p\n\nfunc h() { g() }\n")

	require.NoError(t, check("linux", dir))
	err := check("darwin", dir)
	require.ErrorContains(t, err, "undefined: syscall.EPOLLIN")
	require.ErrorContains(t, err, "undefined: g")
}

func TestPackageThatIsNotThereIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/p\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.go"), []byte("package p\n\nimport _ \"example.com/p/gone\"\n"), 0o600))

	require.ErrorContains(t, check("darwin", dir), "example.com/p/gone")
}
