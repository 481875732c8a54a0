package page

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// makers are the functions that make a part of a sentence of a format. named are the variables whose
// values are given to one.
var (
	makers = []string{"Say", "policy", "pace", "every"}
	named  = []string{"weekdayNames", "weekdayPlurals", "nthPhrases", "monthNames"}
)

// spoken returns the formats of the sentences in a folder of Go files.
func spoken(t *testing.T, folder string) []string { return spokenBy(t, folder, makers) }

// spokenBy returns the formats that are given to some functions.
func spokenBy(t *testing.T, folder string, makers []string) (formats []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	add := func(list []ast.Expr) {
		for _, e := range list {
			if text := literal(e); strings.ContainsFunc(text, isLetter) {
				formats = append(formats, text)
			}
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				if slices.Contains(makers, calledBy(x.Fun)) {
					add(x.Args)
				}
			case *ast.ValueSpec:
				if list, ok := valueOf(x).(*ast.CompositeLit); ok && slices.Contains(named, x.Names[0].Name) {
					add(list.Elts)
				}
			}
			return true
		})
	}
	return formats
}

func calledBy(f ast.Expr) string {
	switch x := f.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func valueOf(s *ast.ValueSpec) ast.Expr {
	if len(s.Values) == 1 {
		return s.Values[0]
	}
	return nil
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// literal returns the text of a constant of one or more literals; "" of anything else.
func literal(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			text, _ := strconv.Unquote(x.Value)
			return text
		}
	case *ast.BinaryExpr:
		if a, b := literal(x.X), literal(x.Y); a != "" && b != "" {
			return a + b
		}
	}
	return ""
}

// words are what is said by a variable, or has no letter.
var words = []string{
	"succeeded", "failed", "skipped", "missed", "lost", "replaced", "cancelled", "overlap", "open", "paused", "newer", "misfire", "capacity",
	"overload", "too old", "too many", "forgotten", "takeovers", "past", "edited", "stopping", "expired", ".", ", ",
}

func TestEachSentenceIsInChineseAndNoOther(t *testing.T) {
	said := map[string]bool{}
	for _, word := range words {
		said[word] = true
	}
	for _, folder := range []string{"../../../fleet", "../..", "../view", "../../../jobs/schedule"} {
		for _, format := range spoken(t, folder) {
			said[format] = true
			assert.Contains(t, sentences, format, folder)
		}
	}
	require.Greater(t, len(said), 200)
	for format := range sentences {
		assert.True(t, said[format], "nothing says %q", format)
	}
}

var verbs = regexp.MustCompile(`%(?:\[(\d)\])?([a-z])`)

// verbsOf returns the verbs of a format by the places of their arguments.
func verbsOf(format string) (list []string) {
	for i, found := range verbs.FindAllStringSubmatch(format, -1) {
		place := found[1]
		if place == "" {
			place = strconv.Itoa(i + 1)
		}
		list = append(list, fmt.Sprintf("%s%s", place, found[2]))
	}
	slices.Sort(list)
	return list
}

func TestSentencesHaveTheSameArgumentsInBothLanguages(t *testing.T) {
	for english, chinese := range sentences {
		assert.Equal(t, verbsOf(english), verbsOf(chinese), english)
		assert.NotRegexp(t, `[a-z]{2,} [a-z]{2,} [a-z]{2,}`, chinese)
		assert.NotContains(t, chinese, ". ", english)
	}
}
