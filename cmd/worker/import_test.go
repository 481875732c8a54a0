package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/workertest"
)

func TestCrontabIsImported(t *testing.T) {
	dir := t.TempDir()
	tab, made := filepath.Join(dir, "crontab"), filepath.Join(dir, "solotick.yaml")
	require.NoError(t, os.WriteFile(tab, []byte("MAILTO=ops\n0 2 * * * /bin/backup.sh\n"), 0o600))
	r := workertest.Do(t, nil, "import", "crontab", tab, "--timezone", "Europe/Berlin")
	require.Equal(t, 0, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "line 1: MAILTO: ")
	require.NoError(t, os.WriteFile(made, []byte(r.Stdout), 0o600))
	require.Equal(t, 0, workertest.Do(t, nil, "validate", "--config", made).Code)
	require.Contains(t, workertest.Do(t, nil, "next", "--config", made).Stdout, "backup")

	require.NoError(t, os.WriteFile(tab, []byte("0 2 * * * /bin/backup.sh\n99 * * * * /bin/x\n@reboot y\n"), 0o600))
	r = workertest.Do(t, nil, "import", "crontab", tab)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stdout, "name: backup")
	require.Regexp(t, `(?s)line 2: .*line 3: .*1 job imported, 2 lines not`, r.Stderr)
	require.Equal(t, 1, workertest.Do(t, nil, "import", "crontab", filepath.Join(dir, "none")).Code)
	require.Equal(t, 2, workertest.Do(t, nil, "import", "crontab").Code)
	require.Equal(t, 2, workertest.Do(t, nil, "import", "crontab", tab, "--timezone", "Mars").Code)
}
