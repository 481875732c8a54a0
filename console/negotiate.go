package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/solotick/solotick/console/internal/page"
)

// format is a form in which a page is shown.
type format string

const (
	asHTML format = "text/html"
	asJSON format = "application/json"
	asText format = "text/plain"
)

// formatOf returns the form in which a request wants its answer. One whose path ends in .json or
// .txt says so; path is without that. known reports whether a path is a page as it stands: names of
// jobs may end like that as well.
func formatOf(r *http.Request, known func(path string) bool) (path string, f format, p *problem) {
	path = r.URL.Path
	for suffix, f := range map[string]format{".json": asJSON, ".txt": asText} {
		if cut, ok := strings.CutSuffix(path, suffix); ok && cut != "" && !strings.HasSuffix(cut, "/") && !known(path) {
			return cut, f, nil
		}
	}
	f, ok := accepted(r.Header.Values("Accept"), asHTML, asJSON, asText)
	if !ok {
		return path, asJSON, newProblem(http.StatusNotAcceptable, "Accept: must allow text/html, application/json or text/plain")
	}
	return path, f, nil
}

// accepted returns the format, of those offered, that an Accept header likes best. It is the first
// of them where the header likes several as much, or there is none.
func accepted(header []string, offered ...format) (best format, ok bool) {
	text := strings.TrimSpace(strings.Join(header, ","))
	if text == "" {
		return offered[0], true
	}
	bestQuality := 0.0
	for _, f := range offered {
		if q := quality(text, string(f)); q > bestQuality {
			best, bestQuality = f, q
		}
	}
	return best, bestQuality > 0
}

// quality is how much an Accept header likes a media type, from 0 to 1: what its most exact range
// says.
func quality(header, mediaType string) (found float64) {
	group, _, _ := strings.Cut(mediaType, "/")
	ranges := []string{mediaType, group + "/*", "*/*"} // from the most exact on
	at := len(ranges)
	for name, quality := range page.Preferences(header) {
		if i := slices.Index(ranges, name); i >= 0 && i < at {
			at, found = i, quality
		}
	}
	return found
}
