package redisfence

import (
	"fmt"
	"strings"

	"github.com/solotick/solotick/internal/fencing"
)

// TokenKey returns the key of the newest token of a resource: see the package comment. The error
// names the fault of the resource.
func TokenKey(resource string) (string, error) {
	switch {
	case hashTag(resource) != "":
		return resource + suffix, nil
	case strings.Contains(resource, "}"):
		return "", fmt.Errorf("redisfence: key %.300q: must not hold a } outside of a hash tag, "+
			"for no other key could be put into its slot", resource)
	case resource == "":
		return "", fmt.Errorf("redisfence: key \"\": must not be empty")
	}
	return "{" + resource + "}" + suffix, nil
}

const suffix = ":solotick:token"

// hashTag is the part of a key that alone decides its slot: the text between the first { and the
// first } after it. Where that is empty, the whole key decides.
func hashTag(key string) string {
	_, after, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	if !closed {
		return ""
	}
	return tag
}

// tokenKeyOf is the key of the newest token for a script with these keys.
func tokenKeyOf(keys []string, token int64) (string, error) {
	if len(keys) == 0 {
		return "", fmt.Errorf("redisfence: keys: must have one at least, which is the resource")
	}
	if err := fencing.Validate("key", token); err != nil { // a key may be any bytes
		return "", err
	}
	return TokenKey(keys[0])
}
