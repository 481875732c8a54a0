package heartbeat

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// JobSets keeps sets of jobs in a store, and reads those that heartbeats name: each distinct set
// once. It is safe for concurrent use.
type JobSets struct {
	store protocol.Store

	mu    sync.Mutex
	known map[string]map[string]string // jobs with their revisions, by digest

	publishing sync.Mutex // guards what follows
	own        map[string]string
	pieces     [][]byte
	kept       time.Time // when the store was seen to keep all pieces
}

const (
	// inlineJobs is how many jobs a heartbeat lists itself: that is shorter than to name a set,
	// which has to be kept.
	inlineJobs = 8
	// setLife is for how long the store keeps a set after the last who used it, and setCheck how
	// often each looks whether it does.
	setLife  = 2 * time.Hour
	setCheck = 30 * time.Second
	// mostSets bounds those that are known: a fleet has a few, one for each release and set of
	// groups.
	mostSets = 64
)

// NewJobSets returns one that knows no sets.
func NewJobSets(store protocol.Store) *JobSets {
	return &JobSets{store: store, known: map[string]map[string]string{}}
}

// Publish keeps a replica's jobs in the store, and returns the digest for its heartbeat. The digest
// is "" when the heartbeat lists the jobs itself, as they are few. Call
// it for each heartbeat: it looks from time to time whether the store still has the set, and puts
// what the store lost. With an error others may not know the jobs yet; the next call tries again.
// The map must not be changed afterwards.
func (s *JobSets) Publish(ctx context.Context, jobs map[string]string) (digest string, err error) {
	if len(jobs) <= inlineJobs {
		return "", nil
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if s.pieces == nil || !same(s.own, jobs) {
		pieces, err := encodeJobs(jobs)
		if err != nil {
			return "", err
		}
		s.own, s.pieces, s.kept = jobs, pieces, time.Time{}
		s.learn(protocol.SetDigest(pieces[0]), jobs)
	}
	digest = protocol.SetDigest(s.pieces[0])
	if !s.kept.IsZero() && time.Since(s.kept) < setCheck {
		return digest, nil
	}
	if err := s.keep(ctx); err != nil {
		return digest, err
	}
	s.kept = time.Now()
	return digest, nil
}

// keep extends the life of the published pieces, and puts those that the store does not have: the
// root last.
func (s *JobSets) keep(ctx context.Context) error {
	for _, some := range slices.Backward(slices.Collect(slices.Chunk(s.pieces, protocol.MaxSetsAtOnce))) {
		digests := make([]string, len(some))
		for i, piece := range some {
			digests[i] = protocol.SetDigest(piece)
		}
		kept, err := s.store.KeepSets(ctx, digests, setLife)
		if err != nil {
			return err
		}
		for i, piece := range slices.Backward(some) {
			if kept[i] {
				continue
			}
			if err := s.store.PutSet(ctx, piece, setLife); err != nil {
				return err
			}
		}
	}
	return nil
}

// Resolve fills in the jobs of the replicas that name a set: replicas of one set share one map,
// which must not be changed. Where the store has no such set, because it has lost it or not got it
// yet, the jobs stay unknown. The next call asks again. It returns the first error of the store;
// known sets are filled in all the same.
func (s *JobSets) Resolve(ctx context.Context, replicas []Replica) error {
	var err error
	asked := map[string]bool{}
	for i := range replicas {
		r := &replicas[i]
		if r.Set == "" || r.Jobs != nil {
			continue
		}
		if r.Jobs = s.jobsOf(r.Set); r.Jobs != nil || s.store == nil || asked[r.Set] {
			continue
		}
		asked[r.Set] = true
		jobs, fault := s.read(ctx, r.Set)
		switch {
		case fault != nil && !errors.Is(fault, errJobSet) && err == nil:
			err = fault
		case jobs != nil:
			r.Jobs = s.learn(r.Set, jobs)
		}
	}
	return err
}

// read reads a set; nil when the store does not have all of it.
func (s *JobSets) read(ctx context.Context, digest string) (map[string]string, error) {
	pieces, err := s.get(ctx, []string{digest})
	if err != nil || pieces == nil {
		return nil, err
	}
	parts, root, err := partsOf(pieces[0])
	if err != nil {
		return nil, err
	}
	if root {
		if pieces, err = s.get(ctx, parts); err != nil || pieces == nil {
			return nil, err
		}
	}
	jobs := map[string]string{}
	for _, piece := range pieces {
		if err := decodePart(piece, jobs); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// get returns sets; nil when one of them is missing, or is not what its digest says.
func (s *JobSets) get(ctx context.Context, digests []string) (pieces [][]byte, err error) {
	for some := range slices.Chunk(digests, protocol.MaxSetsAtOnce) {
		if protocol.CheckDigests(some, setLife) != nil {
			return nil, errJobSet
		}
		list, err := s.store.GetSets(ctx, some)
		if err != nil {
			return nil, err
		}
		for i, piece := range list {
			if piece == nil || protocol.SetDigest(piece) != some[i] {
				return nil, nil
			}
		}
		pieces = append(pieces, list...)
	}
	return pieces, nil
}

func (s *JobSets) jobsOf(digest string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[digest]
}

// learn takes in a set, unless it is known, and returns the map that is.
func (s *JobSets) learn(digest string, jobs map[string]string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= mostSets {
		clear(s.known)
	}
	if _, ok := s.known[digest]; !ok {
		s.known[digest] = jobs
	}
	return s.known[digest]
}

// same reports whether both are one map, or equal.
func same(a, b map[string]string) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() || maps.Equal(a, b)
}

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
