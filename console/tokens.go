package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
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
	logger *slog.Logger

	mu   sync.Mutex
	read time.Time // when the files were
	list []knownToken
}

// knownToken is a token with what is known of its secret.
type knownToken struct {
	Token
	sum   [sha256.Size]byte // of its secret
	fault error             // why it is not accepted: its file cannot be read; nil when it is
}

// tokenFileInterval is how old the known content of a file may be.
const tokenFileInterval = time.Second

// newTokens reads the files. Each must hold a token.
func newTokens(list []Token, logger *slog.Logger) (*tokens, error) {
	t := &tokens{logger: slog.New(slog.DiscardHandler), list: make([]knownToken, len(list))} // faults are returned
	for i, token := range list {
		t.list[i].Token = token
	}
	t.refreshLocked()
	t.logger = logger
	var faults []error
	for i, token := range t.list {
		err := tokenFault(i, token.Token)
		if err == nil && token.fault != nil {
			err = fmt.Errorf("console: tokens[%d].file: %w", i, token.fault)
		}
		faults = append(faults, err)
		for j, other := range t.list[:i] {
			if other.Name == token.Name {
				faults = append(faults, fmt.Errorf("console: tokens[%d].name: %q is the name of another token", i, token.Name))
			}
			if other.sum == token.sum && err == nil {
				faults = append(faults, fmt.Errorf("console: tokens[%d]: has the secret of tokens[%d], must have one of its own", i, j))
			}
		}
	}
	return t, errors.Join(faults...)
}

// all returns the tokens that are accepted now.
func (t *tokens) all() []knownToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refreshLocked()
	return slices.DeleteFunc(slices.Clone(t.list), func(k knownToken) bool { return k.fault != nil })
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
	for i := range t.list {
		token := &t.list[i]
		secret, before := token.Value, token.fault
		if token.File != "" {
			secret, token.fault = readToken(token.File)
		}
		token.sum = sha256.Sum256([]byte(secret))
		switch {
		case token.fault != nil && (before == nil || token.fault.Error() != before.Error()):
			t.logger.Error("a token is not accepted until its file can be read", slog.String("token", token.Name), slog.Any("error", token.fault))
		case token.fault == nil && before != nil:
			t.logger.Info("a token is accepted again", slog.String("token", token.Name))
		}
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
