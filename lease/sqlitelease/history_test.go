package sqlitelease_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/solotick/solotick/internal/historytest"
)

func TestHistoriesOfProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "solotick.db")
	historytest.Run(t, func(name string, seed uint64) *exec.Cmd { return command("contend", path, name, fmt.Sprint(seed)) })
}
