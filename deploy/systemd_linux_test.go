package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const unit = "systemd/solotick-worker.service"

func TestTheUnitIsValidAndHardened(t *testing.T) {
	installed := strings.Replace(text(t, unit), "ExecStart=/usr/bin/worker", "ExecStart=/bin/true", 1) // which is there
	path := filepath.Join(t.TempDir(), filepath.Base(unit))
	require.NoError(t, os.WriteFile(path, []byte(installed), 0o600))
	for _, args := range [][]string{
		{"verify", "--man=no", path},
		{"security", "--offline=true", "--threshold=15", path}, // tenths; 100 is no protection at all
	} {
		out, err := exec.Command("systemd-analyze", args...).CombinedOutput()
		require.NoError(t, err, "systemd-analyze %s (make deps installs it):\n%s", strings.Join(args, " "), out)
		if args[0] == "verify" {
			require.Empty(t, string(out))
		}
	}
}

func TestTheUnitSuitsTheWorker(t *testing.T) {
	said := text(t, unit)
	for _, line := range []string{"Type=notify", "NotifyAccess=main", "KillMode=mixed", "RestartPreventExitStatus=2"} {
		require.Contains(t, said, "\n"+line+"\n")
	}
	command := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/worker run --config (\S+)$`).FindStringSubmatch(said)
	require.NotNil(t, command)
	require.Contains(t, text(t, "package/nfpm.yaml"), "dst: "+command[1], "the package has the configuration")
	validate(t, "package/solotick.yaml")
}
