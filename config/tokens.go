package config

import (
	"fmt"
	"slices"
	"strings"
)

// Token lets its bearer read or operate the worker's page and API.
type Token struct {
	Name  string // of its bearer; valid by jobs.ValidName, and of no other token
	Role  string // "read" or "operate"
	Value Secret // 16 to 512 characters of printable ASCII without spaces; or else File
	File  string // holds the value, and is read again when it changes; may be missing while the file is checked
}

var tokenKeys = []key[Token]{
	field("name", name, func(t *Token) *string { return &t.Name }, "who bears it, as the audit log shows it").
		needed("every token has a name"),
	field("role", oneOf("read", "operate"), func(t *Token) *string { return &t.Role }, "what its bearer may do").
		needed("it is read or operate"),
	field("token", tokenText, func(t *Token) *Secret { return &t.Value },
		"the token itself; better ${NAME}, or token_file").hidden(),
	field("token_file", word, func(t *Token) *string { return &t.File },
		"a file that holds the token; it is read again when it changes"),
}

// tokenText takes a token that is too long to be guessed, and can stand in a header.
var tokenText = single("a string", "16 to 512 characters of printable ASCII without spaces", textSchema("."), func(t text) (Secret, string) {
	if len(t.string) < 16 || len(t.string) > 512 || strings.ContainsFunc(t.string, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Secret{}, "must be 16 to 512 characters of printable ASCII without spaces"
	}
	return NewSecret(t.string), ""
})

var tokenList = list[Token]{
	want:   "a list of tokens such as [{name: ops, role: operate, token_file: /run/secrets/ops}]",
	values: "a list of name, role, and token_file or token",
	item:   func(int) kind[Token] { return mapping(tokenKeys, checkToken) },
	open:   true,
	repeat: func(t Token, earlier []Token) string {
		if i := slices.IndexFunc(earlier, func(e Token) bool { return e.Name == t.Name }); i >= 0 && t.Name != "" {
			return fmt.Sprintf("has the name of http.tokens[%d]; each token needs a name of its own", i)
		}
		return ""
	},
}.kind()

// checkToken checks that a token is written here or in a file.
func checkToken(r *reader, v value, _ *Token) {
	here, file := r.has(v, "token"), r.has(v, "token_file")
	switch {
	case here && file:
		r.fault(r.at[join(v.path, "token")], "must not be written beside token_file; keep one")
	case !here && !file:
		r.missing(v, "token_file", "write it, or token")
	}
}
