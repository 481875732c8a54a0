package config

import (
	"strings"
)

var tokenKeys = []key[Token]{
	field("name", name, func(t *Token) *string { return &t.Name }, "who bears it, as the audit log shows it").
		needed("every token has a name"),
	field("role", oneOf("read", "operate"), func(t *Token) *string { return &t.Role }, "what its bearer may do").
		needed("it is read or operate"),
	field("token", secret(tokenText), func(t *Token) *Secret { return &t.Value },
		"the token itself; better ${NAME}, or token_file").hidden(),
	field("token_file", word, func(t *Token) *string { return &t.File },
		"a file that holds the token; it is read again when it changes"),
}

// tokenText takes a token that is too long to be guessed, and can stand in a header.
var tokenText = checked("a string", "16 to 512 characters of printable ASCII without spaces", ".", func(s string) string {
	if len(s) < 16 || len(s) > 512 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "must be 16 to 512 characters of printable ASCII without spaces"
	}
	return ""
})

var tokenList = list[Token]{
	want:   "a list of tokens such as [{name: ops, role: operate, token_file: /run/secrets/ops}]",
	values: "a list of name, role, and token_file or token",
	item:   func(int) kind[Token] { return mapping(tokenKeys, checkToken) },
	open:   true,
	repeat: uniqueNames("token", "http.tokens", func(t Token) string { return t.Name }),
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
