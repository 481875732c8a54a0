package page

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachTextIsInBothLanguages(t *testing.T) {
	for key, text := range texts {
		assert.NotEmpty(t, text.english, key)
		assert.NotEmpty(t, text.chinese, key)
		assert.Equal(t, verb.FindAllString(text.english, -1), verb.FindAllString(text.chinese, -1), key)
		assert.False(t, strings.ContainsFunc(text.english, func(r rune) bool { return unicode.Is(unicode.Han, r) }), key)
	}
}

// textKey finds the keys that a template or Go file asks for by name; those that it puts together
// end in a dot.
var textKey = regexp.MustCompile(`\.([TN])(?: |\()"([^"]+)"`)

func TestPagesAndTheCatalogueHaveTheSameTexts(t *testing.T) {
	used := map[string]bool{}
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, ".go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range textKey.FindAllStringSubmatch(string(source), -1) {
			key := found[2]
			used[key] = true
			_, ok := texts[key]
			assert.True(t, ok || strings.HasSuffix(key, "."), "%s: %s", path, key)
			if found[1] == "N" {
				_, ok = texts[key+".one"]
				assert.True(t, ok, "%s: %s.one", path, key)
			}
		}
		return err
	}))
	kinds := []string{
		"outcome", "entry", "state", "sort", "title", "verdict", "effect", "action", "act", "status", "clock", "condition", "timeline", "unit",
		"job", // of a chart
	}
	for key := range texts {
		kind, _, _ := strings.Cut(key, ".")
		assert.True(t, used[strings.TrimSuffix(key, ".one")] || slices.Contains(kinds, kind), "no page has %s", key)
	}
}
