package page

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/solotick/solotick/internal/wording"
)

//go:embed catalogue.json
var catalogueJSON []byte

// catalogue has every text of every page but what the store and the configuration have. Names of
// commands and of keys stay as they are.
type catalogue struct {
	// Words has the English of keys such as "state.ahead": of values, where that is not the value
	// itself, and of texts whose Chinese is not the same wherever their English is.
	Words map[string]string
	// Chinese has the Chinese of English texts and of keys. Sentences of other packages are formats;
	// verbs that change places have their indexes.
	Chinese map[string]string
	// Errors has the Chinese of errors, which are English texts by the time that a page shows them: by
	// the text, or its format where it has verbs.
	Errors map[string]string
}

var texts = sync.OnceValue(func() *catalogue {
	c := new(catalogue)
	if err := json.Unmarshal(catalogueJSON, c); err != nil {
		panic(err) // the program has it in itself
	}
	return c
})

// The languages that the catalogue has.
const (
	English = "en"
	Chinese = "zh"
)

// T returns a text in the language of the page: that of a key, or an English one. Its arguments
// take the places of %s and %d.
func (f *frame) T(text string, arguments ...any) string {
	c := texts()
	key := text
	if english, ok := c.Words[key]; ok {
		text = english
	}
	if f.Lang == Chinese {
		for _, english := range []string{key, text} {
			if chinese, ok := c.Chinese[english]; ok {
				text = chinese
				break
			}
		}
	}
	if len(arguments) == 0 {
		return text
	}
	return fmt.Sprintf(text, arguments...)
}

// N returns the text for a number of things: for one, or for any other number.
func (f *frame) N(one, other string, n int) string {
	if n == 1 {
		return f.T(one, n)
	}
	return f.T(other, n)
}

// Word returns the word for a value such as an outcome or a state, of the first kind that has one of
// its own; the value itself where none has.
func (f *frame) Word(value any, kinds ...string) string {
	word := fmt.Sprint(value)
	for _, kind := range kinds {
		if _, ok := texts().Words[kind+"."+word]; ok {
			return f.T(kind + "." + word)
		}
	}
	return f.T(word)
}

// Wording returns how the catalogue says the sentences of other packages in a language: nil for
// English.
func Wording(lang string) wording.Wording {
	if lang != Chinese {
		return nil
	}
	return func(english string) string { return texts().Chinese[english] }
}

// Said writes an error in the language of the page; in English, and marked as that, where the
// catalogue does not have it.
func (f *frame) Said(message string) template.HTML {
	if f.Lang == Chinese {
		if chinese := chineseOf(message); chinese != "" {
			return template.HTML(escaped(chinese)) //nolint:gosec // escaped
		}
	}
	return template.HTML(`<span lang="en">` + escaped(message) + `</span>`) //nolint:gosec // escaped
}

// format finds the texts that an error with verbs makes.
type format struct {
	english *regexp.Regexp
	chinese string
}

var verb = regexp.MustCompile(`%[a-z]`)

// formats has the errors with verbs, the longest first: they say more.
var formats = sync.OnceValue(func() (list []format) {
	for english, chinese := range texts().Errors {
		if verb.MatchString(english) {
			pattern := "(?s)^" + verb.ReplaceAllString(regexp.QuoteMeta(english), "(.+)") + "$"
			list = append(list, format{regexp.MustCompile(pattern), verb.ReplaceAllString(chinese, "\x00")})
		}
	}
	slices.SortFunc(list, func(a, b format) int { return len(b.english.String()) - len(a.english.String()) })
	return list
})

// chineseOf returns what the catalogue has for an error; "" when it has nothing.
func chineseOf(message string) string {
	if chinese := texts().Errors[message]; chinese != "" {
		return chinese
	}
	for _, f := range formats() {
		if found := f.english.FindStringSubmatch(message); found != nil {
			chinese := f.chinese
			for _, argument := range found[1:] {
				chinese = strings.Replace(chinese, "\x00", argument, 1)
			}
			return chinese
		}
	}
	return ""
}

// Language returns the first choice that the catalogue has, such as a parameter or a cookie.
// Without one it is the best language of an Accept-Language header, or English.
func Language(acceptLanguage string, choices ...string) string {
	for _, choice := range choices {
		if lang := known(choice); lang != "" {
			return lang
		}
	}
	best, bestQuality := English, 0.0
	for tag, quality := range Preferences(acceptLanguage) {
		if lang := known(tag); lang != "" && quality > bestQuality {
			best, bestQuality = lang, quality
		}
	}
	return best
}

// Preferences returns the values of a header such as Accept, each with how much the client likes it,
// from 0 to 1.
func Preferences(header string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for item := range strings.SplitSeq(strings.ToLower(header), ",") {
			value, parameters, _ := strings.Cut(item, ";")
			quality := 1.0
			for parameter := range strings.SplitSeq(strings.ReplaceAll(parameters, " ", ""), ";") {
				if q, ok := strings.CutPrefix(parameter, "q="); ok {
					var err error
					if quality, err = strconv.ParseFloat(q, 64); err != nil || !(quality >= 0 && quality <= 1) {
						quality = 0
					}
				}
			}
			if !yield(strings.TrimSpace(value), quality) {
				return
			}
		}
	}
}

// known returns the catalogue's language for a tag such as zh-Hans-CN, or "".
func known(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if primary == English || primary == Chinese {
		return primary
	}
	return ""
}
