//go:build release

package deploy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const dist = "../dist" // internal/scripts/release.sh has filled it

// one returns the only file of the release for this machine with a suffix.
func one(t *testing.T, suffix string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, "solotick-worker_*_linux_"+runtime.GOARCH+suffix))
	require.NoError(t, err)
	require.Len(t, found, 1, "make release builds it")
	return found[0]
}

func TestTheSumsAreThoseOfTheFiles(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(text(t, filepath.Join(dist, "SHA256SUMS"))), "\n")
	require.Len(t, lines, 12, "archives and bills for four targets, packages for two")
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		found := sha256.Sum256([]byte(text(t, filepath.Join(dist, name))))
		require.Equal(t, sum, hex.EncodeToString(found[:]), name)
	}
}

func TestTheDebianPackageInstallsAWorker(t *testing.T) {
	root := t.TempDir()
	out, err := exec.Command("dpkg-deb", "-x", one(t, ".deb"), root).CombinedOutput()
	require.NoError(t, err, string(out))
	installed, err := exec.Command(filepath.Join(root, "usr/bin/worker"), "version").Output()
	require.NoError(t, err)
	number := strings.Split(filepath.Base(one(t, ".deb")), "_")[1]
	require.Contains(t, string(installed), strings.TrimPrefix(number, "0.0.0-"))
	out, err = exec.Command(filepath.Join(root, "usr/bin/worker"), "validate", "--config", filepath.Join(root, "etc/solotick/solotick.yaml")).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, file := range []string{
		"usr/lib/systemd/system/solotick-worker.service", "usr/share/man/man1/worker.1.gz", "usr/share/man/man1/worker-run.1.gz",
		"usr/share/bash-completion/completions/worker", "usr/share/zsh/vendor-completions/_worker",
		"usr/share/fish/vendor_completions.d/worker.fish", "usr/share/doc/solotick-worker/copyright", "usr/share/doc/solotick-worker/LICENSES-OF-MODULES",
	} {
		require.FileExists(t, filepath.Join(root, file))
	}
}

func TestTheRPMIsOne(t *testing.T) {
	require.True(t, bytes.HasPrefix([]byte(text(t, one(t, ".rpm"))), []byte{0xed, 0xab, 0xee, 0xdb}))
}

func TestTheBillNamesTheModulesOfTheWorker(t *testing.T) {
	type component struct{ Name, Version string }
	var bill struct{ Components []component }
	require.NoError(t, json.Unmarshal([]byte(text(t, one(t, ".cdx.json"))), &bill))
	root := t.TempDir()
	out, err := exec.Command("tar", "-xzf", one(t, ".tar.gz"), "--strip-components=1", "-C", root).CombinedOutput()
	require.NoError(t, err, string(out))
	linked, err := exec.Command("go", "version", "-m", filepath.Join(root, "worker")).Output()
	require.NoError(t, err)
	modules := strings.Count(string(linked), "\n\tdep\t")
	require.Greater(t, modules, 10)
	require.Len(t, bill.Components, modules+1, "and the standard library")
	others := slices.DeleteFunc(bill.Components[1:], func(c component) bool { return strings.HasPrefix(c.Name, "github.com/solotick/") })
	require.Less(t, len(others), modules, "the worker is made of several modules of this tree")
	for _, c := range others {
		require.Contains(t, string(linked), "\tdep\t"+c.Name+"\t"+c.Version)
	}
	_, err = os.Stat(filepath.Join(root, "LICENSE"))
	require.NoError(t, err)
	licences := text(t, filepath.Join(root, "LICENSES-OF-MODULES"))
	for _, c := range others {
		require.Contains(t, licences, "\n"+c.Name+" "+c.Version+"\nhttps://")
	}
}
