package page

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var verb = regexp.MustCompile(`%[a-z]`)

func TestEachTextIsInBothLanguages(t *testing.T) {
	for key, text := range texts {
		require.NotEmpty(t, text.english, key)
		require.NotEmpty(t, text.chinese, key)
		require.Equal(t, verb.FindAllString(text.english, -1), verb.FindAllString(text.chinese, -1), key)
		require.False(t, strings.ContainsFunc(text.english, func(r rune) bool { return unicode.Is(unicode.Han, r) }), key)
	}
}

// textKey finds the keys that a template or Go file asks for by name.
var textKey = regexp.MustCompile(`\.[TN] "([^"]+)"|\.[TN]\("([^"]+)"`)

func TestEachTextThatPagesNameExists(t *testing.T) {
	require.NoError(t, fs.WalkDir(sources, "templates", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := fs.ReadFile(sources, path)
		for _, found := range textKey.FindAllStringSubmatch(string(source), -1) {
			require.Contains(t, texts, found[1]+found[2], path)
		}
		return err
	}))
}
