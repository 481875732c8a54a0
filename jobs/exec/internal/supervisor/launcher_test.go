package supervisor

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRelativePartsOfPathDoNotCount(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "greet"), []byte("#!/bin/sh\n"), 0o700))
	t.Chdir(dir)
	_, err := findProgram("greet", ".::relative")
	require.ErrorIs(t, err, fs.ErrNotExist)
	found, err := findProgram("greet", ".:"+dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "greet"), found)
}
