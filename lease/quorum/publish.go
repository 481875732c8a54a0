package quorum

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/solotick/solotick/lease/protocol"
)

// progressPrefix tells the messages of Publish from others: no name begins with it.
const progressPrefix = "!"

func isProgress(message string) bool { return strings.HasPrefix(message, progressPrefix) }

// Publish implements [protocol.Publisher]. The message goes by way of every node, in the background; it returns an error when
// the store is closed.
func (s *Store) Publish(ctx context.Context, message []byte) error {
	if err := protocol.CheckMessage(message); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	// The number makes two equal messages different: each is received once, whatever number of nodes delivers it.
	text := progressPrefix + strconv.FormatUint(rand.Uint64(), 36) + " " + string(message)
	return s.registers.call(func(ctx context.Context, i int) { _ = s.registers.list[i].Publish(ctx, text) })
}

// Subscribe implements [protocol.Publisher].
func (s *Store) Subscribe(ctx context.Context, receive func(message []byte)) error {
	return s.listen(ctx, "subscribe", isProgress, func(message string) {
		if _, text, ok := strings.Cut(message, " "); ok {
			receive([]byte(text))
		}
	})
}
