// Command api keeps the exported API of this repository's modules in its folder exported. Each package has a file,
// with an entry for each thing that a program can depend on. The command names the entries that a
// change would take away.
//
//	go run ./internal/api          # fails when a kept line is gone: a program that depends on it would not compile, or mean something else
//	go run ./internal/api -write   # keeps what there is now
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	kept   = "internal/api/exported"
	module = "github.com/solotick/solotick"
)

// Packages of this module that nobody else imports: the worker's configuration, and tests.
var own = []string{"config", "deploy"}

// Modules whose packages nobody imports.
var private = []string{"test"}

func main() {
	write := flag.Bool("write", false, "keep what there is now")
	flag.Parse()
	now, err := current()
	if err == nil && *write {
		err = save(now)
	} else if err == nil {
		err = check(now, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// check compares the kept lines with the current ones, by the name of the package's file.
func check(now map[string][]string, out io.Writer) error {
	files, err := filepath.Glob(kept + "/*.txt")
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("nothing is kept in "+kept+"/; run it in the root of the repository"))
	}
	gone, added := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		before := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range missing(before, now[name]) {
			_, _ = fmt.Fprintf(out, "%s: gone: %s\n", strings.TrimSuffix(name, ".txt"), line)
			gone++
		}
		added += len(missing(now[name], before))
		delete(now, name)
	}
	for _, lines := range now { // packages that are new
		added += len(lines)
	}
	if gone > 0 {
		return fmt.Errorf("%d lines of the API are gone or have changed, and %d are new: programs that use them break; "+
			"if that is meant, say so in the changelog, and keep the new API with make api", gone, added)
	}
	return nil
}

// missing returns the lines of before that now does not have.
func missing(before, now []string) (lines []string) {
	for _, line := range before {
		if !slices.Contains(now, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func save(now map[string][]string) error {
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	if err := os.Mkdir(kept, 0o755); err != nil { //nolint:gosec // part of the repository
		return err
	}
	for name, lines := range now {
		if err := os.WriteFile(filepath.Join(kept, name), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // part of the repository
			return err
		}
	}
	return nil
}

// current returns the lines of every package, by the name of its file.
func current() (map[string][]string, error) {
	modules, err := findModules()
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, dir := range modules {
		packages, err := load(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		maps.Copy(all, packages)
	}
	return all, nil
}

func findModules() (dirs []string, err error) {
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (entry.Name()[0] == '.' || entry.Name() == "testdata" || slices.Contains(private, file)):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			dirs = append(dirs, filepath.Dir(file))
		}
		return nil
	})
	return dirs, err
}

// listed has the fields of go list about a package.
type listed struct {
	ImportPath, Name, Export string
	DepOnly                  bool
}

// public reports whether programs of other modules can import a package, and would.
func (p listed) public() bool {
	for part := range strings.SplitSeq(p.ImportPath, "/") {
		if part == "internal" || part == "examples" {
			return false
		}
	}
	within := strings.TrimPrefix(p.ImportPath, module+"/")
	return !p.DepOnly && p.Name != "main" && !slices.Contains(own, within) && !strings.HasPrefix(within, "test/")
}

// load reads the packages of a module from what the go command has compiled.
func load(dir string) (map[string][]string, error) {
	var stderr bytes.Buffer
	// with -race, for which the tests have compiled them
	list := exec.Command("go", "list", "-race", "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly", "./...") //nolint:noctx // ends with this program
	list.Dir, list.Stderr = dir, &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &stderr)
	}
	exports := map[string]string{}
	var public []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.public() {
			public = append(public, p.ImportPath)
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	packages := map[string][]string{}
	for _, name := range public {
		pkg, err := from.Import(name)
		if err != nil {
			return nil, err
		}
		if lines := describe(pkg); len(lines) > 0 {
			file := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(name, module), "/"), "/", ".")
			packages[cmp.Or(file, path.Base(module))+".txt"] = lines
		}
	}
	return packages, nil
}
