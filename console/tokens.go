package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/naming"
)

// Token is a secret whose bearer has a role. It has a Value, or a File that holds it. Printing a
// Token shows no secret.
type Token struct {
	Name  string // of its bearer; matches the pattern of a job's name
	Role  Role
	Value string // 16 to 512 characters of printable ASCII, without spaces
	File  string // is read again when it changes; space around the token does not count
}

// String returns the token without its secret.
func (t Token) String() string { return fmt.Sprintf("token %s (%s)", t.Name, t.Role) }

// Format prints String, whatever the verb.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue returns String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText returns String.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// The sizes of a token's secret, in characters.
const (
	minToken = 16
	maxToken = 512
)

const tokenRule = "must be 16 to 512 characters of printable ASCII without spaces"

// validSecret reports whether a text can be a token's secret. Anything shorter could be guessed.
func validSecret(s string) bool {
	return len(s) >= minToken && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// tokenFault returns the faults of a token, but for those of its file's content.
func tokenFault(i int, t Token) error {
	field := fmt.Sprintf("console: tokens[%d].", i)
	var faults []error
	if !naming.Valid(t.Name) {
		faults = append(faults, fmt.Errorf("%sname: %q %s", field, t.Name, naming.Rule))
	}
	if t.Role != Read && t.Role != Operate {
		faults = append(faults, fmt.Errorf("%srole: %q must be read or operate", field, t.Role))
	}
	switch {
	case (t.Value == "") == (t.File == ""):
		faults = append(faults, fmt.Errorf("%svalue: must be given, or file, and not both", field))
	case t.Value != "" && !validSecret(t.Value):
		faults = append(faults, fmt.Errorf("%svalue: (hidden) %s", field, tokenRule))
	}
	return errors.Join(faults...)
}

// tokens finds tokens by their secrets. It is safe for concurrent use.
type tokens struct {
	list   []Token
	logger *slog.Logger

	mu     sync.Mutex
	read   time.Time            // when the files were
	sums   []*[sha256.Size]byte // of the secrets, by index; nil where a file has none
	faults []string             // the fault of each file
}

// tokenFileInterval is how old the known content of a file may be.
const tokenFileInterval = time.Second

// newTokens reads the files. Each must hold a token.
func newTokens(list []Token, logger *slog.Logger) (*tokens, error) {
	t := &tokens{list: list, logger: logger}
	var faults []error
	names := map[string]bool{}
	for i, token := range list {
		err := tokenFault(i, token)
		if names[token.Name] {
			err = errors.Join(err, fmt.Errorf("console: tokens[%d].name: %q is the name of another token", i, token.Name))
		}
		names[token.Name] = true
		if err == nil && token.File != "" {
			if _, err = readToken(token.File); err != nil {
				err = fmt.Errorf("console: tokens[%d].file: %w", i, err)
			}
		}
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	t.sums, t.faults = make([]*[sha256.Size]byte, len(list)), make([]string, len(list))
	t.refreshLocked()
	for i, a := range t.sums {
		for j, b := range t.sums[:i] {
			if a != nil && b != nil && *a == *b {
				return nil, fmt.Errorf("console: tokens[%d]: has the secret of tokens[%d], must have one of its own", i, j)
			}
		}
	}
	return t, nil
}

// knownToken is a token that is accepted now.
type knownToken struct {
	Token
	sum [sha256.Size]byte // of its secret
}

// all returns the tokens that are accepted now.
func (t *tokens) all() (list []knownToken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refreshLocked()
	for i, sum := range t.sums {
		if sum != nil {
			list = append(list, knownToken{t.list[i], *sum})
		}
	}
	return list
}

// find returns the token with this secret. It takes as long for a wrong one.
func (t *tokens) find(secret string) (found knownToken, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, token := range t.all() {
		if subtle.ConstantTimeCompare(sum[:], token.sum[:]) == 1 {
			found, ok = token, true
		}
	}
	return found, ok
}

// refreshLocked reads the files if that is due. While one cannot be read its token is not accepted.
func (t *tokens) refreshLocked() {
	if !t.read.IsZero() && time.Since(t.read) < tokenFileInterval {
		return
	}
	for i, token := range t.list {
		secret, fault := token.Value, ""
		if token.File != "" {
			var err error
			if secret, err = readToken(token.File); err != nil {
				fault = err.Error()
			}
		}
		switch {
		case fault != "" && fault != t.faults[i]:
			t.logger.Error("a token is not accepted until its file can be read", slog.String("token", token.Name), slog.String("error", fault))
		case fault == "" && t.faults[i] != "":
			t.logger.Info("a token is accepted again", slog.String("token", token.Name))
		}
		if t.faults[i] = fault; fault != "" {
			t.sums[i] = nil
			continue
		}
		sum := sha256.Sum256([]byte(secret))
		t.sums[i] = &sum
	}
	t.read = time.Now()
}

// readToken returns the secret in a file. Its errors show no part of the content.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(f, 2*maxToken+1))
	if err != nil {
		return "", err
	}
	if secret := strings.TrimSpace(string(content)); validSecret(secret) {
		return secret, nil
	}
	return "", fmt.Errorf("%s: the token in it %s", path, tokenRule)
}
