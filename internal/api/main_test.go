package main

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

func linesOf(t *testing.T, source string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
	require.NoError(t, err)
	pkg, err := (&types.Config{Importer: importer.Default()}).Check("example.com/p", files, []*ast.File{file}, nil)
	require.NoError(t, err)
	return describe(pkg)
}

func TestHarmlessChangesTakeNothingAway(t *testing.T) {
	for name, sources := range map[string][2]string{
		"a function more":                {"func F() {}", "func F() {}; func G() {}"},
		"a field more":                   {"type T struct{ A int }", "type T struct{ A int; B, c string }"},
		"a method more":                  {"type T struct{}", "type T struct{}; func (*T) M() {}"},
		"other names":                    {"func F(a int, f func(b string)) (err error) { return nil }", "func F(n int, f func(c string)) error { return nil }"},
		"a method of a sealed interface": {"type I interface{ M(); n() }", "type I interface{ M(); N(); n(); o() }"},
		"what is unexported":             {"type T struct{ a int }; func f() {}", "type T struct{ b string }"},
		"an interface's parameter renamed": {
			"type I interface{ M(a int) }", "type I interface{ M(b int) }",
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, missing(linesOf(t, sources[0]), linesOf(t, sources[1])))
		})
	}
}

func TestIncompatibleChangesAreNamed(t *testing.T) {
	for name, test := range map[string]struct{ before, now, gone string }{
		"a function less":                {"func F() {}", "", "func F()"},
		"a parameter more":               {"func F() {}", "func F(...int) {}", "func F()"},
		"another result":                 {"func F() int { return 0 }", "func F() string { return `` }", "func F() int"},
		"a field less":                   {"type T struct{ A int }", "type T struct{ a int }", "type T struct, A int"},
		"a method less":                  {"type T struct{}; func (T) M() {}", "type T struct{}", "method (T) M()"},
		"a method for pointers":          {"type T struct{}; func (T) M() {}", "type T struct{}; func (*T) M() {}", "method (T) M()"},
		"a promoted method less":         {"type e struct{}; func (e) M() {}; type T struct{ e }", "type T struct{}", "method (T) M()"},
		"a method of an interface":       {"type I interface{ M() }", "type I interface{ M(); N() }", "type I interface{M()}"},
		"an interface is closed":         {"type I interface{ M() }", "type I interface{ M(); n() }", "type I interface{M()}"},
		"a method of a sealed interface": {"type I interface{ M(); n() }", "type I interface{ n() }", "type I interface, M()"},
		"another value":                  {"const C = 1", "const C = 2", "const C untyped int = 1"},
		"another type":                   {"type T int", "type T string", "type T int"},
		"another constraint":             {"func F[T any](T) {}", "func F[T comparable](T) {}", "func F[T any](T)"},
		"another variable":               {"var V error", "var V any", "var V error"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{test.gone}, missing(linesOf(t, test.before), linesOf(t, test.now)))
		})
	}
}

func TestTheCheckNamesPackageAndLine(t *testing.T) {
	t.Chdir("../..")
	now := map[string][]string{}
	var out bytes.Buffer
	err := check(now, &out)
	require.ErrorContains(t, err, "lines of the API are gone")
	require.Contains(t, out.String(), "lock: gone: func New(")
	require.Contains(t, out.String(), "solotick: gone: func New(")
}
