package quorum

import "github.com/solotick/solotick/internal/quorumnode"

// Node is one of the independent servers: redislease.NewNode makes one.
type Node = quorumnode.Node
