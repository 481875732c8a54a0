package heartbeat

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
)

// A set of jobs is kept as one part, or as a root that names several. Two sets that differ by one
// job have most of their parts in common. A part is partKind and then, compressed, a line for each
// of its jobs: name and revision. A root is rootKind and then the digests of its parts.
const (
	partKind = 'p'
	rootKind = 'r'

	digestSize = 32       // of a protocol.SetDigest
	partText   = 64 << 10 // what the text of a part has on average, at most
	maxText    = 1 << 20  // what it has at all: more is not read
)

// MaxJobs is how many jobs of one replica the others know by name, at most.
const MaxJobs = 250_000

var errJobSet = errors.New("heartbeat: not a set of jobs")

// encodeJobs returns the pieces that a set of jobs is kept as: the first has the digest of the set.
func encodeJobs(jobs map[string]string) ([][]byte, error) {
	if len(jobs) > MaxJobs {
		return nil, fmt.Errorf("heartbeat: jobs: has %d, must have at most %d for others to know them by name", len(jobs), MaxJobs)
	}
	size := 0
	for name, revision := range jobs {
		size += len(name) + len(revision) + 2
	}
	parts := 1
	for parts*partText < size {
		parts *= 2
	}
	texts := make([]bytes.Buffer, parts)
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		h := fnv.New32a()
		_, _ = io.WriteString(h, name)
		_, _ = fmt.Fprintf(&texts[int(h.Sum32())&(parts-1)], "%s %s\n", name, jobs[name])
	}
	pieces := make([][]byte, 0, parts+1)
	root := []byte{rootKind}
	for i := range texts {
		piece, err := encodePart(texts[i].Bytes())
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece)
		root = append(root, protocol.SetDigest(piece)...)
	}
	if parts > 1 {
		pieces = slices.Insert(pieces, 0, root)
	}
	return pieces, nil
}

func encodePart(text []byte) ([]byte, error) {
	piece := bytes.NewBuffer([]byte{partKind})
	w, err := flate.NewWriter(piece, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	_, _ = w.Write(text) // into memory
	_ = w.Close()
	if piece.Len() > protocol.MaxSet || len(text) > maxText {
		return nil, fmt.Errorf("heartbeat: jobs: the names are too long: a part of them has %d bytes, must have at most %d", piece.Len(), protocol.MaxSet)
	}
	return piece.Bytes(), nil
}

// partsOf returns the digests of the parts when a piece is a root.
func partsOf(piece []byte) (digests []string, root bool, err error) {
	if len(piece) == 0 || piece[0] != rootKind {
		return nil, false, nil
	}
	if len(piece)%digestSize != 1 {
		return nil, true, errJobSet
	}
	for d := range slices.Chunk(piece[1:], digestSize) {
		digests = append(digests, string(d))
	}
	return digests, true, nil
}

// decodePart adds the jobs of a part.
func decodePart(piece []byte, jobs map[string]string) error {
	if len(piece) == 0 || piece[0] != partKind {
		return errJobSet
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(piece[1:])), maxText+1))
	if err != nil || len(text) > maxText {
		return errJobSet
	}
	for line := range strings.Lines(string(text)) {
		name, revision, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok {
			return errJobSet
		}
		jobs[name] = revision
	}
	return nil
}
