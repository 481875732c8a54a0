package protocol

import (
	"errors"
	"fmt"
)

// MaxMessage is the greatest length of a message of [Store.Publish], in bytes.
const MaxMessage = 64 << 10

// Letter is a message to one subscriber, by its name.
type Letter struct {
	To      string
	Message []byte
}

// CheckMessage returns the faults of a message of [Store.Publish]; nil when there are none.
func CheckMessage(message []byte) error {
	switch {
	case len(message) == 0:
		return errors.New("lease: message: is empty, must have at least 1 byte")
	case len(message) > MaxMessage:
		return fmt.Errorf("lease: message: has %d bytes, must have at most %d", len(message), MaxMessage)
	}
	return nil
}
