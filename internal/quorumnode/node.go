// Package quorumnode has the interface between a quorum and its nodes.
package quorumnode

import (
	"context"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Node is one of the independent servers. Its methods are safe for concurrent use and return when
// ctx ends. An error means that the outcome is unknown.
type Node interface {
	// String names the node in errors.
	String() string

	// Do carries operations out, each atomically, in order and in one round trip. With none it
	// returns the time alone.
	Do(ctx context.Context, ops []Op) (State, error)
	// Keys lists the keys of registers that begin with prefix, which holds none of a pattern's
	// special characters, about count at a time, in no order. The cursor is empty at first and then
	// the next that was returned, which is empty when there are no more. A key that is there
	// throughout is listed, perhaps more than once.
	Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error)

	// Publish sends a message to everybody who listens. It is best effort.
	Publish(ctx context.Context, message string) error
	// Listen calls receive with each message until ctx ends or the connection fails, and with the
	// empty one once it listens.
	Listen(ctx context.Context, receive func(message string)) error

	// Fleet returns the members and sets that the node keeps for itself.
	Fleet() Fleet
}

// Op is an operation on one register of a node. A register holds the highest ballot that the node
// has promised not to go below. It also holds the last accepted value, its ballot, and a time by
// the node's clock. That is the time of its promise of the same ballot, or of the acceptance when
// it was not asked for one.
type Op struct {
	Key string // a name, or a kind of value, a colon and a name
	// Ballot is compared as a string. To prepare, the node promises it when it is not below the
	// promised one; the empty ballot promises nothing, and reads. To accept, the node takes Value
	// when Ballot is not below the promised one.
	Ballot string
	Accept bool
	Value  string // to accept
	// Since, unless it is zero, makes the node refuse to accept when its State.Since is another:
	// the promise was forgotten.
	Since time.Time
	Age   time.Duration // to accept: for how long the value has been accepted by others
	Keep  time.Duration // to accept: for how long the register has to be kept without being touched; 0 is for ever
	Grows bool          // to accept: may be refused for want of memory
}

// Reply is a node's answer to an [Op].
type Reply struct {
	OK       bool   // promised, or accepted
	Promised string // the highest ballot, after the operation
	// To an Op that is not Accept, also what the register holds.
	Accepted string // ballot; empty when there is no value
	Value    string
	Age      time.Duration // for how long it has, by the node's clock
}

// State has the state of a node, and its replies.
type State struct {
	ID      string    // of the server, or of its run: no two nodes may have the same at once
	Now     time.Time // the node's clock
	Since   time.Time // since when the node remembers, by its clock: it was started, or emptied, at this time or before
	Replies []Reply   // one for each operation
}

// Fleet has the members and sets of one node. Heartbeats and sets are sent again and again, so the
// nodes need not agree on them, and a node counts even if it has forgotten.
type Fleet interface {
	SendHeartbeat(ctx context.Context, holder string, info []byte, life time.Duration) error
	Members(ctx context.Context) ([]protocol.Member, error)
	MembersBut(ctx context.Context, known map[string]string) ([]protocol.Member, error)
	FormerMembers(ctx context.Context) ([]protocol.Member, error)
	PutSet(ctx context.Context, set []byte, life time.Duration) error
	KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error)
	GetSets(ctx context.Context, digests []string) ([][]byte, error)
}
