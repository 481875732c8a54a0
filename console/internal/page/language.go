package page

import (
	"strconv"
	"strings"

	"github.com/solotick/solotick/internal/wording"
)

// The languages that the catalogue has.
const (
	English = "en"
	Chinese = "zh"
)

// Language returns the first choice that the catalogue has, such as a parameter or a cookie.
// Without one it is the best language of an Accept-Language header, or English.
func Language(acceptLanguage string, choices ...string) string {
	for _, choice := range choices {
		if lang := known(choice); lang != "" {
			return lang
		}
	}
	best, bestQuality := English, 0.0
	for item := range strings.SplitSeq(acceptLanguage, ",") {
		tag, parameter, _ := strings.Cut(strings.TrimSpace(item), ";")
		quality := 1.0
		if q, ok := strings.CutPrefix(strings.ReplaceAll(parameter, " ", ""), "q="); ok {
			quality, _ = strconv.ParseFloat(q, 64) // 0 where it is no number: not acceptable
		}
		if lang := known(tag); lang != "" && quality > bestQuality {
			best, bestQuality = lang, quality
		}
	}
	return best
}

// known returns the catalogue's language for a tag such as zh-Hans-CN, or "".
func known(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	if primary == English || primary == Chinese {
		return primary
	}
	return ""
}

// Wording returns how the catalogue says the sentences of other packages in a language: nil for
// English.
func Wording(lang string) wording.Wording {
	if lang != Chinese {
		return nil
	}
	return func(english string) string { return sentences[english] }
}
