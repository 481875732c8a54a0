package protocol

import (
	"context"
	"errors"
	"fmt"
)

// Publisher is a [Store] by which the members of its namespace send each other short messages,
// apart from the records. The messages are hints: any of them may be lost, delayed, repeated or
// reordered, and nothing may depend on one.
type Publisher interface {
	// Publish sends a message to everybody who subscribes at the time, the sender included. A message
	// has 1 to MaxMessage bytes; another is refused.
	Publish(ctx context.Context, message []byte) error
	// Subscribe calls receive with each message until ctx ends or the connection fails, and returns
	// why it ended. receive must not block or change the message, and may be called by several
	// goroutines at once.
	Subscribe(ctx context.Context, receive func(message []byte)) error
}

// MaxMessage is the greatest length of a message of a [Publisher], in bytes.
const MaxMessage = 64 << 10

// CheckMessage returns the faults of a message of a [Publisher]; nil when there are none.
func CheckMessage(message []byte) error {
	switch {
	case len(message) == 0:
		return errors.New("lease: message: is empty, must have at least 1 byte")
	case len(message) > MaxMessage:
		return fmt.Errorf("lease: message: has %d bytes, must have at most %d", len(message), MaxMessage)
	}
	return nil
}
