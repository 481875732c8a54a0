package modules

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	root    = "../.."
	path    = "github.com/solotick/solotick"
	command = "cmd/worker/full" // the module that go install installs, besides the root
)

// tracked is a file of the tree, named as in its module.
type tracked struct{ name, file string }

func (f tracked) Path() string                 { return f.name }
func (f tracked) Lstat() (fs.FileInfo, error)  { return os.Lstat(f.file) }
func (f tracked) Open() (io.ReadCloser, error) { return os.Open(f.file) }

// newProxy writes every module of the tree that is not only for tests into a directory, as a module
// proxy serves it. It returns their paths, and the version that they all have.
func newProxy(t *testing.T, dir string) (modules []string, version string) {
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	files := strings.Fields(string(out))
	folders := []string{} // of modules; "" is the root
	for _, file := range files {
		if filepath.Base(file) == "go.mod" {
			folders = append(folders, strings.TrimSuffix(strings.TrimSuffix(file, "go.mod"), "/"))
		}
	}
	within := func(file string) (folder string) {
		for _, f := range folders {
			if strings.HasPrefix(file, f+"/") && len(f) > len(folder) {
				folder = f
			}
		}
		return folder
	}
	held := map[string][]zip.File{}
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(root, file)); err != nil {
			continue // removed, and not committed yet
		}
		folder := within(file)
		held[folder] = append(held[folder], tracked{strings.TrimPrefix(strings.TrimPrefix(file, folder), "/"), filepath.Join(root, file)})
	}
	for _, folder := range folders {
		if strings.HasPrefix(folder, "test/") || strings.HasPrefix(folder, "examples/") { // are not released
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
		require.NoError(t, err)
		mod, err := modfile.Parse(folder, text, nil)
		require.NoError(t, err)
		for _, r := range mod.Require {
			if strings.HasPrefix(r.Mod.Path, path) {
				if version == "" {
					version = r.Mod.Version
				}
				require.Equal(t, version, r.Mod.Version, "%s requires %s", mod.Module.Mod.Path, r.Mod.Path)
			}
		}
		modules = append(modules, mod.Module.Mod.Path)
	}
	require.NotEmpty(t, version)
	for _, name := range modules {
		folder := strings.TrimPrefix(strings.TrimPrefix(name, path), "/")
		versions := filepath.Join(dir, filepath.FromSlash(name), "@v")
		require.NoError(t, os.MkdirAll(versions, 0o755))
		write := func(file, text string) {
			require.NoError(t, os.WriteFile(filepath.Join(versions, file), []byte(text), 0o600))
		}
		write("list", version+"\n")
		write(version+".info", `{"Version":"`+version+`"}`)
		mod, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
		require.NoError(t, err)
		if folder == command {
			mod = withoutReplace(t, mod)
			released := filepath.Join(t.TempDir(), "go.mod")
			require.NoError(t, os.WriteFile(released, mod, 0o600))
			for i, f := range held[folder] {
				if f.Path() == "go.mod" {
					held[folder][i] = tracked{"go.mod", released}
				}
			}
		}
		write(version+".mod", string(mod))
		archive, err := os.Create(filepath.Join(versions, version+".zip"))
		require.NoError(t, err)
		require.NoError(t, zip.Create(archive, module.Version{Path: name, Version: version}, held[folder]))
		require.NoError(t, archive.Close())
	}
	return modules, version
}

// withoutReplace is what make tag does to the module of a command.
func withoutReplace(t *testing.T, text []byte) []byte {
	mod, err := modfile.Parse("go.mod", text, nil)
	require.NoError(t, err)
	for _, r := range slices.Clone(mod.Replace) {
		require.NoError(t, mod.DropReplace(r.Old.Path, r.Old.Version))
	}
	mod.Cleanup()
	text, err = mod.Format()
	require.NoError(t, err)
	return text
}
