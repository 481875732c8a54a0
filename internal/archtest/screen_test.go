package archtest

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// screen is how many lines go doc may print of a package.
const screen = 60

// TestPackagesFitOnAScreen keeps what most programs read short: move names that no program needs to
// internal packages, and rules to docs.
func TestPackagesFitOnAScreen(t *testing.T) {
	touch(t)
	for _, pkg := range []string{"lease", "scheduler", "lock", "limit", "jobs", "fleet"} {
		t.Run(pkg, func(t *testing.T) {
			doc := exec.Command("go", "doc", "./"+pkg)
			doc.Dir = root
			text, err := doc.Output()
			require.NoError(t, err)
			require.LessOrEqual(t, strings.Count(string(text), "\n"), screen)
		})
	}
}
