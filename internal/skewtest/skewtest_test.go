package skewtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknownSourceIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "time.go")
	for source, refused := range map[string]bool{
		"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n}\n":                                     false,
		"func Now() Time {\n\tsec, nsec := walltime()\n}\n":                                             true,
		"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n}\nfunc Other() { x := runtimeNow() }\n": true,
	} {
		require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
		_, err := skew(path)
		if refused {
			require.ErrorContains(t, err, "adapt package skewtest", source)
		} else {
			require.NoError(t, err, source)
		}
	}
}
