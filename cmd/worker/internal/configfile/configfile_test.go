package configfile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInheritedDescriptorIsNotReread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, isFile(path))
	open, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = open.Close() }()
	require.ErrorContains(t, isFile(fmt.Sprintf("/dev/fd/%d", open.Fd())), "is not a file", "though it is one")
	require.ErrorContains(t, isFile("/dev/stdin"), "is not a file")
	require.ErrorContains(t, isFile(filepath.Join(path, "none")), "read configuration: ")
}
