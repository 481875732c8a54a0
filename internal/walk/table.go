package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/solotick/solotick/"

// row is a line of a table: a file, its functions, and what to look for.
var row = regexp.MustCompile(`(?m)^\| \[(.+?)\]\(.+?\) \| .*? \| (.*?) ?\|$`)

// table returns the section of the blocks that ran, with the notes of the old one.
func table(name, old string, blocks map[string]bool) ([]byte, error) {
	lines := map[string][]int{}
	for block := range blocks {
		file, at, _ := strings.Cut(strings.TrimPrefix(block, module), ":")
		var line int
		if _, err := fmt.Sscan(strings.Split(at, ".")[0], &line); err != nil {
			return nil, fmt.Errorf("block %q: %w", block, err)
		}
		lines[file] = append(lines[file], line)
	}
	var noted []string
	notes := map[string]string{}
	for _, r := range row.FindAllStringSubmatch(old, -1) {
		switch file, note := r[1], r[2]; {
		case note != "" && lines[file] == nil:
			return nil, fmt.Errorf("%s: %s is not on the walk, but has a note: %s", name, file, note)
		case note != "":
			noted, notes[file] = append(noted, file), " "+note
		}
	}
	files := slices.DeleteFunc(slices.Sorted(maps.Keys(lines)), func(file string) bool { return notes[file] != "" })
	var rows strings.Builder
	var faults []error
	types, longest := 0, 0
	for _, file := range append(noted, files...) {
		functions, declared, length, err := parse(file, lines[file])
		faults = append(faults, err)
		types, longest = types+declared, max(longest, length)
		fmt.Fprintf(&rows, "| [%s](../%s) | %s |%s |\n", file, file, strings.Join(functions, ", "), notes[file])
	}
	return fmt.Appendf(nil, "<!-- walk: %s -->\n%d files, which declare %d types; the longest has %d lines.\n\n"+
		"| file | functions | look for |\n| --- | --- | --- |\n%s<!-- end -->", name, len(lines), types, longest, &rows), errors.Join(faults...)
}

// parse returns the functions of a file that lines are in, and how many types and lines it has.
func parse(name string, lines []int) (functions []string, types, length int, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, 0, 0, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			types++
		case *ast.FuncDecl:
			name, first, last := "`"+n.Name.Name+"`", set.Position(n.Pos()).Line, set.Position(n.End()).Line
			if !slices.Contains(functions, name) && slices.ContainsFunc(lines, func(line int) bool { return first <= line && line <= last }) {
				functions = append(functions, name)
			}
		}
		return true
	})
	return functions, types, set.File(file.Pos()).LineCount(), nil
}
