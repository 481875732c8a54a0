// Command portable names what does not build on another system. It checks the types of the packages
// of modules, and of what they import, which takes a small part of the time of compiling them.
//
//	go run ./internal/portable darwin . test/compare
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: portable GOOS DIR...")
		os.Exit(2)
	}
	code := 0
	for _, dir := range os.Args[2:] {
		if err := check(os.Args[1], dir); err != nil {
			fmt.Fprintf(os.Stderr, "portable: %s: %v\n", dir, err)
			code = 1
		}
	}
	os.Exit(code)
}

// listed is what the go command says of a package.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string // of what is imported by another path than is written
	DepOnly         bool
	Module          *struct{ GoVersion string }
}

// check returns what is wrong in the packages of the module in dir on a system, joined.
func check(system, dir string) error {
	packages, err := list(system, dir)
	if err != nil {
		return err
	}
	files, checked := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}
	var faults []error
	for _, p := range packages { // each after what it imports
		if p.ImportPath == "unsafe" {
			continue
		}
		parsed, err := p.parse(files)
		if err != nil {
			return err
		}
		config := types.Config{
			Importer:         importer{p.ImportMap, checked},
			IgnoreFuncBodies: p.DepOnly,
			Sizes:            types.SizesFor("gc", runtime.GOARCH),
			Error:            func(err error) { faults = append(faults, err) },
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		checked[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil) // the error is the first of faults
	}
	return errors.Join(faults...)
}

// list returns the packages of the module in dir, and those that they import, as they are without cgo.
func list(system, dir string) (packages []listed, err error) {
	var stderr bytes.Buffer
	list := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap,DepOnly,Module", "./...") //nolint:noctx // ends with this program
	list.Dir, list.Stderr = dir, &stderr
	list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &stderr)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
}

func (p listed) parse(files *token.FileSet) (parsed []*ast.File, err error) {
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	return parsed, nil
}

// importer has the packages that were checked before.
type importer struct {
	paths   map[string]string
	checked map[string]*types.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if other, ok := i.paths[path]; ok {
		path = other
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not listed before what imports it", path)
}
