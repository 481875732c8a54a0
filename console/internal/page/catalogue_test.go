package page

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
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

// values are those of a kind whose word is the value itself.
var values = []string{"running", "waiting", "settled", "ok", "overdue", "unserved", "resumed", "repaired", "released"}

// words are what is said by a variable, or has no letter.
var words = []string{
	"succeeded", "failed", "skipped", "missed", "lost", "replaced", "cancelled", "overlap", "open", "paused", "newer", "misfire", "capacity",
	"overload", "too old", "too many", "forgotten", "takeovers", "past", "edited", "stopping", "expired", ".", ", ",
}

// shown returns the texts that the templates and the Go files of this package have: those that they
// put together end in a dot.
func shown(t *testing.T) map[string]bool {
	list := map[string]bool{}
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		if strings.HasSuffix(path, ".html") || strings.HasSuffix(path, ".go") {
			for _, found := range asked.FindAllStringSubmatch(string(source), -1) {
				for _, text := range found[1:] {
					if text != "" {
						list[text] = true
						assert.True(t, strings.HasSuffix(text, ".") || isText(text), "%s: %s", path, text)
					}
				}
			}
		}
		if strings.HasSuffix(path, ".go") {
			file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok && literal(e) != "" {
					list[literal(e)] = true
				}
				return true
			})
		}
		return nil
	}))
	return list
}

// asked finds the texts that a template or Go file asks for.
var asked = regexp.MustCompile(`\.(?:T(?: |\()"([^"]+)"|N(?: |\()"([^"]+)",? "([^"]+)")`)

// isText reports whether the catalogue has a text, by its key or its English.
func isText(text string) bool {
	_, key := texts().Words[text]
	_, english := texts().Chinese[text]
	return key || english
}

func TestCatalogueHasWhatIsSaidAndNoMore(t *testing.T) {
	said := shown(t)
	require.Greater(t, len(said), 300)
	sentences := 0
	for _, folder := range []string{"../../../fleet", "../..", "../view", "../../../jobs/schedule"} {
		for _, format := range spoken(t, folder) {
			said[format] = true
			sentences++
			assert.NotEmpty(t, texts().Chinese[format], "%s: %q", folder, format)
		}
	}
	require.Greater(t, sentences, 200)
	kinds := []string{"outcome", "entry", "state", "sort", "title", "verdict", "effect", "action", "act", "status", "clock", "condition", "timeline", "field", "hint"}
	for key, english := range texts().Words {
		kind, _, _ := strings.Cut(key, ".")
		assert.True(t, said[key] || slices.Contains(kinds, kind), "no page has %s", key)
		_, own := texts().Chinese[key]
		assert.True(t, own || texts().Chinese[english] != "", key)
		said[key], said[english] = true, true
	}
	for _, value := range slices.Concat(words, values) {
		assert.NotEmpty(t, texts().Chinese[value], value)
		said[value] = true
	}
	for _, state := range view.States {
		said[string(state)] = true
	}
	for english := range texts().Chinese {
		assert.True(t, said[english], "nothing says %q", english)
	}
	c := texts()
	assert.Len(t, regexp.MustCompile(`(?m)^\t\t"`).FindAll(catalogueJSON, -1), len(c.Words)+len(c.Chinese)+len(c.Errors), "a text is there twice")
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

func TestTextsHaveTheSameArgumentsInBothLanguages(t *testing.T) {
	for english, chinese := range texts().Chinese {
		english = cmp.Or(texts().Words[english], english)
		assert.NotEmpty(t, chinese, english)
		assert.Equal(t, verbsOf(english), verbsOf(chinese), english)
		assert.NotRegexp(t, `[a-z]{2,} [a-z]{2,} [a-z]{2,}`, chinese)
		assert.NotContains(t, chinese, ". ", english)
		assert.False(t, strings.ContainsFunc(english, func(r rune) bool { return unicode.Is(unicode.Han, r) }), english)
	}
}

func TestErrorsAreFoundByTheirFormats(t *testing.T) {
	for english, chinese := range map[string]string{
		"the store does not answer":                                            "存储没有响应",
		"must be a whole number from 1 to 1000":                                "必须是 1 到 1000 的整数",
		"must be one of name, state, with - before it for the other direction": "必须是其中之一：name, state，前面加 - 为反向",
		"lock a: token 7 holds nothing any more":                               "锁 a：令牌 7 已不再持有任何东西",
		`job "x": lease: there is no record of this name`:                      `任务 "x"：没有此名称的记录`,
		"connection reset by peer":                                             "",
		"must be a whole number":                                               "",
	} {
		assert.Equal(t, chinese, chineseOf(english), english)
	}
	f := &frame{Context: Context{Lang: Chinese}}
	require.Equal(t, `<span lang="en">&lt;b&gt;</span>`, string(f.Said("<b>")))
	require.Equal(t, "没有任务 &lt;b&gt;", string(f.Said("there is no job <b>")))
}

func TestEachErrorOfARequestIsInChinese(t *testing.T) {
	makers := []string{"newProblem", "notFound", "forbidden", "unauthorized", "unavailable"}
	// These only programs get: they are of the API, or of requests that no browser sends.
	api := []string{
		"this console has no checks of its store: a worker on Redis has", "this has no form as plain text", "Content-Type: must be application/json",
		"Content-Type: must be application/x-www-form-urlencoded",
	}
	found := 0
	for _, text := range spokenBy(t, "../..", makers) {
		if strings.Contains(text, " ") && !strings.Contains(strings.Join(api, "\n"), text) {
			found++
			assert.NotEmpty(t, texts().Errors[text], text)
		}
	}
	require.Greater(t, found, 15)
	assert.Contains(t, texts().Errors, naming.Rule)
	assert.Contains(t, texts().Errors, protocol.PayloadRule)
	for english, chinese := range texts().Errors {
		assert.Len(t, verb.FindAllString(chinese, -1), len(verb.FindAllString(english, -1)), english)
	}
}
