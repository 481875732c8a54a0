package modules

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// programs has a program of the tree for each module: a file that is all that a program outside
// needs, or a test of one.
var programs = map[string]string{
	"":                      "examples/embed/main.go",
	"contrib/otelsolotick":  "contrib/otelsolotick/example/main.go",
	"contrib/soloasynq":     "contrib/soloasynq/example/main.go",
	"contrib/solocron":      "contrib/solocron/example/after/main.go",
	"contrib/sologocron":    "contrib/sologocron/example/after/main.go",
	"contrib/soloredislock": "contrib/soloredislock/example/after/main.go",
	"contrib/soloredsync":   "contrib/soloredsync/example/after/main.go",
	"contrib/soloriver":     "contrib/soloriver/example_test.go",
	"contrib/solotickfx":    "contrib/solotickfx/example/main.go",
	"lease/etcdlease":       onStore("etcdlease", "etcd://host:2379"),
	"lease/mysqllease":      onStore("mysqllease", "mysql://user:password@host:3306/database"),
	"lease/natslease":       onStore("natslease", "nats://host:4222"),
	"lease/pglease":         onStore("pglease", "postgres://user:password@host:5432/database"),
	"lease/zklease":         onStore("zklease", "zk://host:2181"),
}

// onStore is a program whose fleet meets at a server other than Redis.
func onStore(name, url string) string {
	return fmt.Sprintf(`package main

import (
	"fmt"
	"log"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/lease/%[1]s"
)

func main() {
	store, err := %[1]s.Open(%[2]q, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	log.Fatal(solotick.On(store).Start())
}
`, name, url)
}

// TestEveryModuleCanBeImported does what README says to somebody who begins: go get, and go mod
// tidy. What is not of this tree comes from where go finds it otherwise.
func TestEveryModuleCanBeImported(t *testing.T) {
	dir := t.TempDir()
	modules, version := newProxy(t, filepath.Join(dir, "proxy"))
	require.Len(t, modules, len(programs)+1, "and the command")
	known := output(t, ".", nil, "env", "GOMODCACHE")
	env := []string{
		"GOPROXY=file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(known, "cache", "download") + "," + output(t, ".", nil, "env", "GOPROXY"),
		"GOMODCACHE=" + filepath.Join(dir, "mod"), "GOFLAGS=-mod=mod -modcacherw", "GOSUMDB=off", "GOWORK=off",
	}
	for _, name := range modules {
		folder := strings.TrimPrefix(strings.TrimPrefix(name, path), "/")
		if folder == command {
			continue
		}
		t.Run(name, func(t *testing.T) {
			require.Contains(t, programs, folder)
			file, text := "main.go", []byte(programs[folder])
			if strings.HasSuffix(programs[folder], ".go") {
				var err error
				file = filepath.Base(programs[folder])
				text, err = os.ReadFile(filepath.Join(root, programs[folder]))
				require.NoError(t, err)
			}
			outside := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(outside, file), text, 0o600))
			output(t, outside, env, "mod", "init", "example.com/program")
			output(t, outside, env, "get", name+"@"+version)
			output(t, outside, env, "mod", "tidy")
			output(t, outside, env, "list", "-deps", "-test", ".") // each import is found; in the tree it compiles with the same versions
			require.Contains(t, output(t, outside, env, "list", "-m", name), version)
		})
	}
	t.Run("go install", func(t *testing.T) { // which refuses a module with a replace
		output(t, dir, env, "install", "-n", path+"/cmd/worker@"+version)
		output(t, dir, env, "install", "-n", path+"/"+command+"@"+version)
	})
	t.Run("floor", func(t *testing.T) { // a program that begins to use package solotick keeps what it has
		outside := t.TempDir()
		output(t, outside, env, "mod", "init", "example.com/program")
		kept := []string{"google.golang.org/grpc@v1.70.0", "github.com/jackc/pgx/v5@v5.7.2", "go.opentelemetry.io/otel@v1.34.0"}
		var requires []string
		for _, m := range kept {
			requires = append(requires, "-require="+m)
		}
		output(t, outside, env, append([]string{"mod", "edit", "-require=" + path + "@" + version}, requires...)...)
		for _, m := range kept {
			name, at, _ := strings.Cut(m, "@")
			require.Equal(t, name+" "+at, output(t, outside, env, "list", "-m", name))
		}
		output(t, outside, env, "mod", "edit", "-droprequire=google.golang.org/grpc", "-droprequire=github.com/jackc/pgx/v5", "-droprequire=go.opentelemetry.io/otel")
		all := strings.Fields(output(t, outside, env, "list", "-m", "-f", "{{.Path}}", "all"))
		require.LessOrEqual(t, len(all), 50, "%v", all)
	})
}

// output runs go in a directory and returns what it prints.
func output(t *testing.T, dir string, env []string, args ...string) string {
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		require.NoError(t, err, "go %s\n%s", strings.Join(args, " "), exit.Stderr)
	}
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}
