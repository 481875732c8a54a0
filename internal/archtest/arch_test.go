package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestImportsFollowTheRules(t *testing.T) {
	g := load(t)
	require.Contains(t, g, module+"/internal/archtest")

	for _, v := range g.check() {
		t.Error(v)
	}
}

// load asks the go command for the import graph of this module, and of those that the full worker
// is made from.
func load(t *testing.T) graph {
	touch(t)
	g := make(graph)
	nested, err := filepath.Glob(root + "/lease/*/go.mod")
	require.NoError(t, err)
	for _, mod := range append(nested, root+"/go.mod", root+"/cmd/worker/full/go.mod") {
		g.add(t, filepath.Dir(mod))
	}
	return g
}

func (g graph) add(t *testing.T, dir string) {
	list := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports,Error", "./...")
	list.Dir = dir
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	require.NoError(t, err, "%s: %s", list, &stderr)

	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Standard   bool
			Imports    []string
			Error      *struct{ Err string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			require.NoError(t, err)
		}
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		g[p.ImportPath] = node{imports: p.Imports, standard: p.Standard}
	}
}

// touch looks at every file that the result depends on. The go command cannot see what its child
// reads, so it would go on to report a cached result after a file outside this package has changed.
func touch(t *testing.T) {
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") || entry.Name() == "go.mod" {
			_, err = os.Stat(name)
		}
		return err
	})
	require.NoError(t, err)
}
