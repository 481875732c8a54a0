package settings

import (
	"fmt"
	"io"
	"log/slog"
)

// Hidden is printed in place of a secret.
const Hidden = "(hidden)"

// Secret is a string that prints as "(hidden)", whatever prints it; [Secret.Reveal] returns it. The
// zero Secret is the empty string, and prints as that. Compare secrets by what they reveal, not
// with ==.
type Secret struct {
	// A pointer, because fmt ignores the methods of unexported fields and would print a string held
	// here.
	text *string
}

// NewSecret returns a Secret that reveals s.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{text: &s}
}

// Reveal returns the secret itself. Do not log it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns "(hidden)", or "" for the zero Secret.
func (s Secret) String() string {
	if s.text == nil {
		return ""
	}
	return Hidden
}

// Format prints String, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
