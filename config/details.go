package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// describe adds what may be shown of a job's kind of work to details, by field, as the file has it
// before ${NAME} is replaced. It shows no value of a variable, a header, a stream's field or a
// body. Of a URL it shows neither user, path nor query, and of a command no word that may be a
// secret.
func describe(details map[string]string, field string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			describe(details, field+"."+key, value)
		}
	case []any:
		for i, word := range v {
			if text, ok := word.(string); ok {
				v[i] = masked(text)
				if i > 0 {
					if before, _ := v[i-1].(string); secretFlag.MatchString(before) && !strings.Contains(before, "=") {
						v[i] = Hidden
					}
				}
			}
		}
		words := make([]string, len(v))
		for i, word := range v {
			if words[i] = fmt.Sprint(word); words[i] == "" || strings.ContainsAny(words[i], " \t\n\"") {
				words[i] = strconv.Quote(words[i])
			}
		}
		details[field] = strings.Join(words, " ")
	case string:
		details[field] = masked(v)
		if secretField.MatchString(field) {
			details[field] = Hidden
		}
	}
}

var (
	secretField = regexp.MustCompile(`^(exec\.env|http\.headers|redis_stream\.fields)\.|^http\.body$`)
	secretFlag  = regexp.MustCompile(`(?i)^-.*(pass|secret|token|key|auth|cred)|^-p$`)
	secretWord  = regexp.MustCompile(`(?i)^([^=\s]*(?:pass|secret|token|key|auth|cred)[^=\s]*=).+$`)
	anyURL      = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s'"]+`)
	header      = regexp.MustCompile(`(?i)((?:authorization|cookie|[a-z-]*(?:token|key|secret)[a-z-]*)\s*:\s*).+`)
)

// masked hides in a text what may be a secret.
func masked(text string) string {
	text = secretWord.ReplaceAllString(text, "${1}"+Hidden)
	text = header.ReplaceAllString(text, "${1}"+Hidden)
	return anyURL.ReplaceAllStringFunc(text, func(found string) string {
		u, err := url.Parse(found)
		if err != nil {
			return Hidden
		}
		// Paths are left out too: those of many web hooks are credentials.
		shown := u.Scheme + "://" + u.Host
		if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			shown += "/" + Hidden
		}
		return shown
	})
}
