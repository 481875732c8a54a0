package lock

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
)

// validName reports whether s can be the name of a lock or an election. [Name] makes a name of any
// strings.
func validName(s string) bool { return protocol.ValidName(s) }

func checkName(s string) error {
	if validName(s) {
		return nil
	}
	return fmt.Errorf("lock: name: %q %s; lock.Name makes a name of any strings", s, protocol.NameRule)
}

// Name makes a name of any strings, such as a kind and a key: Name("user", "1") is "user..1".
// Different parts make different names, and the same parts always the same. The parts can be read
// in the name when they are short and hold only letters, digits and hyphens. Any other byte is
// written as an underscore and two hexadecimal digits. What would be longer than 128 bytes ends in
// a hash of the whole, of 160 bits.
//
// A name that was chosen by hand can be equal to one that Name makes: use one of the two for a
// purpose.
func Name(parts ...string) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("..")
		}
		for j := range len(part) {
			if c := part[j]; plain(c) && (c != '-' || b.Len() > 0) {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "_%02x", c)
			}
		}
	}
	name := b.String()
	if len(parts) == 0 {
		name = "0.0"
	}
	if name == "" || !alphanumeric(name[0]) {
		name = "0." + name // other parts make names whose dots come in twos
	}
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:20]))
	return name[:maxName-len(hash)-len(hashMark)] + hashMark + hash
}

const (
	maxName  = 128
	hashMark = "._." // never in a name that is not cut: an underscore comes with two digits
)

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func plain(c byte) bool { return alphanumeric(c) || c == '-' }
