package redislease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/protocol"
)

// keyError is the error of a call that met a value which is not the store's: another program uses
// the same key. It matches driver.ErrRecord. Rename or remove the key, or use another namespace.
type keyError struct {
	Keys []string // one of which is meant; mostly there is one only
	Err  error    // what the server said
}

func (e *keyError) Error() string {
	which := "key " + strings.Join(e.Keys, " or ")
	return fmt.Sprintf("%s holds something else, by another program: rename or remove it: %v", which, e.Err)
}

// Unwrap returns what the server said.
func (e *keyError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, driver.ErrRecord) true.
func (e *keyError) Is(target error) bool { return target == protocol.ErrRecord }

// ofKey is err, which is about the value of a key.
func ofKey(key string, err error) error {
	err = classified(err)
	if strings.HasPrefix(err.Error(), "WRONGTYPE") || strings.HasPrefix(err.Error(), "UNREADABLE") || errors.Is(err, errReply) {
		return &keyError{Keys: []string{key}, Err: err}
	}
	return err
}

// foreign names the keys of cmd where a value of another type is why it failed.
func foreign(cmd *redis.Cmd, err error) error {
	if !strings.HasPrefix(err.Error(), "WRONGTYPE") {
		return err
	}
	e := &keyError{Err: err}
	args := cmd.Args()
	count, _ := strconv.Atoi(fmt.Sprint(args[firstKey-1]))
	for _, key := range args[firstKey:min(firstKey+count, len(args))] {
		e.Keys = append(e.Keys, fmt.Sprint(key))
	}
	return e
}
