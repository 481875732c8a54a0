package archtest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// others are what no service on Redis gets: the other stores, and the modules behind them.
var others = []string{
	"sqlitelease", "modernc.org",
	"pglease", "mysqllease", "sqlstore", "github.com/jackc", "github.com/go-sql-driver",
	"natslease", "github.com/nats-io",
	"etcdlease", "casstore", "go.etcd.io", "google.golang.org/grpc",
	"zklease", "github.com/go-zookeeper",
}

// A service that embeds Solotick on Redis, in a module of its own with an empty module cache.
func TestEmbedderOfRedisGetsNothingOfOtherStores(t *testing.T) {
	touch(t)
	dir, cache := t.TempDir(), t.TempDir()
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/service\n\ngo 1.26.0\n\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+here+"\n")
	write("main.go", "package main\n\nimport (\n\t_ \""+module+"\"\n\t_ \"github.com/redis/go-redis/v9\"\n)\n\nfunc main() {}\n")
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	write("go.sum", string(sums))

	known, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	list := exec.Command("go", "list", "-mod=mod", "-modcacherw", "-deps", "./...")
	list.Dir = dir
	list.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOSUMDB=off", "GOMODCACHE="+cache,
		"GOPROXY=file://"+filepath.ToSlash(filepath.Join(strings.TrimSpace(string(known)), "cache", "download")))
	out, err := list.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "github.com/redis/go-redis/v9\n")
	require.Contains(t, string(out), module+"/lease/redislease\n")
	for _, other := range others {
		require.NotContains(t, string(out), other, "it is linked")
	}

	var archives []string
	require.NoError(t, filepath.WalkDir(filepath.Join(cache, "cache", "download"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".zip") {
			archives = append(archives, path)
		}
		return err
	}))
	require.NotEmpty(t, archives)
	for _, other := range others {
		require.NotContains(t, strings.Join(archives, "\n"), other, "it is downloaded")
		require.NoDirExists(t, filepath.Join(cache, other))
	}
}

// docs/embedding.md says how many. The go command itself lists what a build links.
func TestEmbeddersLinkSevenModules(t *testing.T) {
	touch(t)
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", module)
	list.Dir = root
	out, err := list.Output()
	require.NoError(t, err)
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	require.Contains(t, modules, module)
	require.LessOrEqual(t, len(modules), 7, "%v", modules)
}
