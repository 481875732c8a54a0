// Command licences prints the licence texts and notices of the modules that a Go program was built
// from, and where their source is. It lists what the go command has recorded in the program, and
// fails for a module without a licence. Equal programs have equal texts.
//
//	go run ./internal/licences bin/worker
package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: licences PROGRAM")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		err = write(os.Stdout, info, download)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// download returns the directory of a module: GOROOT of that of the standard library.
func download(m *debug.Module) (dir string, err error) {
	if m.Path == "std" {
		out, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
		return strings.TrimSpace(string(out)), err
	}
	var module struct{ Dir, Error string }
	out, err := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", m.Path+"@"+m.Version).Output()
	if len(out) > 0 {
		err = json.Unmarshal(out, &module)
	}
	if err == nil && module.Error != "" {
		err = errors.New(module.Error)
	}
	return module.Dir, err
}

func write(out io.Writer, info *debug.BuildInfo, dirOf func(*debug.Module) (string, error)) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "This program has parts of the modules below, under their licences. The source of each is where its name leads.\n")
	modules := append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...)
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" || m.Version == "(devel)" { // a directory: another module of this tree, under its licence
			continue
		}
		dir, err := dirOf(m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		texts, err := textsOf(dir, m.Path == "std")
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		title := m.Path + " " + m.Version + "\nhttps://proxy.golang.org/" + escaped(m.Path) + "/@v/" + escaped(m.Version) + ".zip"
		if m.Path == "std" {
			title = "The standard library of Go, " + m.Version + "\nhttps://go.dev/dl/" + m.Version + ".src.tar.gz"
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", strings.Repeat("=", 80), title)
		for _, t := range texts {
			fmt.Fprintf(&b, "\n%s\n%s:\n\n%s\n", strings.Repeat("-", 80), t.name, strings.TrimSpace(t.text))
		}
	}
	_, err := b.WriteTo(out)
	return err
}

// escaped writes upper case letters as module proxies do.
func escaped(s string) string {
	return regexp.MustCompile("[A-Z]").ReplaceAllStringFunc(s, func(c string) string { return "!" + strings.ToLower(c) })
}

type text struct{ name, text string }

var (
	licence = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying`)
	notice  = regexp.MustCompile(`(?i)^(notice|patents|authors|copyright)`)
	source  = regexp.MustCompile(`(?i)\.(go|s|c|h|py|sh|js|ts|tmpl|svg|png)$`)
)

// textsOf returns the licences and notices in a directory and, unless it is that of Go, below it,
// where a module has the code of others. There must be a licence.
func textsOf(dir string, flat bool) (texts []text, err error) {
	found, seen := false, map[string]bool{}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && file != dir && (flat || name == "testdata" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case d.IsDir() || source.MatchString(name) || !licence.MatchString(name) && !notice.MatchString(name):
			return nil
		default:
			content, err := os.ReadFile(file)
			if err != nil || seen[string(content)] {
				return err
			}
			rel, err := filepath.Rel(dir, file)
			texts, seen[string(content)] = append(texts, text{path.Clean(filepath.ToSlash(rel)), string(content)}), true
			found = found || licence.MatchString(name)
			return err
		}
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no licence: see what its authors say, and name the file here", dir)
	}
	return texts, err
}
